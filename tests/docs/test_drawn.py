"""What the pages show of the code is what the code is."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from taskq.lifecycle import TRANSITIONS
from taskq.model import Status

DOCS = Path(__file__).parents[2] / "docs"


def drawn_pages() -> list[str]:
    plain = (
        "benchmarks.md",
        "dead-letters.md",
        "decisions.md",
        "filters.md",
        "from-celery.md",
        "migrations.md",
        "other-languages.md",
        "processes.md",
        "queues.md",
        "retention.md",
        "schedules.md",
        "testing.md",
    )
    return [page.name for page in sorted(DOCS.glob("*.md")) if page.name not in plain]


@pytest.mark.parametrize("page", drawn_pages())
def test_a_drawn_page_is_up_to_date(draw: ModuleType, page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert draw.drawn(text) == text, f"{page} is out of date: run  python docs/draw.py"


def test_every_drawn_page_is_drawn(draw: ModuleType) -> None:
    assert sorted(draw.PAGES) == drawn_pages()


def test_the_diagram_has_every_state_and_transition(draw: ModuleType) -> None:
    """seed:L3"""
    diagram: str = draw.diagram()
    for status, following in TRANSITIONS.items():
        assert (f"    {status} --> [*]\n" in f"{diagram}\n") == status.terminal
        for after, why in following.items():
            assert f"    {status} --> {after}: {why}\n" in diagram
    assert diagram.count("-->") == 2 + sum(map(len, TRANSITIONS.values())) + sum(
        status.terminal for status in Status
    )


def test_what_is_drawn_lands_in_its_place_and_nothing_else_changes(draw: ModuleType) -> None:
    before = "a\n<!-- drawn: diagram -->\nold\n<!-- end -->\n| A1 | x | `y` | old |\n| A | b |\n"

    after: str = draw.drawn(before)

    assert after.startswith("a\n<!-- drawn: diagram -->\n```mermaid\n")
    assert after.endswith("```\n<!-- end -->\n| A1 | x | `y` | – |\n| A | b |\n")


def test_ids_are_named_one_by_one_in_lists_and_in_ranges(draw: ModuleType) -> None:
    text = "promise" + ":G5, fault:E1. " + "seed" + ":E2, E9, Q4; " + "seed" + ":Z1–Z3"

    assert draw.names_in(text) == {
        "promise" + ":G5",
        *("seed" + f":{id}" for id in ("E2", "E9", "Q4", "Z1", "Z2", "Z3")),
    }
