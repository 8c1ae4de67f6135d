"""Hints between two looks: gathered, bounded, and what did not fit is counted."""

from __future__ import annotations

from uuid import UUID

import pytest

from taskq.backends import Hint, Topic
from taskq.web.live.heard import Heard, Told

IDS = tuple(UUID(int=number) for number in range(6))


def done(*ids: UUID) -> Hint:
    return Hint(Topic.DONE, frozenset(ids))


def test_each_hint_rings_and_is_taken_once() -> None:
    heard = Heard()
    heard.hear(done(IDS[0]))
    heard.hear(Hint(Topic.CONTROL))
    heard.hear(Hint(Topic.READY))
    assert heard.bell.rung
    assert heard.take(10) == Told(ids=(IDS[0],), ready=True, control=True)
    assert heard.take(10) == Told()


def test_that_any_may_have_ended_is_told() -> None:
    heard = Heard()
    heard.hear(Hint(Topic.DONE))
    assert heard.take(10) == Told(unnamed=True)


def test_more_ids_than_a_look_takes_wait_for_the_next() -> None:
    heard = Heard()
    for id in IDS:
        heard.hear(done(id))
    heard.bell.clear()
    assert heard.take(4).ids == IDS[:4]
    assert heard.bell.rung
    assert heard.take(4).ids == IDS[4:]


def test_what_was_taken_in_vain_is_taken_again() -> None:
    heard = Heard()
    heard.hear(done(IDS[0]))
    heard.hear(Hint(Topic.CONTROL))
    told = heard.take(10)
    heard.put_back(told)
    assert heard.take(10) == told


def test_what_has_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """threat:T8"""
    monkeypatch.setattr("taskq.web.live.heard.MOST", 2)
    heard = Heard()
    for id in IDS:
        heard.hear(done(id))
    told = heard.take(10)
    assert (told.ids, told.dropped) == (IDS[:2], 4)


def test_the_deaf_hear_nothing() -> None:
    heard = Heard()
    heard.deafen()
    heard.hear(done(IDS[0]))
    assert heard.take(10) == Told() and not heard.bell.rung
