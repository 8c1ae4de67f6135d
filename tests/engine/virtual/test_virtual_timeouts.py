"""Timeouts and cancels of async handlers, in virtual time."""

from __future__ import annotations

import random

import anyio
import pytest

from taskq import events
from taskq.context import Context, current
from taskq.model import ErrorKind, Policy, Status
from tests.engine.world import World, until


async def test_an_attempt_past_its_timeout_is_stopped_to_the_millisecond(world: World) -> None:
    """seed:Q4"""

    stopped: list[float] = []

    async def slow() -> None:
        began = anyio.current_time()
        try:
            await anyio.sleep(1000)
        finally:
            stopped.append(round(anyio.current_time() - began, 6))

    world.on("slow", slow)
    id = await world.submit("slow", timeout=0.123, max_retries=0)
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert stopped == [0.123]
    assert info.status is Status.DEAD_LETTER
    assert info.error is not None
    assert (info.error.kind, info.error.type) == (ErrorKind.TIMEOUT, "TimeoutError")
    assert "0.123 s" in info.error.message
    assert "await anyio.sleep(1000)" in info.error.traceback


async def test_a_timeout_is_retried_unless_the_policy_says_otherwise(world: World) -> None:
    """seed:R10."""

    async def slow() -> None:
        await anyio.sleep(10)

    world.on("slow", slow)
    retried = await world.submit("slow", timeout=1.0)
    ended = await world.submit("slow", timeout=1.0, policy=Policy(retry_on_timeout=False))
    async with world.running(world.engine()):
        await until(lambda: bool(world.seen(events.Retrying)))
        info = await world.ended(ended)

        assert info.status is Status.FAILED
        assert (await world.info(retried)).retry_count == 1


async def test_without_a_timeout_it_may_run_as_long_as_it_likes(world: World) -> None:
    async def slow() -> str:
        await anyio.sleep(1200)
        return "done"

    world.on("slow", slow)
    id = await world.submit("slow", timeout=None)
    async with world.running(world.engine()):
        info = await world.ended(id, within=1500)

    assert (info.status, info.crash_count) == (Status.COMPLETED, 0)


async def test_a_value_that_comes_although_the_time_was_up_is_kept(world: World) -> None:
    """seed:R11, seed:W32."""

    async def stubborn() -> str:
        try:
            await anyio.sleep(10)
        except anyio.get_cancelled_exc_class():
            return "all the same"
        return "never"

    world.on("stubborn", stubborn)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("stubborn", timeout=1.0))

    assert (info.status, info.result) == (Status.COMPLETED, '"all the same"')


async def test_another_error_while_it_is_being_stopped_counts_as_the_timeout(world: World) -> None:
    async def messy() -> None:
        try:
            await anyio.sleep(10)
        finally:
            raise ValueError("while cleaning up")

    world.on("messy", messy)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("messy", timeout=1.0, max_retries=0))

    assert info.error is not None and info.error.kind is ErrorKind.TIMEOUT


async def test_the_context_says_that_a_timed_out_attempt_was_told_to_stop(world: World) -> None:
    contexts: list[Context] = []

    async def slow() -> None:
        contexts.append(current())
        await anyio.sleep(10)

    world.on("slow", slow)
    async with world.running(world.engine()):
        await world.ended(await world.submit("slow", timeout=1.0, max_retries=0))

    assert [context.cancelled for context in contexts] == [True]


async def test_success_and_timeout_that_race_give_exactly_one_of_the_two(world: World) -> None:
    """fault:C12: around the deadline there is always an outcome, and it is the right one."""
    dice = random.Random(3)
    finished: set[str] = set()

    async def racer(name: str, pause: float) -> str:
        await anyio.sleep(pause)
        finished.add(name)
        return name

    world.on("racer", racer)
    ids = {}
    for number in range(800):
        pause = 1.0 + dice.choice([-0.001, -0.0001, 0.0, 0.0001, 0.001])
        payload = f'{{"name":"{number}","pause":{pause}}}'
        ids[str(number)] = await world.submit("racer", payload, timeout=1.0, max_retries=0)
    await world.engine(burst=True, concurrency=200).run()

    for name, id in ids.items():
        wanted = Status.COMPLETED if name in finished else Status.DEAD_LETTER
        assert await world.status(id) is wanted


