"""Tasks for processes of a worker's own that wait, found here by name."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from types import FrameType

import anyio

from taskq import ActivityFuture, TaskQ, as_completed, gather

app = TaskQ("memory://")


@app.activity
async def double(value: int) -> int:
    return value * 2


@app.activity(max_retries=0)
async def fail() -> int:
    raise ValueError("no")


def never() -> ActivityFuture[int]:
    """What does not end while the test runs."""
    return double.schedule(3600, 1)


async def move_on(future: ActivityFuture[int]) -> None:
    with anyio.move_on_after(0.1):
        await future


async def move_on_from_many(future: ActivityFuture[int]) -> None:
    with anyio.move_on_after(0.1):
        await gather(future, never())


async def give_up(future: ActivityFuture[int]) -> None:
    try:
        await asyncio.wait_for(future, 0.1)
    except TimeoutError:
        return


def interrupted(future: ActivityFuture[int]) -> None:
    """A wait that a signal handler's exception ends."""

    def on_alarm(_number: int, _frame: FrameType | None) -> None:
        raise InterruptedError

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        future.result()
    except InterruptedError:
        return


WAYS: dict[str, Callable[[ActivityFuture[int]], Awaitable[None]]] = {
    "move_on": move_on,
    "move_on_from_many": move_on_from_many,
    "give_up": give_up,
}


@app.activity(run_in="process", timeout=0.5, max_retries=0, retry_on_timeout=False)
def abandon_a_wait(how: str) -> str:
    """Ends a wait by itself, then runs for longer than its timeout."""
    if how == "interrupted":
        interrupted(never())
    else:
        asyncio.run(_abandoned(WAYS[how]))
    time.sleep(3)
    return "ran on"


async def _abandoned(way: Callable[[ActivityFuture[int]], Awaitable[None]]) -> None:
    await way(never())


@app.activity(run_in="process", timeout=20)
def gather_some() -> list[int]:
    async def gathered() -> list[int]:
        return list(await gather(*[await double.adelay(n) for n in range(40)]))

    return asyncio.run(gathered())


@app.activity(run_in="process", timeout=20)
def take_as_completed() -> list[int]:
    """Its loop is cut short in the middle, and goes on later."""

    async def taken() -> list[int]:
        late = double.schedule(0.4, 3)
        futures = as_completed([await double.adelay(1), await double.adelay(2), late])
        results = [await (await anext(futures)), await (await anext(futures))]
        with anyio.move_on_after(0.05):
            await anext(futures)
        return sorted([*results, *[await future async for future in futures]])

    return asyncio.run(taken())


@app.activity(run_in="process", timeout=20)
def gather_a_failure() -> str:
    async def gathered() -> str:
        first, second = await gather(fail.delay(), double.delay(1), return_exceptions=True)
        return f"{type(first).__name__} {second}"

    return asyncio.run(gathered())
