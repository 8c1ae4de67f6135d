"""A lane: never more than one thread and one resource, and no error that leaves callers waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest

from taskq.bridge import ResidentBridge
from taskq.bridge.lane import Lane


class Resource:
    """Tells when two threads use it, and when it is used after its end."""

    opened: ClassVar[list[Resource]] = []

    def __init__(self) -> None:
        self.closed = False
        Resource.opened.append(self)

    def close(self) -> None:
        self.closed = True


class Odd(Exception):
    """Spoils the resource."""


@pytest.fixture
def lane() -> Iterator[Lane[Resource]]:
    Resource.opened = []
    yield Lane("lane-under-test", open=Resource, close=Resource.close, spoils=Odd)
    assert all(resource.closed for resource in Resource.opened)


def spoil(resource: object) -> None:
    raise Odd


def identity(resource: Resource) -> tuple[int, Resource, bool]:
    return threading.get_ident(), resource, resource.closed


def test_what_is_asked_for_during_a_close_waits_for_it(
    lane: Lane[Resource], bridge: ResidentBridge
) -> None:
    """A second thread on the same connection took the whole process down."""
    began, go_on = threading.Event(), threading.Event()

    def slow(resource: Resource) -> tuple[int, Resource, bool]:
        began.set()
        assert go_on.wait(10)
        return identity(resource)

    async def together() -> list[tuple[int, Resource, bool]]:
        first = asyncio.create_task(lane.run(slow))
        assert await asyncio.to_thread(began.wait, 10)
        closing = asyncio.create_task(lane.close())
        await asyncio.sleep(0)
        second = asyncio.create_task(lane.run(identity))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        answers = [await first, await second]
        await closing
        await lane.close()
        return answers

    (thread, resource, closed), (other, another, closed_too) = bridge.call_sync(together)

    assert (thread, closed, closed_too) == (other, False, False)
    assert resource.closed
    assert another is not resource


class Stubborn(Resource):
    """Cannot be closed."""

    def close(self) -> None:
        super().close()
        raise SystemExit("cannot close")


@pytest.fixture
def stubborn() -> Lane[Stubborn]:
    Resource.opened = []
    return Lane("lane-under-test", open=Stubborn, close=Stubborn.close, spoils=Odd)


def test_a_resource_that_cannot_be_closed_leaves_nobody_waiting(
    stubborn: Lane[Stubborn], bridge: ResidentBridge
) -> None:
    with pytest.raises(Odd) as caught:
        bridge.call_sync(stubborn.run, spoil, deadline=5.0)

    assert "cannot close" in caught.value.__notes__[0]
    _, fresh, _ = bridge.call_sync(stubborn.run, identity, deadline=5.0)
    assert fresh is Resource.opened[1]


class Broken(Resource):
    """Says so when it is closed."""

    def close(self) -> None:
        super().close()
        raise OSError("cannot close")


def test_a_close_that_fails_says_so_and_the_lane_begins_anew(bridge: ResidentBridge) -> None:
    lane = Lane("lane-under-test", open=Broken, close=Broken.close, spoils=Odd)
    bridge.call_sync(lane.run, identity)

    with pytest.raises(OSError, match="cannot close"):
        bridge.call_sync(lane.close, deadline=5.0)

    bridge.call_sync(lane.close, deadline=5.0)
    assert not bridge.call_sync(lane.run, identity, deadline=5.0)[2]


@pytest.mark.parametrize("before", ["never used", "in use", "closed", "closing"])
def test_nothing_is_open_between_hold_and_resume(
    lane: Lane[Resource], bridge: ResidentBridge, before: str
) -> None:
    """fault:A11: a connection opened before the fork after all would be shared with the child."""
    blocked, go_on = threading.Event(), threading.Event()

    def block(resource: Resource) -> None:
        blocked.set()
        assert go_on.wait(10)

    if before != "never used":
        bridge.call_sync(lane.run, identity)
    if before == "closed":
        bridge.call_sync(lane.close)
    if before == "closing":
        bridge.spawn(lane.run, block)
        assert blocked.wait(10)
        bridge.spawn(lane.close)

    async def hold() -> threading.Event:
        return lane.hold()

    gone = bridge.call_sync(hold)
    assert gone.is_set() or before in ("in use", "closing")
    later: list[object] = []

    async def run() -> None:
        later.append(await lane.run(identity))

    bridge.spawn(run)
    go_on.set()
    assert gone.wait(5)
    assert all(resource.closed for resource in Resource.opened)
    opened = len(Resource.opened)
    bridge.call_sync(asyncio.sleep, 0.05)
    assert (len(Resource.opened), later) == (opened, [])

    lane.resume()

    bridge.call_sync(lane.run, identity, deadline=5.0)
    assert len(later) == 1
    bridge.call_sync(lane.close)


def test_a_thread_that_lost_its_resource_before_the_fork_says_so_at_once(
    lane: Lane[Resource], bridge: ResidentBridge
) -> None:
    """Otherwise it waits for the fork, and the fork for it."""
    began, go_on = threading.Event(), threading.Event()

    def block_and_spoil(resource: Resource) -> None:
        began.set()
        assert go_on.wait(10)
        raise Odd

    async def spoiled() -> None:
        with pytest.raises(Odd):
            await lane.run(block_and_spoil)

    bridge.spawn(spoiled)
    assert began.wait(10)
    bridge.spawn(lane.run, identity)
    bridge.call_sync(asyncio.sleep, 0.01)

    gone = lane.hold()
    go_on.set()

    assert gone.wait(2)
    assert Resource.opened[0].closed
    lane.resume()
    bridge.call_sync(lane.run, identity, deadline=5.0)
    bridge.call_sync(lane.close)
