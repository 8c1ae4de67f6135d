"""Every promise of docs/guarantees.md is named by a test, and no test names another."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISED = set(re.findall(r"^## (G[0-9]+)\. ", PAGE, re.MULTILINE))
NAMES = re.compile(r"promise:(G[0-9]+(?:, G[0-9]+)*)")
TO_COME = {"G11"}
"""A promise of the design whose machinery is not there yet; the page says so at its end."""


def files_naming() -> dict[str, set[Path]]:
    """The test files that name each promise, those for backends of others included."""
    found: dict[str, set[Path]] = {}
    for folder in ("tests", "taskq/testing/conformance"):
        for path in (ROOT / folder).rglob("*.py"):
            for names in NAMES.findall(path.read_text(encoding="utf-8")):
                for name in names.split(", "):
                    found.setdefault(name, set()).add(path)
    return found


def test_every_promise_is_named_by_a_test() -> None:
    assert PROMISED
    missing = sorted(PROMISED - files_naming().keys())
    assert missing == [], f"named by no test: {', '.join(missing)}"


def test_no_test_names_a_promise_that_the_design_does_not_make() -> None:
    unknown = {
        name: sorted(path.name for path in paths)
        for name, paths in files_naming().items()
        if name not in PROMISED | TO_COME
    }
    assert unknown == {}


def test_what_is_to_come_is_said_to_be_and_not_promised() -> None:
    _, _, end = PAGE.rpartition("Not there yet")
    assert {name for name in TO_COME if name not in end} == set()
    assert not TO_COME & PROMISED
