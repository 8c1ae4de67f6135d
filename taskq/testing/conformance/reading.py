"""The inspector: stats, list, get, timeline, workers, unserved, series."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Interrupted, Snoozed, Succeeded
from taskq.model import Activity, ErrorKind, Policy, Priority, Status
from taskq.snapshot import ActivityInfo, Bucket, Filter, Page, Stats, UnservedType
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import DAY, MINUTE, beat, bucket, call, error, keyed, worker
from taskq.testing.conformance.settle import LATE

PARENT, ROOT = new_id(), new_id()

FILTERS: dict[str, tuple[Filter, str]] = {
    "everything": (Filter(), "abcdef"),
    "a status": (Filter(statuses=(Status.SCHEDULED,)), "b"),
    "statuses": (Filter(statuses=(Status.SCHEDULED, Status.PENDING)), "abcdef"),
    "a queue": (Filter(queues=("mail",)), "c"),
    "queues": (Filter(queues=("mail", "default", "none")), "abcdef"),
    "a type": (Filter(types=("work",)), "abcd"),
    "types": (Filter(types=("send.mail", "send%x")), "ef"),
    "a prefix": (Filter(types=("send*",)), "ef"),
    "a prefix with a dot": (Filter(types=("send.*",)), "e"),
    "a prefix with a wildcard of SQL": (Filter(types=("send%*",)), "f"),
    "a prefix that matches all": (Filter(types=("*",)), "abcdef"),
    "another case": (Filter(types=("Send*", "WORK")), ""),
    "a priority": (Filter(priorities=(Priority.HIGH,)), "a"),
    "a parent": (Filter(parent_id=PARENT), "d"),
    "a root": (Filter(root_id=ROOT), "d"),
    "roots": (Filter(roots_only=True), "abcef"),
    "a correlation id": (Filter(correlation_id="corr"), "bc"),
    "a user id": (Filter(user_id="user"), "c"),
    "a source": (Filter(source="api"), "d"),
    "an empty source": (Filter(source=""), "e"),
    "a tag": (Filter(tags={"team": "red"}), "ef"),
    "two tags": (Filter(tags={"team": "red", "x": "'1'"}), "f"),
    "a tag with another value": (Filter(tags={"team": "re"}), ""),
    "two fields": (Filter(correlation_id="corr", queues=("mail",)), "c"),
    "two fields that exclude each other": (Filter(source="api", queues=("mail",)), ""),
}
"""By name: a filter, and the activities that it finds."""


def sample() -> dict[str, Activity[object]]:
    """Six activities that differ, by name, oldest first."""
    return {
        "a": call(priority=Priority.HIGH),
        "b": call(delay=DAY, correlation_id="corr"),
        "c": call(queue="mail", correlation_id="corr", user_id="user"),
        "d": call(parent_id=PARENT, root_id=ROOT, depth=1, source="api"),
        "e": call("send.mail", tags='{"team":"red"}', source=""),
        "f": call("send%x", tags='{"team":"red","x":"\'1\'"}'),
    }


class ReadingTests:
    """What readers see."""

    @pytest.mark.parametrize(("filter", "found"), FILTERS.values(), ids=FILTERS.keys())
    async def test_a_filter_finds_what_matches_newest_first(
        self, harness: Harness, filter: Filter, found: str
    ) -> None:
        """seed:B3"""

        activities = sample()
        await harness.submit(*activities.values())

        page = await harness.call(harness.backend.list, filter, Page())

        names = {activity.id: name for name, activity in activities.items()}
        assert [names[item.id] for item in page.items] == sorted(found, reverse=True)
        assert page.next is None

    @pytest.mark.parametrize("limit", [1, 3, 4, 12, 100])
    async def test_pages_joined_are_the_whole_list(self, harness: Harness, limit: int) -> None:
        activities = [call("even" if number % 2 else "odd") for number in range(24)]
        await harness.submit(*activities)
        wanted = [each.id for each in reversed(activities) if each.type == "odd"]

        found = await pages(harness, Filter(types=("odd",)), limit)

        assert [item.id for page in found for item in page] == wanted
        assert len(found) == -(-len(wanted) // limit)

    async def test_pages_stay_whole_while_new_ones_come(self, harness: Harness) -> None:
        old = [call() for _ in range(4)]
        await harness.submit(*old)
        first = await harness.call(harness.backend.list, Filter(), Page(limit=2))
        await harness.submit(call(), call())

        second = await harness.call(
            harness.backend.list, Filter(), Page(limit=2, before=first.next)
        )

        items = first.items + second.items
        assert [item.id for item in items] == [each.id for each in reversed(old)]

    async def test_a_list_of_nothing_is_empty(self, harness: Harness) -> None:
        page = await harness.call(harness.backend.list, Filter(), Page())

        assert (page.items, page.next) == ((), None)

    async def test_a_snapshot_tells_everything(self, harness: Harness) -> None:
        """seed:Q16"""

        activity = keyed(
            payload='{"a":1}',
            parent_id=new_id(),
            root_id=new_id(),
            origin_id=new_id(),
            depth=3,
            priority=Priority.LOW,
            max_retries=None,
            max_crashes=5,
            timeout=1.5,
            metadata='{"m":1}',
            tags='{"t":"u"}',
            source="s",
            correlation_id="c",
            user_id="u",
        )
        attempt = await harness.running(activity)

        info = await harness.info(activity.id)

        assert info == ActivityInfo(
            id=activity.id,
            type="work",
            queue="default",
            status=Status.PROCESSING,
            priority=Priority.LOW,
            payload='{"a":1}',
            result=None,
            error=None,
            retry_count=0,
            crash_count=0,
            max_retries=None,
            max_crashes=5,
            timeout=1.5,
            created_at=attempt.created_at,
            ready_at=attempt.ready_at,
            started_at=info.started_at,
            finished_at=None,
            lease_until=info.lease_until,
            cancel_requested_at=None,
            worker=attempt.worker,
            claim=1,
            isolate=False,
            parent_id=activity.parent_id,
            root_id=activity.root_id,
            origin_id=activity.origin_id,
            depth=3,
            idempotency_key="order-42",
            source="s",
            correlation_id="c",
            user_id="u",
            tags={"t": "u"},
            metadata={"m": 1},
        )
        assert isinstance(info.priority, Priority)
        assert isinstance(info.status, Status)

    async def test_instants_are_aware_utc(self, harness: Harness) -> None:
        attempt = await harness.running()
        running = await harness.info(attempt.id)
        await harness.end(attempt, Succeeded("1"))

        ended = await harness.info(attempt.id)

        instants = [attempt.created_at, attempt.ready_at, ended.created_at, ended.ready_at]
        for instant in (*instants, running.started_at, running.lease_until, ended.finished_at):
            assert instant is not None and instant.utcoffset() == timedelta(0)

    async def test_unknown_ids_have_no_snapshot(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        assert set(await harness.call(harness.backend.get, [new_id(), activity.id])) == {
            activity.id
        }
        assert await harness.call(harness.backend.get, ()) == {}


class StatsTests:
    """Counts (seed:O2)."""

    async def test_an_empty_store_counts_nothing(self, harness: Harness) -> None:
        stats = await harness.call(harness.backend.stats)

        assert stats.by_status == dict.fromkeys(Status, 0)
        assert (stats.oldest_pending, stats.workers, stats.slots) == (None, 0, 0)
        assert not any(stats.by_queue.values())

    async def test_every_state_is_counted(self, harness: Harness) -> None:
        for status in (each for each in Status if each is not Status.PENDING):
            await harness.bring(call(), status)
        await harness.submit(call(), call(queue="mail"))

        stats = await harness.call(harness.backend.stats)

        assert stats.by_status == dict.fromkeys(Status, 1) | {Status.PENDING: 2}
        assert stats.by_queue == {"default": 4, "mail": 1}

    async def test_pending_ones_are_counted_by_priority(self, harness: Harness) -> None:
        """seed:O2"""
        priorities = [Priority.LOW, Priority.HIGH, Priority.HIGH]
        await harness.submit(*(call(priority=priority) for priority in priorities))
        await harness.submit(call(priority=Priority.LOW, delay=DAY))

        by_priority = (await harness.call(harness.backend.stats)).by_priority

        assert by_priority == {
            Priority.LOW: 1,
            Priority.NORMAL: 0,
            Priority.HIGH: 2,
            Priority.CRITICAL: 0,
        }

    async def test_counts_can_be_of_some_queues(self, harness: Harness) -> None:
        await harness.submit(call(queue="a"), call(queue="b"), call(queue="b"), call(queue="c"))

        stats = await harness.call(harness.backend.stats, ["b", "c", "none"])

        assert stats.by_status[Status.PENDING] == 3
        assert stats.by_priority[Priority.NORMAL] == 3
        assert {queue: n for queue, n in stats.by_queue.items() if n} == {"b": 2, "c": 1}

    async def test_the_oldest_pending_is_that_which_has_been_ready_longest(
        self, harness: Harness
    ) -> None:
        await harness.submit(call(delay=40.0))
        await harness.advance(100)
        await harness.submit(call())
        await harness.call(harness.backend.promote, 10)
        await harness.advance(10)

        stats = await harness.call(harness.backend.stats)

        assert stats.oldest_pending is not None
        assert 70 <= stats.oldest_pending <= 75

    async def test_counts_stop_at_the_cap(self, harness: Harness) -> None:
        await harness.submit(*(call() for _ in range(5)), call(delay=DAY))

        stats = await capped(harness, 3)
        assert (stats.by_status[Status.PENDING], stats.capped(Status.PENDING)) == (3, True)
        assert (stats.by_status[Status.SCHEDULED], stats.capped(Status.SCHEDULED)) == (1, False)

        stats = await capped(harness, 6)
        assert (stats.by_status[Status.PENDING], stats.capped(Status.PENDING)) == (5, False)

    async def test_live_workers_and_their_slots_are_counted(self, harness: Harness) -> None:
        await harness.renew(worker(concurrency=99, slots_used=99))
        await harness.advance(100)
        await harness.renew(worker(concurrency=10, slots_used=4))
        await harness.renew(worker(concurrency=5, slots_used=1))

        stats = await harness.call(harness.backend.stats)

        assert (stats.workers, stats.slots, stats.slots_used) == (2, 15, 5)


class TimelineTests:
    """What happened, oldest first (design 7.7)."""

    async def test_an_unknown_id_has_none(self, harness: Harness) -> None:
        assert await harness.call(harness.backend.timeline, new_id()) == []

    async def test_a_happy_activity_needs_no_event_row(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.advance(5)
        await harness.end(attempt, Succeeded("1"))

        timeline = await harness.call(harness.backend.timeline, attempt.id)

        assert [entry.kind for entry in timeline] == ["enqueued", "started", "completed"]
        info = await harness.info(attempt.id)
        assert [entry.at for entry in timeline] == [
            info.created_at,
            info.started_at,
            info.finished_at,
        ]
        assert [entry.attempt for entry in timeline] == [None, 1, 1]
        assert [entry.worker for entry in timeline] == [None, attempt.worker, attempt.worker]

    @pytest.mark.parametrize(
        ("status", "kinds"),
        [
            (Status.PENDING, ["enqueued"]),
            (Status.SCHEDULED, ["enqueued", "scheduled"]),
            (Status.PROCESSING, ["enqueued", "started"]),
            (Status.RETRYING, ["enqueued", "started", "failed"]),
            (Status.FAILED, ["enqueued", "started", "failed"]),
            (Status.DEAD_LETTER, ["enqueued", "started", "dead_letter"]),
            (Status.CANCELLED, ["enqueued", "cancelled"]),
        ],
        ids=str,
    )
    async def test_each_state_has_its_story(
        self, harness: Harness, status: Status, kinds: list[str]
    ) -> None:
        """seed:L5"""

        id = await harness.bring(call(), status)

        assert await harness.kinds(id) == kinds

    async def test_a_timeout_is_told_as_one(self, harness: Harness) -> None:
        attempt = await harness.running(call(policy=Policy(retry_on_timeout=False)))
        await harness.end(attempt, Failed(error=LATE, retryable=False))

        assert (await harness.kinds(attempt.id))[-1] == "timed_out"
        assert LATE.kind is ErrorKind.TIMEOUT

    async def test_a_troubled_life_is_told_in_order(self, harness: Harness) -> None:
        """seed:L6"""

        attempt = await harness.running()
        for outcome in (
            Failed(error=error("first"), delay=0.0),
            Snoozed(0.0),
            Interrupted(),
            Crashed(),
        ):
            await harness.advance(40)
            await harness.end(attempt, outcome)
            await harness.call(harness.backend.promote, 10)
            attempt = await harness.reclaim()
        await harness.advance(10)
        await harness.end(attempt, Succeeded("1"))

        timeline = await harness.call(harness.backend.timeline, attempt.id)

        expected = ["failed", "snoozed", "interrupted", "crashed", "started", "completed"]
        assert [entry.kind for entry in timeline] == ["enqueued", *expected]
        assert [entry.attempt for entry in timeline] == [None, 1, 2, 2, 2, 3, 3]
        assert "first" in str(timeline[1].detail["error"])
        assert timeline[1].detail["delay"] == 0.0
        assert [entry.at for entry in timeline] == sorted(entry.at for entry in timeline)


class WorkerTests:
    """Workers, and what none of them serves."""

    async def test_the_newest_worker_comes_first(self, harness: Harness) -> None:
        now = await harness.now()
        infos = [worker(started_at=now + timedelta(seconds=second)) for second in (1, 3, 2)]
        for info in infos:
            await harness.renew(info)

        seen = await harness.call(harness.backend.workers)

        assert [each.id for each in seen] == [infos[1].id, infos[2].id, infos[0].id]

    async def test_only_live_workers_are_listed(self, harness: Harness) -> None:
        """seed:W14"""

        silent, live = worker(), worker()
        await harness.renew(silent)
        await harness.advance(100)
        await harness.renew(live)

        assert [each.id for each in await harness.call(harness.backend.workers)] == [live.id]
        everybody = await harness.call(partial(harness.backend.workers, alive_within=200.0))
        assert {each.id for each in everybody} == {silent.id, live.id}
        assert near(everybody[0].seen_at, await harness.now(), within=105)

    async def test_a_type_without_a_live_worker_is_unserved(self, harness: Harness) -> None:
        """promise:G4: it waits, visible (design 7.3)."""
        await harness.submit(call("a"), call("b"), call("b"), call("a", queue="mail"))
        await harness.renew(worker(types=("a",)))

        assert await unserved(harness) == [("default", "b", 2), ("mail", "a", 1)]

    async def test_what_is_not_due_yet_may_be_unserved_too(self, harness: Harness) -> None:
        """Nobody should learn of a missing worker only when the time has come."""
        await harness.bring(call("retried"), Status.RETRYING)
        await harness.submit(call("a", delay=DAY), call("a"), call("b", delay=DAY))
        await harness.renew(worker(types=("b",)))

        assert await unserved(harness) == [("default", "a", 2), ("default", "retried", 1)]

    async def test_a_worker_of_every_type_serves_its_queues(self, harness: Harness) -> None:
        await harness.submit(call("a"), call("a", queue="mail"), call("a", max_crashes=1))
        await harness.renew(worker())

        assert await unserved(harness) == [("mail", "a", 1)]

    async def test_a_silent_worker_serves_nothing(self, harness: Harness) -> None:
        await harness.submit(call())
        await harness.renew(worker())
        assert await unserved(harness) == []

        await harness.advance(100)

        assert await unserved(harness) == [("default", "work", 1)]

    async def test_what_runs_or_has_ended_does_not_wait_for_a_worker(
        self, harness: Harness
    ) -> None:
        await harness.bring(call(), Status.COMPLETED)
        await harness.running()

        assert await unserved(harness) == []


class SeriesTests:
    """The rollup's buckets."""

    async def test_buckets_of_one_span_are_asked_for(self, harness: Harness) -> None:
        fine, coarse = bucket(), bucket(span=600, count=9)
        await harness.call(harness.backend.heartbeat, beat(worker(), buckets=(fine, coarse)))

        hour = (MINUTE, MINUTE + timedelta(hours=1))
        found = [
            await harness.call(partial(harness.backend.series, span=span), *hour)
            for span in (60, 600, 7)
        ]

        assert found == [[fine], [coarse], []]

    async def test_minutes_are_cut_half_open_and_sorted(self, harness: Harness) -> None:
        minutes = [MINUTE + timedelta(minutes=number) for number in (2, 0, 3, 1)]
        buckets = tuple(bucket(minute) for minute in minutes)
        await harness.call(harness.backend.heartbeat, beat(worker(), buckets=buckets))

        until = MINUTE + timedelta(minutes=3)
        found = await harness.call(harness.backend.series, MINUTE + timedelta(minutes=1), until)

        assert [each.minute for each in found] == sorted(minutes)[1:3]

    async def test_queue_type_and_outcome_are_counted_apart(self, harness: Harness) -> None:
        """seed:M6"""

        buckets = (
            bucket(),
            bucket(queue="mail"),
            bucket(type="other"),
            bucket(outcome="failed"),
        )
        await harness.call(harness.backend.heartbeat, beat(worker(), buckets=buckets))

        found = await series(harness)

        assert sorted(found, key=str) == sorted(buckets, key=str)

    async def test_the_same_bucket_twice_in_a_heartbeat_is_summed(self, harness: Harness) -> None:
        await harness.call(harness.backend.heartbeat, beat(worker(), buckets=(bucket(),) * 2))

        [total] = await series(harness)

        assert (total.count, total.waits[0], total.runs[0]) == (6, 6, 6)

    async def test_nothing_counted_is_nothing(self, harness: Harness) -> None:
        assert await series(harness) == []


async def pages(harness: Harness, filter: Filter, limit: int) -> list[tuple[ActivityInfo, ...]]:
    """Every page of a list."""
    page = await harness.call(harness.backend.list, filter, Page(limit=limit))
    found = [page.items]
    while page.next is not None:
        page = await harness.call(harness.backend.list, filter, Page(limit=limit, before=page.next))
        found.append(page.items)
    return found


async def capped(harness: Harness, cap: int) -> Stats:
    """Stats with this cap."""
    return await harness.call(partial(harness.backend.stats, cap=cap))


async def unserved(harness: Harness) -> list[tuple[str, str, int]]:
    """What no worker serves, sorted."""
    found: list[UnservedType] = await harness.call(harness.backend.unserved)
    return sorted((each.queue, each.type, each.waiting) for each in found)


async def series(harness: Harness) -> list[Bucket]:
    """The hour from MINUTE on."""
    return await harness.call(harness.backend.series, MINUTE, MINUTE + timedelta(hours=1))
