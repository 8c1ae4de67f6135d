"""What a look finds out, and what it says it cannot."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import pytest

from taskq.audit import Command
from taskq.clock import SystemClock
from taskq.errors import BackendUnavailable
from taskq.following import Bounds, Lately
from taskq.snapshot import Filter
from tests.faulty import FaultyBackend
from tests.web.stage import NO, Stage, at_once


class Follower:
    """One who follows everything on a stage."""

    def __init__(self, stage: Stage, **bounds: int) -> None:
        self.lately = Lately(stage.store, SystemClock(), Filter(), Bounds(**bounds))
        at_once(self.lately.begin())

    def look(self, named: Collection[UUID] = ()) -> list[tuple[UUID, str]]:
        return [(each.info.id, each.what) for each in at_once(self.lately.look(named)).news]

    def survey(self) -> list[tuple[UUID, str]]:
        return [(each.info.id, each.what) for each in at_once(self.lately.survey()).news]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_one_that_runs_is_met_though_it_was_never_seen_waiting(stage: Stage) -> None:
    old = stage.add(3)
    follower = Follower(stage, page=2, running=10)
    stage.start(1)
    assert follower.look() == [(old[0], "started")]
    assert follower.look() == []


def test_one_that_a_hint_named_is_met_though_it_was_never_seen(stage: Stage) -> None:
    old = stage.add(3)
    follower = Follower(stage, page=2)
    stage.run(1)
    assert follower.look() == []
    assert follower.look([old[0]]) == [(old[0], "started"), (old[0], "completed")]
    assert follower.look([old[0]]) == []


def test_a_survey_gets_to_know_all_that_has_not_ended(stage: Stage) -> None:
    old = stage.add(5)
    follower = Follower(stage, page=2, pages=3)
    assert follower.lately.blind
    assert follower.survey() == []
    assert not follower.lately.blind
    stage.cancel([old[0]])
    assert follower.look() == [(old[0], "cancelled")]


def test_a_survey_that_could_not_see_all_says_so(stage: Stage) -> None:
    stage.add(5)
    follower = Follower(stage, page=2, pages=2)
    follower.survey()
    assert follower.lately.blind


def test_a_survey_tells_of_what_has_been_sent_again(stage: Stage) -> None:
    old = stage.add()
    follower = Follower(stage, page=2)
    stage.run(outcome=NO)
    follower.look()
    stage.add(5)
    follower.look()
    at_once(stage.store.retry(old, command=Command(actor="ada")))
    assert follower.look() == []
    assert follower.survey() == [(old[0], "pending")]


def test_what_is_new_at_a_survey_is_told(stage: Stage) -> None:
    stage.add(3)
    follower = Follower(stage, page=2)
    new = stage.add()
    assert follower.survey() == [(new[0], "enqueued")]


def test_what_is_forgotten_before_it_ended_makes_blind(stage: Stage) -> None:
    follower = Follower(stage, remembered=3)
    stage.add(3)
    follower.look()
    assert not follower.lately.blind
    stage.add(1)
    follower.look()
    assert follower.lately.blind


def test_what_has_ended_is_forgotten_first(stage: Stage) -> None:
    follower = Follower(stage, remembered=3)
    old = stage.add(3)
    follower.look()
    stage.run(2)
    follower.look()
    stage.add(2)
    follower.look()
    assert not follower.lately.blind
    stage.cancel([old[2]])
    assert follower.look() == [(old[2], "cancelled")]


def test_more_than_a_look_follows_are_looked_at_in_turn(stage: Stage) -> None:
    ids = stage.add(4)
    follower = Follower(stage, followed=1, page=5, pages=10)
    stage.add(20)
    follower.look()
    stage.cancel(ids)
    told = [follower.look() for _ in range(30)]
    assert {id for look in told for id, _ in look} == {*ids}


def test_a_look_may_leave_out_what_was_waiting_but_not_what_runs(stage: Stage) -> None:
    ids = stage.add(3)
    follower = Follower(stage, page=1)
    at_once(follower.lately.survey())
    stage.start(1)
    assert at_once(follower.lately.look([ids[0]], 0)).news
    stage.cancel(ids[:2])
    assert [each.what for each in at_once(follower.lately.look((), 0)).news] == ["cancel_requested"]
    assert [each.info.id for each in at_once(follower.lately.look((), 2)).news] == [ids[1]]


def test_a_look_that_failed_loses_nothing() -> None:
    """fault:I31"""
    stage = Stage()
    faulty = FaultyBackend(stage.store)
    follower = Follower(Stage(faulty), page=1)
    ids = stage.add(2)
    follower.look()
    stage.cancel(ids)
    faulty.fail("get", after=True)
    with pytest.raises(BackendUnavailable):
        follower.look()
    assert sorted(follower.look()) == [(id, "cancelled") for id in sorted(ids)]


def test_what_was_deleted_is_followed_no_more(stage: Stage) -> None:
    faulty = FaultyBackend(stage.store)
    [id] = stage.add()
    follower = Follower(Stage(faulty))
    stage.cancel([id])
    at_once(stage.store.delete([id], command=Command(actor="ada")))
    follower.look()
    asked = faulty.calls["get"]
    follower.look()
    assert asked == 1 and faulty.calls["get"] == asked
