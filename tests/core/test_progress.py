"""Progress as a noun, and trees out of rows."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from taskq.progress import HIGHEST, LONGEST_NOTE, Progress, progress_of

AT = datetime(2030, 1, 1, tzinfo=UTC)


def test_what_a_handler_says_is_kept_as_it_was_said() -> None:
    assert progress_of(3, at=AT) == Progress(done=3, at=AT)
    assert progress_of(0, 0.5, "", at=AT) == Progress(done=0, total=0.5, note="", at=AT)
    assert progress_of(HIGHEST, 1, "x" * LONGEST_NOTE, at=AT).done == HIGHEST
    assert progress_of(12, 10, at=AT).total == 10


@pytest.mark.parametrize(
    "arguments",
    [
        (-1,),
        (math.nan,),
        (math.inf,),
        (HIGHEST + 1,),
        (10**400,),
        (1, 0),
        (1, -1),
        (1, math.nan),
        (1, math.inf),
        (1, 2, "x" * (LONGEST_NOTE + 1)),
        (1, 2, "a\0b"),
        (1, 2, "a\ud800b"),
    ],
    ids=repr,
)
def test_what_is_no_progress_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"done|total|note"):
        progress_of(*arguments, at=AT)


@pytest.mark.parametrize("arguments", [("3",), (True,), (None,), (1, "2"), (1, 2, 3)], ids=repr)
def test_what_is_of_another_type_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="must be a"):
        progress_of(*arguments, at=AT)
