"""Which calls link their parent to what answers them (seed:I8, D25)."""

from __future__ import annotations

from uuid import UUID

import pytest

from taskq.backends.links import Link, link
from taskq.model import Activity
from taskq.testing.conformance.samples import call

HOLDER, PARENT, OTHER, ROOT = (UUID(int=number) for number in range(1, 5))


def made_by(parent: UUID | None) -> Activity[object]:
    return call(parent_id=parent, root_id=ROOT)


@pytest.mark.parametrize("maker", [OTHER, None])
def test_a_parent_is_linked_to_what_it_has_not_made(maker: UUID | None) -> None:
    """seed:I8"""
    new = link(made_by(PARENT), HOLDER, claim=2, made_by=maker)

    assert new == Link(activity=HOLDER, claim=2, parent=PARENT, root=ROOT)
    assert new.detail == {"parent": str(PARENT), "root": str(ROOT)}


@pytest.mark.parametrize(
    ("caller", "maker"),
    [(PARENT, PARENT), (None, OTHER), (None, None), (HOLDER, OTHER)],
    ids=["the same parent", "no caller, a child", "no caller, a root", "the holder itself"],
)
def test_other_calls_link_nothing(caller: UUID | None, maker: UUID | None) -> None:
    """seed:I8, D25"""
    assert link(made_by(caller), HOLDER, claim=0, made_by=maker) is None
