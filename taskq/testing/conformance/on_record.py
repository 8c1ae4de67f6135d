"""Calls that operators store: on record with them."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace

from taskq.audit import AuditEntry, Command
from taskq.backends import Topic
from taskq.errors import IdempotencyConflict, InvalidState, QueueFull
from taskq.identifiers import new_id
from taskq.model import Activity, Bound, OnDuplicate, Overflow, Receipt, Status
from taskq.testing.conformance.harness import Harness, eventually
from taskq.testing.conformance.samples import call, keyed
from taskq.testing.conformance.watches import mentions

BY_ADA = Command(actor="ada", reason="by hand")


async def record(harness: Harness) -> list[AuditEntry]:
    """What operators did, newest first."""
    return await harness.call(harness.backend.audit)


class OnRecordTests:
    """``Operator.enqueue``."""

    async def test_a_call_is_stored_with_its_row_in_the_record(self, harness: Harness) -> None:
        one = call()
        enqueue = partial(harness.backend.enqueue, command=BY_ADA, detail={"type": one.type})

        assert await harness.call(enqueue, [one]) == [Receipt(one.id, True)]

        assert (await harness.info(one.id)).status is Status.PENDING
        [entry] = await record(harness)
        assert (entry.actor, entry.action, entry.reason) == ("ada", "enqueue", "by hand")
        assert (entry.target, entry.detail) == (
            str(one.id),
            {"ids": [str(one.id)], "type": one.type},
        )

    async def test_the_same_command_stores_once(self, harness: Harness) -> None:
        """threat:T22: who gives it again makes another activity, and is told of the first."""
        one, other = call(), call()
        enqueue = partial(
            harness.backend.enqueue, command=replace(BY_ADA, id=new_id()), action="bulk.retry"
        )

        assert await harness.call(enqueue, [one]) == [Receipt(one.id, True)]
        assert await harness.call(enqueue, [other]) == [Receipt(one.id, False)]

        assert await harness.call(harness.backend.get, [other.id]) == {}
        assert len(await record(harness)) == 1

    async def test_a_command_id_of_another_action_stores_nothing(self, harness: Harness) -> None:
        one, other = call(), call()
        command = replace(BY_ADA, id=new_id())
        await harness.bring(one, Status.FAILED)
        await harness.call(partial(harness.backend.retry, command=command), [one.id])

        with pytest.raises(InvalidState, match="another command: retry"):
            await harness.call(partial(harness.backend.enqueue, command=command), [other])

        assert await harness.call(harness.backend.get, [other.id]) == {}

    async def test_a_key_that_is_taken_is_answered_by_what_has_it(self, harness: Harness) -> None:
        one, other = keyed("a"), keyed("a")
        await harness.call(harness.backend.submit, [one])
        enqueue = partial(harness.backend.enqueue, command=BY_ADA)

        assert await harness.call(enqueue, [other]) == [Receipt(one.id, False)]

        [entry] = await record(harness)
        assert entry.detail == {"ids": [str(one.id)]}

    async def test_what_is_refused_leaves_no_record(self, harness: Harness) -> None:
        enqueue = partial(harness.backend.enqueue, command=replace(BY_ADA, id=new_id()))
        await harness.call(harness.backend.submit, [keyed("a")])
        strict = keyed("a", on_duplicate=OnDuplicate.NO_REUSE)
        with pytest.raises(IdempotencyConflict):
            await harness.call(enqueue, [strict])

        full = replace(call(), bound=Bound(1, Overflow.ERROR))
        with pytest.raises(QueueFull):
            await harness.call(enqueue, [full])

        assert await record(harness) == []

    async def test_no_calls_are_no_command(self, harness: Harness) -> None:
        none: list[Activity[object]] = []
        assert await harness.call(partial(harness.backend.enqueue, command=BY_ADA), none) == []
        assert await record(harness) == []

    async def test_workers_hear_of_it(self, harness: Harness) -> None:
        _, hints = await harness.watch(Topic.READY)

        await harness.call(partial(harness.backend.enqueue, command=BY_ADA), [call()])

        await eventually(lambda: mentions(hints, Topic.READY))
