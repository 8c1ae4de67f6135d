"""The hub: one look at the store for all who listen. seed:O4"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import anyio
import pytest
from anyio.abc import TaskGroup
from msgspec.structs import replace

from taskq import TaskQ
from taskq.audit import Command
from taskq.backends import Hint, ProgressReport, Topic
from taskq.backends.memory import MemoryBackend
from taskq.backends.memory.watches import MemoryWatch
from taskq.pausing import Kind
from taskq.progress import progress_of
from taskq.web import Console, ConsoleOptions, Role
from taskq.web.application import application
from taskq.web.live.broadcast import BOUNDS
from taskq.web.live.event import Form
from tests.faulty import FaultyBackend
from tests.web.listening import FAST, Listener, hurried, listening, until
from tests.web.stage import NO, Stage, at_once


class House:
    """A console on a store that can fail, its hub in a hurry."""

    def __init__(self) -> None:
        self.faulty = FaultyBackend(MemoryBackend())
        self.stage = Stage(self.faulty.inner)
        self.app = TaskQ(backend=self.faulty)
        self.console = Console(self.app, ConsoleOptions(allow_anonymous=Role.ADMIN))
        self.hub = hurried(self.console)
        self.asgi = application(self.console)

    def say(self, hint: Hint) -> None:
        """A hint, as other processes send them."""
        for watch in self.watches:
            watch.tell(hint)

    @contextmanager
    def silence(self) -> Generator[None]:
        """Meanwhile hints are lost."""
        watches = self.faulty.inner._watches
        kept = dict(watches)
        watches.clear()
        yield
        watches.update(kept)

    @property
    def watches(self) -> list[MemoryWatch]:
        """Those that are open."""
        return [*self.faulty.inner._watches.values()]

    async def until_idle(self) -> None:
        await until(lambda: not self.hub.running)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House()
    async with house.app:
        yield house
        await house.hub.aclose()


async def leave(*listeners: Listener) -> None:
    for each in listeners:
        each.leave()
    for each in listeners:
        await each.until_ended()


async def test_what_happens_is_told_in_its_order(house: House) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        [id] = house.stage.add(source="shop")
        await listener.until(lambda: len(listener.whats) == 1)
        house.stage.run(outcome=NO)
        await listener.until(lambda: len(listener.whats) == 3)
        await leave(listener)
    assert listener.whats == [(str(id), what) for what in ("enqueued", "started", "failed")]
    last = listener.of("activity")[-1]
    assert last["detail"] == "ValueError: no such customer"
    assert (last["type"], last["queue"], last["status"]) == ("work", "default", "failed")
    assert last["root_id"] == str(id) and last["parent_id"] is None and last["worker"]


async def test_the_first_event_says_where_the_stream_begins(house: House) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await leave(listener)
    event, id, data = listener.events[0]
    assert event == "hello" and data == {"id": id}


async def test_neither_payload_nor_result_is_on_the_stream(house: House) -> None:
    """threat:T14"""
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.stage.add(payload='{"to":"canary"}', metadata='{"key":"canary"}')
        house.stage.run()
        await listener.until(lambda: len(listener.whats) == 3)
        await leave(listener)
    assert b"canary" not in listener.body and b"secret result" not in listener.body


async def test_progress_is_told_though_nothing_hints_at_it(house: House) -> None:
    house.stage.add()
    [attempt] = house.stage.start()
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        said = progress_of(3, 12, "reading", at=house.app.clock.now())
        report = ProgressReport(attempt.lease, said)
        at_once(house.stage.store.report_progress(attempt.worker, [report]))
        await listener.until(lambda: listener.of("activity"))
        await leave(listener)
    [told] = listener.of("activity")
    assert told["what"] == "progress"
    assert told["progress"] == {"done": 3.0, "total": 12.0, "percent": 25.0, "note": "reading"}


@pytest.mark.parametrize("named", [True, False])
async def test_what_ends_is_found_by_its_hint(house: House, named: bool) -> None:
    house.hub = hurried(house.console, replace(FAST, thorough=3600.0))
    id, *_ = house.stage.add(300)
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await until(lambda: house.faulty.calls["list"] > 10)
        if named:
            house.stage.cancel([id])
        else:
            with house.silence():
                house.stage.cancel([id])
            house.say(Hint(Topic.DONE))
        await listener.until(lambda: listener.whats == [(str(id), "cancelled")])
        await leave(listener)
    await house.hub.aclose()


async def test_a_hint_at_which_the_store_was_away_is_heeded_later(house: House) -> None:
    """fault:I31"""
    house.hub = hurried(house.console, replace(FAST, thorough=3600.0))
    id, *_ = house.stage.add(300)
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await until(lambda: house.faulty.calls["list"] > 10)
        house.faulty.fail("get", after=False)
        house.stage.cancel([id])
        await listener.until(lambda: listener.whats == [(str(id), "cancelled")])
        await leave(listener)
    await house.hub.aclose()


async def test_pauses_that_change_are_told_and_no_others(house: House) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        command = Command(actor="ada")
        at_once(house.stage.store.pause(Kind.QUEUE, "mail", command=command))
        await listener.until(lambda: listener.of("control"))
        house.say(Hint(Topic.CONTROL))
        house.stage.add()
        await listener.until(lambda: listener.of("activity"))
        await leave(listener)
    [told] = listener.of("control")
    assert [(each["kind"], each["name"]) for each in told["pauses"]] == [("queue", "mail")]


async def test_the_numbers_are_told_when_they_change(house: House) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.stage.add(2)
        await listener.until(lambda: listener.of("stats")[-1:] and _pending(listener) == 2)
        told = len(listener.of("stats"))
        asked = house.faulty.calls["stats"]
        await until(lambda: house.faulty.calls["stats"] >= asked + 3)
        assert len(listener.of("stats")) == told
        await leave(listener)


def _pending(listener: Listener) -> int:
    count: int = listener.of("stats")[-1]["by_status"]["pending"]
    return count


async def _pair(group: TaskGroup, house: House) -> tuple[Listener, Listener]:
    return await listening(group, house.asgi), await listening(group, house.asgi)


async def test_all_who_listen_share_one_watch_and_its_looks(house: House) -> None:
    async with anyio.create_task_group() as group:
        one, other = await _pair(group, house)
        house.stage.add()
        await one.until(lambda: one.whats)
        await other.until(lambda: other.whats)
        assert house.faulty.calls["watch"] == 1
        assert house.hub.streams == 2
        await leave(one, other)
    assert one.of("activity") == other.of("activity")
    assert house.hub.streams == 0


async def test_the_watch_ends_when_nobody_listens_and_the_next_one_begins_a_new_epoch(
    house: House,
) -> None:
    async with anyio.create_task_group() as group:
        assert not house.hub.running
        first = await listening(group, house.asgi)
        assert house.hub.running
        await leave(first)
        await house.until_idle()
        id = first.events[0][1]
        assert id is not None
        second = await listening(group, house.asgi, headers={"last-event-id": id})
        await leave(second)
    assert second.events[0][0] == "reset"
    assert second.events[0][1] != id


async def test_one_who_comes_soon_goes_on_where_it_was(house: House) -> None:
    async with anyio.create_task_group() as group:
        stays = await listening(group, house.asgi)
        leaves = await listening(group, house.asgi)
        await leave(leaves)
        id = leaves.events[-1][1] or leaves.events[0][1]
        assert id is not None
        ids = [str(id) for id in house.stage.add(3)]
        await stays.until(lambda: len(stays.whats) == 3)
        again = await listening(group, house.asgi, headers={"last-event-id": id})
        await again.until(lambda: len(again.whats) == 3)
        late = await listening(group, house.asgi, query=f"after={again.events[1][1]}")
        await late.until(lambda: len(late.whats) == 2)
        await leave(stays, again, late)
    assert again.events[0][0] == "hello" and again.events[0][1] == id
    assert again.whats == stays.whats == [(id, "enqueued") for id in ids]
    assert late.whats == again.whats[1:]


@pytest.mark.parametrize("id", ["nonsense", "00000000-1", "-", "%00"])
async def test_an_id_that_is_not_of_this_epoch_is_a_reset(house: House, id: str) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi, query=f"after={id}")
        house.stage.add()
        await listener.until(lambda: listener.whats)
        await leave(listener)
    assert [event for event, _, _ in listener.events if event != "stats"] == ["reset", "activity"]


async def test_a_store_that_is_away_is_told_and_what_happened_meanwhile_after_it(
    house: House,
) -> None:
    """fault:I31"""
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.faulty.fail("list", after=False, times=1_000_000)
        [id] = house.stage.add()
        await listener.until(lambda: listener.of("stale"))
        house.stage.run()
        assert not listener.whats
        new = await listening(group, house.asgi)
        house.faulty.mend()
        await listener.until(lambda: len(listener.whats) == 3 and listener.of("live"))
        await new.until(lambda: new.of("live"))
        await leave(listener, new)
    assert listener.whats == [(str(id), what) for what in ("enqueued", "started", "completed")]
    assert [event for event, _, _ in new.events][:2] == ["hello", "stale"]
    assert len(listener.of("stale")) == len(listener.of("live")) == 1


async def test_a_store_that_is_away_from_the_start_is_told(house: House) -> None:
    """fault:I31"""
    house.faulty.fail("watch", after=False, times=5)
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await listener.until(lambda: listener.of("live"))
        house.stage.add()
        await listener.until(lambda: listener.whats)
        await leave(listener)
    assert [event for event, _, _ in listener.events][:3] == ["hello", "stale", "live"]


async def test_a_failure_of_our_own_ends_the_streams_and_the_next_one_begins_anew(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.faulty.fail("list", after=False, error=ZeroDivisionError)
        await listener.until_ended()
        assert "stream broke off" in caplog.text
        again = await listening(group, house.asgi)
        house.stage.add()
        await again.until(lambda: again.whats)
        await leave(again)
    assert house.hub.streams == 0


async def test_where_no_thread_begins_the_next_one_begins_anew(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr("taskq.web.live.hub.serve_in_thread", refuse)
        house.hub.subscribe()
    assert not house.hub.running and house.hub.streams == 0
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await leave(listener)
    assert listener.events[0][0] == "hello"


async def test_more_than_a_look_reads_is_a_gap(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T8"""
    bounds = replace(BOUNDS, page=2, pages=2)
    monkeypatch.setattr("taskq.web.live.broadcast.BOUNDS", bounds)
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.stage.add(50)
        await listener.until(lambda: len(listener.whats) >= 4)
        await leave(listener)
    assert listener.of("gap") == [{"reason": "burst", "missed": None}]
    told = [event for event, _, _ in listener.events if event in ("gap", "activity")]
    assert told == ["gap", *["activity"] * 4]