async def test_a_cancelled_running_activity_is_stopped_by_the_hint(world: World) -> None:
    """promise:G10."""

    async def slow() -> None:
        await anyio.sleep(1000)

    world.on("slow", slow)
    id = await world.submit("slow", timeout=None)
    async with world.running(world.engine()):
        await world.reaches(id, Status.PROCESSING)
        await until(lambda: bool(world.seen(events.Started)))
        asked = anyio.current_time()
        await world.memory.cancel([id])
        info = await world.ended(id)

        assert info.status is Status.CANCELLED
        assert anyio.current_time() - asked < 0.1
    assert len(world.seen(events.Cancelled)) == 1


async def test_without_hints_a_cancel_comes_with_a_renewal(world: World) -> None:
    async def slow() -> None:
        await anyio.sleep(1000)

    world.on("slow", slow)
    store = world.view()
    store.hang("watch")
    id = await world.submit("slow", timeout=None)
    async with world.running(world.engine(store)):
        await until(lambda: bool(world.seen(events.Started)))
        await world.memory.cancel([id])
        info = await world.ended(id, within=25)

    assert info.status is Status.CANCELLED


async def test_a_failure_after_an_accepted_cancel_is_no_retry(world: World) -> None:
    """promise:G10: whatever the attempt says, it does not start again."""

    async def slow() -> None:
        await anyio.sleep(5)
        raise ValueError("never mind")

    world.on("slow", slow)
    store = world.view()
    store.hang("watch")
    id = await world.submit("slow")
    async with world.running(world.engine(store)):
        await until(lambda: bool(world.seen(events.Started)))
        await world.memory.cancel([id])
        info = await world.ended(id)

    assert info.status is Status.CANCELLED


async def test_a_handler_that_finishes_in_spite_of_a_cancel_keeps_its_result(world: World) -> None:
    async def stubborn() -> str:
        try:
            await anyio.sleep(1000)
        except anyio.get_cancelled_exc_class():
            return "done"
        return "never"

    world.on("stubborn", stubborn)
    id = await world.submit("stubborn")
    async with world.running(world.engine()):
        await until(lambda: bool(world.seen(events.Started)))
        await world.memory.cancel([id])
        info = await world.ended(id)

    assert (info.status, info.result) == (Status.COMPLETED, '"done"')


async def test_hints_without_ids_are_asked_about_at_most_four_times_a_second(world: World) -> None:
    from taskq.backends import Hint, Topic

    async def slow() -> None:
        await anyio.sleep(1000)

    world.on("slow", slow)
    store = world.view()
    listeners = []
    watch = world.memory.watch

    async def spying(topics: object, listener: object) -> object:
        listeners.append(listener)
        return await watch(topics, listener)  # type: ignore[arg-type]

    world.memory.watch = spying  # type: ignore[method-assign, assignment]
    id = await world.submit("slow", timeout=None)
    async with world.running(world.engine(store), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        (listener,) = listeners
        for _ in range(100):
            listener(Hint(Topic.CANCEL))
            await anyio.sleep(0.01)
        assert 3 <= store.calls["cancel_requests"] <= 5

        world.memory._watches.clear()
        await world.memory.cancel([id])
        listener(Hint(Topic.CANCEL))
        info = await world.ended(id, within=1)
        assert info.status is Status.CANCELLED

        asked = store.calls["cancel_requests"]
        listener(Hint(Topic.CANCEL))
        await anyio.sleep(1)
        assert store.calls["cancel_requests"] == asked, "nothing is held, nothing is asked"


@pytest.mark.parametrize("count", [1, 5])
async def test_cancels_of_what_waits_for_a_slot_are_recorded_without_running_it(
    world: World, count: int
) -> None:
    ran: list[int] = []

    async def slow() -> None:
        ran.append(1)
        await anyio.sleep(10)

    world.on("slow", slow)
    first = await world.submit("slow")
    async with world.running(world.engine(concurrency=1, claim_ahead=count)):
        await until(lambda: bool(ran))
        waiting = await world.submit_many("slow", count)
        for id in waiting:
            await world.reaches(id, Status.PROCESSING)
        await world.memory.cancel(waiting)
        await world.ended(first, within=20)
        for id in waiting:
            assert (await world.ended(id)).status is Status.CANCELLED
    assert ran == [1]
    assert len(world.seen(events.Cancelled)) == count
