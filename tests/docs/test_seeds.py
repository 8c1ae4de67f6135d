"""docs/seeds.md has every row of the systems that taskq re-creates, and says where it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import taskq
from taskq import errors

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| ([A-Z][0-9]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    re.MULTILINE,
)
LAST = {
    "E": 32,
    "Q": 18,
    "P": 8,
    "L": 10,
    "R": 21,
    "I": 9,
    "W": 33,
    "Z": 6,
    "S": 16,
    "B": 19,
    "X": 8,
    "M": 8,
    "O": 9,
    "V": 25,
}
"""The last row of each group."""

LATER = {"N10", "N11", "N12", "N13", "N16"}
"""Those of later versions that are taken up."""

PARTS = {"Redis"}


def test_every_row_is_there_once() -> None:
    rows = Counter(match[1] for match in ROW.finditer(PAGE))

    owed = {f"{group}{n}" for group, last in LAST.items() for n in range(1, last + 1)}
    assert rows == dict.fromkeys(owed | LATER, 1)


def test_what_is_to_come_says_with_what() -> None:
    promised = re.findall(r"to come: (\w+)", PAGE)

    assert set(promised) == PARTS


def test_every_place_that_is_named_is_there() -> None:
    named = {*re.findall(r"`((?:\w+/)+\w+(?:\.py)?)`", PAGE)}
    roots = (ROOT, ROOT / "taskq", ROOT / "tests", ROOT / "taskq" / "testing")
    gone = [
        path
        for path in named
        if not any((root / name).exists() for root in roots for name in (path, f"{path}.py"))
    ]

    assert len(named) > 50 and gone == []


def test_every_error_that_is_named_is_in_the_tree() -> None:
    """seed:X1, seed:X3, seed:X4, seed:X6, seed:X7: by meaning, see the tables there."""
    start = PAGE.index("| RunnerQ's WorkerError (X1) | here |")
    here = " ".join(
        row.split("|")[2]
        for row in PAGE[start : PAGE.index("## Metrics")].splitlines()
        if "|" in row
    )
    named = set(
        re.findall(r"`([A-Z]\w+(?:Error|Failed|Conflict|Exceeded|Unavailable|NotFound))`", here)
    )
    tree = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.TaskQError)
    }

    assert named - tree == {"TypeError", "ValueError", "BackgroundError"}
    assert named & tree <= set(taskq.__all__)


def test_every_row_that_is_here_is_named_by_a_test() -> None:
    unnamed = [
        match[1]
        for match in ROW.finditer(PAGE)
        if match[4] == "–" and not match[3].startswith("to come")
    ]

    assert unnamed == []
