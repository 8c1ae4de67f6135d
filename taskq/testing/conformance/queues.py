"""Pauses, what a claim leaves out, and how queues and types fare."""

from __future__ import annotations

from functools import partial

from taskq.audit import Command
from taskq.backends import Topic
from taskq.identifiers import new_id
from taskq.model import Priority, Status
from taskq.pausing import Kind, Load, Pause
from taskq.testing.conformance.harness import Harness, eventually, ids, near
from taskq.testing.conformance.samples import DAY, beat, call, child, worker

BY_ADA = Command(actor="ada", reason="provider is down")


async def pause(
    harness: Harness, name: str, kind: Kind = Kind.QUEUE, command: Command = BY_ADA
) -> bool:
    """Pause it."""
    return await harness.call(partial(harness.backend.pause, command=command), kind, name)


async def resume(
    harness: Harness, name: str, kind: Kind = Kind.QUEUE, command: Command = BY_ADA
) -> bool:
    """End its pause."""
    return await harness.call(partial(harness.backend.resume, command=command), kind, name)


async def loads(harness: Harness, kind: Kind, *, cap: int = 100) -> dict[str, Load]:
    """How they fare, by name."""
    found = await harness.call(partial(harness.backend.loads, cap=cap), kind)
    assert [load.name for load in found] == sorted(load.name for load in found)
    return {load.name: load for load in found}


class PauseTests:
    """What is paused is written down once, and told."""

    async def test_a_pause_says_since_when_by_whom_and_why(self, harness: Harness) -> None:
        assert await harness.call(harness.backend.pauses) == []

        assert await pause(harness, "mail")
        assert await pause(harness, "send", Kind.TYPE, Command(actor="bob"))

        queue, type = await harness.call(harness.backend.pauses)
        assert near(queue.since, await harness.now())
        assert queue == Pause(
            kind=Kind.QUEUE, name="mail", since=queue.since, by="ada", reason="provider is down"
        )
        assert (type.kind, type.name, type.by, type.reason) == (Kind.TYPE, "send", "bob", "")

    async def test_a_second_pause_changes_nothing_and_a_resume_ends_it(
        self, harness: Harness
    ) -> None:
        await pause(harness, "mail")
        before = await harness.call(harness.backend.pauses)

        assert not await pause(harness, "mail", command=Command(actor="bob"))
        assert not await resume(harness, "mail", Kind.TYPE)
        assert await harness.call(harness.backend.pauses) == before
        found = await harness.call(harness.backend.audit)
        assert [entry.detail.get("unchanged") for entry in found] == [["mail"], ["mail"], None]

        assert await resume(harness, "mail")
        assert not await resume(harness, "mail")
        assert await harness.call(harness.backend.pauses) == []

    async def test_pauses_are_in_the_record_and_a_repeated_command_is_done_once(
        self, harness: Harness
    ) -> None:
        first = Command(actor="ada", reason="provider is down", id=new_id())
        assert await pause(harness, "mail", command=first)
        assert await resume(harness, "mail", command=Command(actor="bob"))
        assert not await pause(harness, "mail", command=first)

        assert await harness.call(harness.backend.pauses) == []
        found = await harness.call(harness.backend.audit)
        assert [(entry.actor, entry.action, entry.target) for entry in found] == [
            ("bob", "queue.resume", "mail"),
            ("ada", "queue.pause", "mail"),
        ]
        assert found[1].reason == "provider is down"

    async def test_watchers_are_told_of_a_pause_and_of_its_end(self, harness: Harness) -> None:
        watch, hints = await harness.watch(Topic.CONTROL)

        await pause(harness, "mail")
        await eventually(lambda: Topic.CONTROL in {hint.topic for hint in hints})
        hints.clear()
        await resume(harness, "mail")

        await eventually(lambda: Topic.CONTROL in {hint.topic for hint in hints})
        await harness.call(watch.close)

    async def test_a_claim_of_every_type_leaves_out_those_that_it_is_told(
        self, harness: Harness
    ) -> None:
        """Also of children and of those that are to be isolated."""
        parent = await harness.running(call("parent"))
        send, keep = child(parent, "send"), child(parent, "keep", queue="other")
        alone = call("send", max_crashes=1)
        await harness.submit(send, keep, alone)

        both = ("default", "other")
        assert await harness.claim(new_id(), without=("send",)) == []
        assert await harness.claim(new_id(), without=("send",), limit=1, alone=True) == []
        assert await harness.claim(new_id(), without=("send", "keep"), queues=both) == []
        found = await harness.claim(new_id(), without=("send",), queues=both, children=True)

        assert ids(found) == [keep.id]
        assert ids(await harness.claim(new_id(), without=("parent",), queues=both)) == [send.id]

    async def test_queues_show_their_pause_their_counts_and_their_workers(
        self, harness: Harness
    ) -> None:
        await harness.bring(call(), Status.COMPLETED)
        first = call(queue="mail", priority=Priority.LOW)
        await harness.submit(first, call(queue="mail", delay=DAY))
        await harness.advance(30)
        await harness.submit(call(queue="mail", priority=Priority.HIGH))
        await harness.call(harness.backend.heartbeat, beat(worker(queues=("mail", "idle"))))
        await pause(harness, "mail")
        await pause(harness, "unused")

        found = await loads(harness, Kind.QUEUE)

        assert list(found) == ["default", "idle", "mail", "unused"]
        mail = found["mail"]
        assert mail.paused is not None and mail.paused.by == "ada"
        assert (mail.waiting, mail.workers, mail.cap) == (3, 1, 100)
        assert {status: count for status, count in mail.by_status.items() if count} == {
            Status.PENDING: 2,
            Status.SCHEDULED: 1,
        }
        assert mail.oldest_pending is not None and 29 < mail.oldest_pending < 45
        assert found["default"].by_status[Status.COMPLETED] == 1
        assert (found["default"].paused, found["default"].oldest_pending) == (None, None)
        assert (found["idle"].waiting, found["idle"].workers) == (0, 1)
        assert found["unused"].paused is not None and found["unused"].workers == 0

    async def test_types_show_what_has_not_ended_wherever_it_is(self, harness: Harness) -> None:
        await harness.bring(call("done"), Status.COMPLETED)
        await harness.running(call("send"))
        more = [call("send", queue=queue) for queue in ("mail", "mail", "other")]
        await harness.submit(*more, call("later", delay=DAY))
        await harness.call(harness.backend.heartbeat, beat(worker(types=("send",))))
        await pause(harness, "unused", Kind.TYPE)

        found = await loads(harness, Kind.TYPE)
        capped = await loads(harness, Kind.TYPE, cap=2)

        assert list(found) == ["later", "send", "unused"]
        send = found["send"]
        assert send.by_status == {
            Status.PENDING: 3,
            Status.SCHEDULED: 0,
            Status.PROCESSING: 1,
            Status.RETRYING: 0,
        }
        assert (send.workers, send.paused) == (1, None)
        assert [(line.queue, line.pending) for line in send.lines] == [("mail", 2), ("other", 1)]
        assert max(line.oldest for line in send.lines) == send.oldest_pending
        assert found["later"].by_status[Status.SCHEDULED] == 1
        assert found["unused"].paused is not None
        assert capped["send"].by_status[Status.PENDING] == 2
