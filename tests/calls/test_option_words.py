"""Options that are written as in Celery, or by their names, are told in the words of the docs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskq import ConfigurationError, TaskQ


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("countdown", "options(delay=...)"),
        ("eta", "options(run_at=...)"),
        ("task_id", "options(idempotency_key=...)"),
        ("bind", "current(), imported from taskq,"),
        ("soft_time_limit", "timeout="),
    ],
)
def test_an_option_of_celery_is_told_by_its_name_here(taskq: TaskQ, name: str, here: str) -> None:
    @taskq.activity
    async def send() -> None: ...

    def refused(make: Callable[..., object]) -> str:
        with pytest.raises(TypeError) as caught:
            make(**{name: 60})
        return str(caught.value).partition(" got ")[2]

    def decorated(**options: Any) -> object:
        return taskq.activity(name="other", **options)(lambda: None)

    said = f"an unexpected option '{name}'; Celery's {name} is {here} here"
    assert refused(send.options) == refused(decorated) == said


def test_a_priority_by_its_name_is_told_how_it_is_written(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(ConfigurationError, match=r"Priority\.HIGH \(3\), .*, not 'high'"):
        send.options(priority="high")  # type: ignore[typeddict-item]
