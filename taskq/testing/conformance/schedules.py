"""Schedules: each occurrence is stored once, and what was missed follows the rules (promise:G12).

The store's own now is somewhere in a second, so the tests give schedules an hour's interval and
look at what changes when hours pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from taskq.audit import AuditEntry, Command
from taskq.backends import Fired, Place
from taskq.errors import QueueFull
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded
from taskq.model import Bound, Overflow, Policy, Priority, Status
from taskq.occurrences import Timing
from taskq.retry import RetryPolicy
from taskq.schedule import BATCH, Schedule, ScheduleInfo, Template
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call

HOUR = 3600.0
HOURLY = Timing(every=3_600_000)
WHO = Command(actor="ada", reason="asked")


def schedule(name: str = "report", **fields: Any) -> Schedule:
    """A schedule that fires each hour."""
    template = fields.pop("template", None) or Template(type="sum", queue="default", payload="{}")
    timing = fields.pop("timing", HOURLY)
    return Schedule(name=name, template=template, timing=timing, **fields)


async def create(harness: Harness, of: Schedule | None = None, **fields: Any) -> ScheduleInfo:
    """Store a new schedule."""
    made = await put(harness, of or schedule(**fields), None)
    assert made is not None
    return made


async def put(
    harness: Harness, of: Schedule, revision: int | None, command: Command = WHO
) -> ScheduleInfo | None:
    """Store one, new or not."""
    put_schedule = partial(harness.backend.put_schedule, revision=revision, command=command)
    return await harness.call(put_schedule, of)


async def info(harness: Harness, name: str = "report") -> ScheduleInfo:
    """One that is there."""
    [found] = await harness.call(harness.backend.schedules, [name])
    return found


async def pause(harness: Harness, *, paused: bool, name: str = "report") -> ScheduleInfo | None:
    """Pause or resume."""
    call = partial(harness.backend.pause_schedule, paused=paused, command=WHO)
    return await harness.call(call, name)


async def trigger(harness: Harness, id: UUID, command: Command = WHO, name: str = "report") -> bool:
    """Trigger with this id."""
    call = partial(harness.backend.trigger_schedule, id=id, command=command)
    return await harness.call(call, name)


async def delete(harness: Harness, name: str = "report", command: Command = WHO) -> bool:
    """Delete."""
    return await harness.call(partial(harness.backend.delete_schedule, command=command), name)


async def fire(harness: Harness, name: str = "report") -> Fired:
    """Fire one that is due."""
    fired = await harness.call(harness.backend.fire_schedule, name)
    assert fired is not None
    return fired


async def reach(harness: Harness, of: ScheduleInfo, *, late: float = 1) -> None:
    """Let time pass until so many seconds after its next occurrence."""
    assert of.next_at is not None
    await harness.advance((of.next_at - await harness.now()).total_seconds() + late)


async def due(harness: Harness) -> tuple[str, ...]:
    """The names of what is due."""
    return (await harness.call(harness.backend.due_schedules)).names


async def actions(harness: Harness) -> list[AuditEntry]:
    """What was recorded, the oldest first."""
    return list(await harness.call(harness.backend.audit))[::-1]


def times(fired: Fired) -> list[datetime]:
    """The occurrences that were fired."""
    told = [msgspec.json.decode(each.metadata or "") for each in fired.activities]
    return [datetime.fromisoformat(each["scheduled_for"]) for each in told]


def hours(first: datetime | None, numbers: Sequence[int]) -> list[datetime]:
    """So many hours later each."""
    assert first is not None
    return [first + timedelta(hours=number) for number in numbers]


class ScheduleTests:
    """What keeps schedules."""

    async def test_a_schedule_is_kept_as_it_was_made(self, harness: Harness) -> None:
        """bug:B114: every option reaches what is fired"""
        template = Template(
            type="sum",
            queue="mail",
            payload='{"to":"ada"}',
            priority=Priority.HIGH,
            max_retries=None,
            max_crashes=5,
            timeout=None,
            policy=Policy(retry=RetryPolicy(initial_delay=7.0), retry_on_timeout=False),
            expires_in=60.0,
            deadline_in=90.0,
            metadata='{"a":1}',
            tags='{"region":"eu"}',
            correlation_id="c",
            user_id="u",
        )
        made = await create(
            harness,
            schedule(
                template=template,
                timing=Timing(cron="*/5 * * * *", timezone="Europe/Lisbon"),
                jitter=250,
                catch_up="all",
                overlap="queue",
            ),
        )

        kept = await info(harness)

        assert kept == made
        assert kept.next_at is not None and kept.next_at > await harness.now() - timedelta(
            minutes=1
        )
        await harness.advance(600)
        [activity] = (await fire(harness)).activities
        fields = {name: getattr(activity, name) for name in Template.__struct_fields__}
        stored = await harness.info(activity.id)
        assert fields | {"metadata": template.metadata} == {
            name: getattr(template, name) for name in Template.__struct_fields__
        }
        assert (stored.source, stored.priority, stored.queue) == ("cron", Priority.HIGH, "mail")
        assert stored.metadata["a"] == 1 and stored.metadata["cron_job"] == "report"

    async def test_schedules_come_by_name(self, harness: Harness) -> None:
        for name in ("b", "a", "c"):
            await create(harness, name=name)

        every = await harness.call(harness.backend.schedules)
        some = await harness.call(harness.backend.schedules, ["c", "nobody", "b"])

        assert [each.name for each in every] == ["a", "b", "c"]
        assert [each.name for each in some] == ["b", "c"]

    async def test_a_name_is_given_once_and_a_stale_edit_changes_nothing(
        self, harness: Harness
    ) -> None:
        made = await create(harness)
        other = schedule(jitter=7)

        assert await put(harness, other, None) is None
        assert await put(harness, other, made.revision + 1) is None
        assert await put(harness, replace(other, name="nobody"), 1) is None
        assert await info(harness) == made
        edited = await put(harness, other, made.revision)

        assert edited is not None and edited.revision == made.revision + 1
        assert (edited.schedule, edited.next_at) == (other, made.next_at)
        verbs = [(each.action, each.target, each.actor) for each in await actions(harness)]
        assert verbs == [("schedule.create", "report", "ada"), ("schedule.edit", "report", "ada")]
        [first, second] = await actions(harness)
        assert second.detail == {"jitter": 7}
        assert first.detail["template"] == {"type": "sum", "queue": "default", "payload": "{}"}

    async def test_the_record_has_it_as_it_is_shown(self, harness: Harness) -> None:
        own = Template(type="sum", queue="default", payload='{"pin":"1234"}')
        shown = schedule(template=replace(own, payload='{"pin":"[redacted]"}'))
        make = partial(harness.backend.put_schedule, revision=None, command=WHO, shown=shown)
        await harness.call(make, schedule(template=own))

        assert (await info(harness)).schedule.template == own
        [entry] = await actions(harness)
        assert "1234" not in str(entry.detail)

    async def test_other_times_give_another_next_time(self, harness: Harness) -> None:
        made = await create(harness)

        edited = await put(harness, schedule(timing=Timing(cron="0 0 1 1 *")), made.revision)

        assert edited is not None and edited.next_at is not None
        assert (edited.next_at.month, edited.next_at.day) == (1, 1)

    async def test_a_repeated_command_does_nothing_more(self, harness: Harness) -> None:
        command = Command(actor="ada", id=new_id())
        once = await put(harness, schedule(), None, command)

        assert await put(harness, schedule(), None, command) == once
        again = Command(actor="ada", id=new_id())
        assert await trigger(harness, new_id(), again)
        assert await trigger(harness, new_id(), again)
        last = Command(actor="ada", id=new_id())
        assert await delete(harness, command=last)
        assert await delete(harness, command=last)
        assert len(await actions(harness)) == 3
        assert (await harness.call(harness.backend.stats)).by_status[Status.PENDING] == 1

    async def test_unknown_names_are_answered_and_not_recorded(self, harness: Harness) -> None:
        assert await pause(harness, paused=True) is None
        assert not await trigger(harness, new_id())
        assert not await delete(harness)
        assert await harness.call(harness.backend.fire_schedule, "report") is None
        assert await actions(harness) == []

    async def test_declared_again_nothing_changes_whatever_operators_made_of_it(
        self, harness: Harness
    ) -> None:
        await harness.call(harness.backend.declare_schedules, [schedule()])
        first = await info(harness)
        await put(harness, schedule(jitter=7), first.revision)
        paused = await pause(harness, paused=True)
        assert await pause(harness, paused=True) == paused
        assert (await actions(harness))[-1].detail == {"unchanged": ["report"]}

        await harness.call(harness.backend.declare_schedules, [schedule(), schedule("other")])

        assert await info(harness) == paused
        assert first.declared and (await info(harness, "other")).declared

    async def test_declared_otherwise_it_is_replaced_and_stays_paused(
        self, harness: Harness
    ) -> None:
        await harness.call(harness.backend.declare_schedules, [schedule()])
        await pause(harness, paused=True)

        await harness.call(harness.backend.declare_schedules, [schedule(jitter=9)])

        now = await info(harness)
        assert (now.schedule.jitter, now.revision) == (9, 2)
        assert now.paused_at is not None

    async def test_nothing_is_due_before_its_time(self, harness: Harness) -> None:
        made = await create(harness)
        assert made.next_at is not None
        left = (made.next_at - await harness.now()).total_seconds()

        found = await harness.call(harness.backend.due_schedules)

        assert found.names == ()
        assert found.next_due is not None and abs(found.next_due - left) < 5
        assert await harness.call(harness.backend.fire_schedule, "report") is None

    async def test_what_is_fired_and_triggered_needs_no_room_and_takes_it(
        self, harness: Harness
    ) -> None:
        """seed:E25: the queue holds more than its bound then, and refuses calls."""
        two = Bound(2, Overflow.ERROR)
        await create(harness)
        waiting = [call(bound=two), call(bound=two)]
        await harness.submit(*waiting)

        assert await trigger(harness, new_id())
        await harness.advance(HOUR)
        assert len((await fire(harness)).activities) == 1

        assert len(await harness.claim(new_id(), types=(waiting[0].type,))) == 2
        with pytest.raises(QueueFull):  # for these two
            await harness.submit(call(bound=two))
        assert len(await harness.claim(new_id(), types=("sum",))) == 2
        await harness.submit(call(bound=two))

    async def test_what_is_due_comes_in_parts(
        self, harness: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So that many that cannot be fired hide none of those behind them."""
        monkeypatch.setattr("taskq.backends.scheduled.DUE_AT_ONCE", 2)
        for name in ("c", "a", "e", "b", "d"):
            await create(harness, name=name)
        await harness.advance(HOUR)
        parts: list[tuple[str, ...]] = []
        place: Place | None = None

        while not parts or place is not None:
            found = await harness.call(harness.backend.due_schedules, place)
            parts.append(found.names)
            place = found.more

        assert parts == [("a", "b"), ("c", "d"), ("e",)]

    async def test_an_occurrence_is_fired_once(self, harness: Harness) -> None:
        """promise:G12; seed:Q10; bug:B118: looking at it moves nothing"""
        made = await create(harness)
        await harness.advance(HOUR)
        assert await info(harness) == made
        assert await due(harness) == ("report",)

        fired = await fire(harness)

        assert await harness.call(harness.backend.fire_schedule, "report") is None
        [activity] = fired.activities
        after = await info(harness)
        assert (after.fired, after.last_id, after.revision) == (1, activity.id, made.revision)
        stored = await harness.info(activity.id)
        assert (stored.status, stored.source, stored.root_id) == (
            Status.PENDING,
            "cron",
            activity.id,
        )
        assert stored.metadata["cron_job"] == "report"
        assert stored.metadata["scheduled_for"] == times(fired)[0].isoformat()

    async def test_of_many_that_fire_at_once_one_does(self, harness: Harness) -> None:
        """promise:G12"""
        await create(harness)
        await harness.advance(HOUR)
        answers: list[Fired | None] = []

        async def one() -> None:
            answers.append(await harness.call(harness.backend.fire_schedule, "report"))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)

        assert sum(answer is not None for answer in answers) == 1
        assert (await harness.call(harness.backend.stats)).by_status[Status.PENDING] == 1

    async def test_an_occurrence_that_is_stored_is_left_as_it_is(self, harness: Harness) -> None:
        """promise:G12: the name made anew does not repeat what it has made"""
        await create(harness, timing=Timing(cron="0 0 1 1 *"), catch_up="all")
        await harness.advance(366 * 24 * HOUR)
        before = await info(harness)
        [first] = (await fire(harness)).activities
        assert before.next_at is not None
        again = before.schedule.occurrence(before.next_at, await harness.now())

        await harness.submit(again)

        assert again.id == first.id
        assert (await harness.call(harness.backend.stats)).by_status[Status.PENDING] == 1

    async def test_after_a_stop_the_latest_fires(self, harness: Harness) -> None:
        """promise:G12; bug:B07"""
        made = await create(harness)
        await harness.advance(5 * HOUR)

        fired = await fire(harness)

        assert times(fired) == hours(made.next_at, [4])
        assert fired.skipped == 4 and await due(harness) == ()

    async def test_after_a_long_stop_no_flood_comes(self, harness: Harness) -> None:
        """promise:G12: of more than three thousand the latest, and at most ``BATCH`` counted"""
        await create(harness, timing=Timing(every=60_000))
        await harness.advance(3 * 24 * HOUR)

        fired = await fire(harness)

        assert (len(fired.activities), fired.skipped) == (1, BATCH)
        assert await harness.now() - times(fired)[0] < timedelta(minutes=1, seconds=5)

    async def test_with_all_each_fires_in_order_so_many_at_once(self, harness: Harness) -> None:
        """promise:G12"""
        await create(harness, catch_up="all")
        await harness.advance((BATCH + 5) * HOUR)

        first, second = await fire(harness), await fire(harness)

        assert (len(first.activities), len(second.activities)) == (BATCH, 5)
        found = times(first) + times(second)
        assert found == hours(found[0], range(BATCH + 5))
        assert await due(harness) == () and (await info(harness)).fired == BATCH + 5

    async def test_with_none_what_is_late_is_left_out(self, harness: Harness) -> None:
        """promise:G12"""
        made = await create(harness, catch_up="none")
        await reach(harness, made, late=60)

        fired = await fire(harness)

        assert (fired.activities, fired.skipped) == ((), 1)
        assert await due(harness) == ()

    async def test_with_none_what_is_a_little_late_fires(self, harness: Harness) -> None:
        """bug:B108"""
        made = await create(harness, catch_up="none")
        await reach(harness, made, late=5)

        assert len((await fire(harness)).activities) == 1

    @pytest.mark.parametrize("overlap", ["allow", "skip", "queue"])
    async def test_while_the_last_one_has_not_ended(self, harness: Harness, overlap: str) -> None:
        await create(harness, overlap=overlap)
        await harness.advance(HOUR)
        await fire(harness)
        await harness.advance(HOUR)

        fired = await fire(harness)

        after = await info(harness)
        assert (len(fired.activities), fired.skipped, fired.held) == {
            "allow": (1, 0, False),
            "skip": (0, 1, False),
            "queue": (0, 0, True),
        }[overlap]
        assert (after.fired, after.skipped) == (1 + len(fired.activities), fired.skipped)
        assert await due(harness) == ()
        assert (await harness.call(harness.backend.due_schedules)).held is fired.held

    async def test_what_waits_in_line_fires_when_the_last_one_has_ended(
        self, harness: Harness
    ) -> None:
        made = await create(harness, overlap="queue", catch_up="none")
        await reach(harness, made)
        await fire(harness)
        await harness.advance(2 * HOUR)
        assert (await fire(harness)).held
        await harness.end(await harness.reclaim(), Succeeded("null"))

        fired = await fire(harness)

        assert (len(fired.activities), fired.skipped) == (1, 1)
        assert await due(harness) == ()

    async def test_what_passes_while_it_is_paused_is_left_out(self, harness: Harness) -> None:
        await create(harness, catch_up="all")
        await pause(harness, paused=True)
        await harness.advance(5 * HOUR)
        assert await due(harness) == ()
        assert await harness.call(harness.backend.fire_schedule, "report") is None

        resumed = await pause(harness, paused=False)

        assert resumed is not None and resumed.paused_at is None
        assert resumed.next_at is not None and resumed.next_at > await harness.now() - timedelta(
            seconds=5
        )
        assert await due(harness) == ()
        verbs = [each.action for each in await actions(harness)]
        assert verbs == ["schedule.create", "schedule.pause", "schedule.resume"]

    async def test_triggered_it_makes_one_besides(self, harness: Harness) -> None:
        made = await create(harness)
        id = new_id()

        assert await trigger(harness, id)

        stored = await harness.info(id)
        assert (stored.source, stored.status) == ("cron", Status.PENDING)
        assert stored.metadata == {"cron_job": "report", "trigger": "manual"}
        entry = (await actions(harness))[-1]
        assert (entry.action, entry.detail) == ("schedule.trigger", {"ids": [str(id)]})
        assert await info(harness) == made

    async def test_deleted_it_fires_no_more_and_what_it_made_stays(self, harness: Harness) -> None:
        await create(harness)
        await harness.advance(HOUR)
        [activity] = (await fire(harness)).activities
        await harness.advance(HOUR)

        assert await delete(harness)

        assert await harness.call(harness.backend.schedules) == []
        assert await due(harness) == ()
        assert await harness.status(activity.id) is Status.PENDING

    async def test_jitter_delays_the_activity_and_not_the_occurrence(
        self, harness: Harness
    ) -> None:
        day = 24 * 3_600_000
        await create(harness, jitter=1000 * day)
        await harness.advance(HOUR)

        fired = await fire(harness)

        [at], [activity] = times(fired), fired.activities
        stored = await harness.info(activity.id)
        assert stored.status is Status.SCHEDULED
        assert at < stored.ready_at < at + timedelta(days=1000)
