"""The error tree is the one that is drawn, and each class says whether to try again."""

from __future__ import annotations

import re

import pytest

import taskq
from taskq import errors
from taskq.errors import TaskQError

CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, TaskQError)
}
RETRYABLE = {
    "BackendError",
    "BackendUnavailable",
    "EnqueueTimeout",
    "QueryTimeout",
    "QueueFull",
    "ResultTimeout",
    "RetryError",
}


def drawn() -> dict[str, str | None]:
    """Each class of the drawing, with the one that it hangs below."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        branch = re.match(r"(    [│├└─ ]*)([A-Z]\w*(?:, [A-Z]\w*)*)(  |$)", line)
        if branch is None:
            continue
        depth = len(branch[1]) // 4 - 1
        for name in branch[2].split(", "):
            parents[name] = path[depth - 1] if depth else None
            path[depth:] = [name]
    return parents


def test_the_tree_is_as_it_is_drawn_and_all_of_it_is_public() -> None:
    """seed:X1, seed:X4, seed:X7"""
    real = {
        name: next((base.__name__ for base in kind.__bases__ if issubclass(base, TaskQError)), None)
        for name, kind in CLASSES.items()
    }

    assert drawn() == real
    assert set(CLASSES) <= set(taskq.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_says_whether_an_attempt_that_ends_by_it_is_retried(name: str) -> None:
    """seed:X2, seed:X3"""
    assert CLASSES[name].retryable is (name in RETRYABLE)
