"""What else an operator may do: edited and spread retries, times, priorities, the record of it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from taskq.audit import AuditEntry, Command
from taskq.backends import Topic
from taskq.errors import IdempotencyConflict, Unstorable
from taskq.identifiers import new_id
from taskq.lifecycle import RESCHEDULABLE_BY_OPERATOR, STARTABLE_BY_OPERATOR
from taskq.model import Priority, Status
from taskq.testing.conformance.harness import Harness, ids, near
from taskq.testing.conformance.samples import DAY, call, keyed

BY_ADA = Command(actor="ada", reason="the bank is back")
COMMANDS = ("retry", "run_now", "reschedule", "set_priority", "cancel")
FITTING = {"retry": Status.FAILED, "run_now": Status.SCHEDULED}


async def do(harness: Harness, action: str, *ids: UUID, command: Command = BY_ADA) -> Any:
    """Carry a command out, with something to change for those that need it."""
    method = getattr(harness.backend, action)
    match action:
        case "reschedule":
            when = await harness.now() + timedelta(hours=1)
            return await harness.call(partial(method, ids, when, command=command))
        case "set_priority":
            return await harness.call(partial(method, ids, Priority.CRITICAL, command=command))
        case _:
            return await harness.call(partial(method, ids, command=command))


async def record(harness: Harness) -> list[AuditEntry]:
    """What operators did, newest first."""
    return await harness.call(harness.backend.audit)


class OperatorCommandTests:
    """Everything that takes a command."""

    async def test_a_command_is_found_in_the_record_by_its_id(self, harness: Harness) -> None:
        """Whoever lost an answer asks whether it was done."""
        commands = [replace(BY_ADA, id=new_id()) for _ in range(3)]
        for command in (*commands, BY_ADA):
            await do(harness, "cancel", new_id(), command=command)
        one, two, three = (command.id for command in commands)

        async def asked(*ids: UUID | None, **more: Any) -> list[UUID | None]:
            ask = partial(harness.backend.audit, command_ids=[id for id in ids if id], **more)
            return [entry.command_id for entry in await harness.call(ask)]

        assert await asked(two, new_id()) == [two]
        assert await asked(one, three, two, limit=2) == [three, two]
        assert await asked(one, three, before=(await record(harness))[1].number) == [one]
        assert await asked() == []

    @pytest.mark.parametrize("action", COMMANDS)
    async def test_a_command_is_recorded_and_in_the_timeline(
        self, harness: Harness, action: str
    ) -> None:
        """promise:G5. seed:N16"""
        id = await harness.bring(call(), FITTING.get(action, Status.PENDING))

        await do(harness, action, id, new_id())

        [entry] = await record(harness)
        assert (entry.action, entry.actor, entry.reason) == (action, "ada", "the bank is back")
        assert str(id) in str(entry.detail["ids"]) and near(entry.at, await harness.now())
        timeline = await harness.call(harness.backend.timeline, id)
        [noted] = [each for each in timeline if "actor" in each.detail]
        assert (noted.detail["actor"], noted.detail["reason"]) == ("ada", "the bank is back")
        assert (noted.attempt, noted.worker) == (None, None)

    @pytest.mark.parametrize("action", COMMANDS)
    async def test_a_command_that_was_carried_out_changes_nothing_more(
        self, harness: Harness, action: str
    ) -> None:
        """seed:N16: who did not hear the answer may ask again."""
        one, other = call(), call()
        status = FITTING.get(action, Status.PENDING)
        await harness.bring(one, status)
        command = replace(BY_ADA, id=new_id())
        await do(harness, action, one.id, command=command)
        await harness.call(partial(harness.backend.cancel, [one.id]))
        await harness.bring(other, status)
        before = await harness.info(one.id), await harness.info(other.id)

        answer = await do(harness, action, one.id, other.id, command=command)

        assert set(answer) == {one.id, other.id}
        assert (await harness.info(one.id), await harness.info(other.id)) == before
        assert len(await record(harness)) == 1

    @pytest.mark.parametrize("action", (*COMMANDS, "delete"))
    async def test_the_record_says_what_a_command_left_as_it_was(
        self, harness: Harness, action: str
    ) -> None:
        """What had ended, or still ran, and what nobody knows."""
        fitting = {**FITTING, "delete": Status.CANCELLED}.get(action, Status.PENDING)
        other = Status.PROCESSING if action == "delete" else Status.COMPLETED
        left, unknown = await harness.bring(call(), other), new_id()
        moved = await harness.bring(call(), fitting)

        await do(harness, action, left, moved, unknown)
        await do(harness, action, left)

        nothing, partly = await record(harness)
        assert partly.detail["unchanged"] == [str(left), str(unknown)]
        assert partly.detail["ids"] == [str(left), str(moved), str(unknown)]
        assert nothing.detail["unchanged"] == nothing.detail["ids"] == [str(left)]

    async def test_a_priority_that_it_has_is_no_change(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.PENDING)
        await do(harness, "set_priority", id)
        await do(harness, "set_priority", id)

        again, first = await record(harness)
        assert again.detail["unchanged"] == [str(id)] and "unchanged" not in first.detail

    async def test_no_ids_are_no_command(self, harness: Harness) -> None:
        for action in COMMANDS:
            assert await do(harness, action) == {}
        assert await record(harness) == []

    async def test_a_program_that_cancels_leaves_no_record(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.PENDING)
        await harness.cancel(id)

        assert await record(harness) == []

    async def test_a_retry_may_have_other_arguments(self, harness: Harness) -> None:
        """seed:R18: dead letters are retried with edited arguments; history is kept."""
        edited = await harness.bring(call(payload='{"to":"a"}'), Status.DEAD_LETTER)
        same = await harness.bring(call(payload='{"to":"b"}'), Status.DEAD_LETTER)
        done = await harness.bring(call(payload='{"to":"c"}'), Status.COMPLETED)
        payloads = {edited: '{"to":"x"}', done: '{"to":"y"}'}

        await harness.retry(edited, same, done, arguments=payloads)

        attempts = {each.id: each.payload for each in await harness.claim(new_id())}
        assert attempts == {edited: '{"to":"x"}', same: '{"to":"b"}'}
        assert (await harness.info(done)).payload == '{"to":"c"}'
        timeline = await harness.call(harness.backend.timeline, edited)
        [noted] = [each for each in timeline if each.kind == "retried"]
        assert noted.detail["payload"] == '{"to":"a"}'
        [entry] = await record(harness)
        assert str(edited) in str(entry.detail["edited"]) and str(same) not in str(
            entry.detail["edited"]
        )

    async def test_of_the_arguments_before_an_edit_only_what_is_shown_is_kept(
        self, harness: Harness
    ) -> None:
        """threat:T14"""
        id = await harness.bring(call(payload='{"pin":"4711"}'), Status.DEAD_LETTER)
        same = await harness.bring(call(payload='{"pin":"b"}'), Status.DEAD_LETTER)
        kept = {id: '{"pin":"[redacted]"}', same: "{}"}

        await harness.retry(id, same, arguments={id: '{"pin":"1"}'}, kept=kept)

        for one, payload in ((id, kept[id]), (same, None)):
            timeline = await harness.call(harness.backend.timeline, one)
            [noted] = [each for each in timeline if each.kind == "retried"]
            assert noted.detail.get("payload") == payload

    async def test_a_key_stands_for_the_edited_arguments(self, harness: Harness) -> None:
        first = keyed("order-1", payload='{"n":1}')
        await harness.bring(first, Status.DEAD_LETTER)

        await harness.retry(first.id, arguments={first.id: '{"n":2}'})

        [receipt] = await harness.submit(keyed("order-1", payload='{"n":2}'))
        assert (receipt.id, receipt.created) == (first.id, False)
        with pytest.raises(IdempotencyConflict):
            await harness.submit(keyed("order-1", payload='{"n":1}'))

    async def test_a_key_of_edited_arguments_is_free_again_when_it_was(
        self, harness: Harness
    ) -> None:
        """D23: an edit changes what a key stands for, not until when."""
        first = keyed("order-1", payload='{"n":1}', unique_for=60.0)
        await harness.bring(first, Status.DEAD_LETTER)
        await harness.retry(first.id, arguments={first.id: '{"n":2}'})
        await harness.advance(61)

        again = keyed("order-1", payload='{"n":2}')

        [receipt] = await harness.submit(again)
        assert (receipt.id, receipt.created) == (again.id, True)

    async def test_arguments_that_cannot_be_stored_retry_nothing(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.DEAD_LETTER)

        with pytest.raises(Unstorable):
            await harness.retry(id, arguments={id: "\0"})

        assert await harness.status(id) is Status.DEAD_LETTER
        assert await record(harness) == []

    async def test_retries_can_be_spread_over_time(self, harness: Harness) -> None:
        dead = [await harness.bring(call(), Status.DEAD_LETTER) for _ in range(4)]

        await harness.retry(*dead, delay=10.0, spread=40.0)

        now = await harness.now()
        infos = [await harness.info(id) for id in dead]
        assert {info.status for info in infos} == {Status.SCHEDULED}
        for place, info in enumerate(infos):
            assert near(info.ready_at, now + timedelta(seconds=10 + 10 * place))
        await harness.advance(25)
        await harness.call(harness.backend.promote, 10)
        assert ids(await harness.claim(new_id())) == dead[:2]

    @pytest.mark.parametrize("status", sorted(STARTABLE_BY_OPERATOR), ids=str)
    async def test_what_waits_for_its_time_can_run_now(
        self, harness: Harness, status: Status
    ) -> None:
        """seed:N16"""
        id = await harness.bring(call(), status)
        watch, hints = await harness.watch(Topic.READY)

        assert await do(harness, "run_now", id) == {id: status}

        await harness.call(watch.close)
        assert hints
        assert ids(await harness.claim(new_id())) == [id]

    @pytest.mark.parametrize("status", sorted(RESCHEDULABLE_BY_OPERATOR), ids=str)
    async def test_what_waits_can_be_given_another_time(
        self, harness: Harness, status: Status
    ) -> None:
        """seed:N16"""
        id = await harness.bring(call(), status)

        assert await do(harness, "reschedule", id) == {id: status}

        later = Status.RETRYING if status is Status.RETRYING else Status.SCHEDULED
        assert await harness.status(id) is later
        assert await harness.claim(new_id()) == []
        await harness.advance(3610)
        await harness.call(harness.backend.promote, 10)
        assert ids(await harness.claim(new_id())) == [id]

    async def test_a_time_that_has_passed_is_now(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.SCHEDULED)
        past = await harness.now() - timedelta(days=1)

        await harness.call(partial(harness.backend.reschedule, [id], past, command=BY_ADA))

        info = await harness.info(id)
        assert info.status is Status.PENDING and near(info.ready_at, await harness.now())

    async def test_a_priority_decides_who_is_next(self, harness: Harness) -> None:
        """seed:N16"""
        first, second = call(), call()
        await harness.submit(first, second)

        await do(harness, "set_priority", second.id)

        assert (await harness.info(second.id)).priority is Priority.CRITICAL
        assert ids(await harness.claim(new_id(), limit=1)) == [second.id]

    async def test_a_running_ones_priority_is_that_of_its_next_attempt(
        self, harness: Harness
    ) -> None:
        attempt = await harness.running()

        await do(harness, "set_priority", attempt.id)

        await harness.hand_back(attempt.worker, attempt.lease)
        assert (await harness.reclaim()).priority is Priority.CRITICAL

    @pytest.mark.parametrize("action", ["run_now", "reschedule", "set_priority"])
    async def test_what_is_in_another_state_is_left_as_it_is(
        self, harness: Harness, action: str
    ) -> None:
        done = await harness.bring(call(), Status.COMPLETED)
        dead = await harness.bring(call(), Status.DEAD_LETTER)
        before = await harness.info(done), await harness.info(dead)

        answer = await do(harness, action, done, dead)

        assert answer == {done: Status.COMPLETED, dead: Status.DEAD_LETTER}
        assert (await harness.info(done), await harness.info(dead)) == before

    async def test_what_runs_is_not_rescheduled(self, harness: Harness) -> None:
        """promise:G5"""
        attempt = await harness.running(replace(call(), delay=None))
        before = await harness.info(attempt.id)

        for action in ("run_now", "reschedule"):
            assert await do(harness, action, attempt.id) == {attempt.id: Status.PROCESSING}

        assert await harness.info(attempt.id) == before
        assert near(before.lease_until, await harness.now(), within=DAY)