async def test_what_moved_in_a_backlog_that_cannot_be_followed_is_a_gap(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T8"""
    bounds = replace(BOUNDS, page=2, pages=2)
    monkeypatch.setattr("taskq.web.live.broadcast.BOUNDS", bounds)
    house.stage.add(50)
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        house.say(Hint(Topic.DONE))
        await listener.until(lambda: listener.of("gap"))
        await leave(listener)
    assert listener.of("gap")[0] == {"reason": "backlog", "missed": None}


async def test_one_who_does_not_read_is_told_what_it_missed_and_no_other_notices(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T8"""
    monkeypatch.setattr("taskq.web.live.broadcast.RING", 5)
    async with anyio.create_task_group() as group:
        fast = await listening(group, house.asgi)
        slow = house.hub.subscribe()
        assert slow.take()[0].event.kind == "hello"
        for count in range(1, 13):
            house.stage.add()
            await fast.until(lambda count=count: len(fast.whats) == count)
        taken = [each for each in slow.take() if each.event.kind != "stats"]
        slow.close()
        await leave(fast)
    assert [each.event.kind for each in taken] == ["gap"] + ["activity"] * 5
    assert taken[0].event.written(Form.FULL) == b'{"reason":"slow","missed":7}'
    assert not fast.of("gap")


async def test_of_more_than_one_wants_at_once_it_is_told_that_they_are_missing(
    house: House,
) -> None:
    """threat:T8: what is paused, and that the store was lost, it is told all the same."""
    async with anyio.create_task_group() as group:
        fast = await listening(group, house.asgi)
        busy = house.hub.subscribe(most=3)
        busy.take()
        for count in range(1, 5):
            house.stage.add()
            await fast.until(lambda count=count: len(fast.whats) == count)
        command = Command(actor="ada")
        at_once(house.stage.store.pause(Kind.QUEUE, "mail", command=command))
        await fast.until(lambda: fast.of("control"))
        taken = [each for each in busy.take() if each.event.kind != "stats"]
        house.stage.add()
        await fast.until(lambda: len(fast.whats) == 5)
        later = [each for each in busy.take() if each.event.kind != "stats"]
        busy.close()
        await leave(fast)
    assert [each.event.kind for each in taken] == ["gap", "control"]
    assert taken[0].event.written(Form.FULL) == b'{"reason":"many","missed":4}'
    assert [each.event.kind for each in later] == ["activity"]
    assert not fast.of("gap")


async def test_closed_all_streams_end_at_once_and_the_store_is_watched_no_more(
    house: House,
) -> None:
    async with anyio.create_task_group() as group:
        reads = await listening(group, house.asgi)
        stuck = Listener(house.asgi, reads=False)
        group.start_soon(stuck.run)
        await stuck.until(lambda: house.hub.streams == 2)
        began = anyio.current_time()
        house.hub.close()
        await reads.until_ended()
        await stuck.until_ended()
        assert anyio.current_time() - began < 1.0
        await house.hub.aclose()
    assert not house.hub.running and house.hub.streams == 0
    assert house.watches == []


async def test_an_app_that_is_closed_ends_its_streams_and_stays_closed(house: House) -> None:
    house.hub = hurried(house.console, replace(FAST, rest=0.2))  # nothing is asked at the end
    async with anyio.create_task_group() as group:
        listener = await listening(group, house.asgi)
        await house.app.aclose()
        await listener.until_ended()
        await house.hub.aclose()
    assert not house.hub.running and not house.app.client.is_open
    assert house.faulty.calls["open"] == 1


async def test_closed_it_begins_anew_with_the_next_one(house: House) -> None:
    async with anyio.create_task_group() as group:
        first = await listening(group, house.asgi)
        await house.hub.aclose()
        await first.until_ended()
        second = await listening(group, house.asgi)
        house.stage.add()
        await second.until(lambda: second.whats)
        await leave(second)
    assert first.events[0][1] != second.events[0][1]


FORKING = """
import os, threading, time
from taskq import TaskQ
from taskq.web import Console, ConsoleOptions, Role

app = TaskQ("memory://")

@app.activity
def greet(): ...

def begun(subscription):
    end = time.monotonic() + 10
    while not (taken := subscription.take()) and time.monotonic() < end:
        subscription.bell.wait_sync(0.1)
    return taken[0].event.kind if taken else None

console = Console(app, ConsoleOptions(allow_anonymous=Role.ADMIN))
assert begun(console.hub.subscribe()) == "hello"
child = os.fork()
if child == 0:
    clean = not console.hub.running and not console.hub.streams and threading.active_count() == 1
    greet.delay()
    os._exit(0 if clean and begun(console.hub.subscribe()) == "hello" else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert console.hub.running and console.hub.streams == 1
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_begins_anew() -> None:
    # Python 3.12 warns at every fork of a process that has threads: that is the point here.
    strict = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")
    ended = subprocess.run(
        [sys.executable, *strict, "-c", FORKING], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
