"""The app that ``taskq demo`` runs: a small, varied workload."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.to_thread import run_sync

from taskq.app import TaskQ
from taskq.context import current
from taskq.model import DeadLetter, Status
from taskq.retry import RetryPolicy
from taskq.settings import Settings

DATABASE = "sqlite:///demo.db"
KEPT = 900.0
"""Seconds for which what has ended is kept."""


@asynccontextmanager
async def attended(_: TaskQ) -> AsyncGenerator[None]:
    """Stops the worker when the demo closes the worker's standard input, or is gone."""
    async with anyio.create_task_group() as group:
        group.start_soon(_stop_at_end_of_input)
        yield
        group.cancel_scope.cancel()


async def _stop_at_end_of_input() -> None:
    await run_sync(sys.stdin.buffer.read, abandon_on_cancel=True)
    os.kill(os.getpid(), signal.SIGTERM)


def build(url: str = DATABASE) -> TaskQ:
    """The app on this database; by default in the current folder. No environment counts."""
    kept = {status: KEPT for status in Status if status.terminal}
    settings = Settings(database_url=url, queue="demo", retention=kept)
    taskq = TaskQ(settings=settings, lifespan=attended)
    soon = RetryPolicy(initial_delay=0.2, jitter=0.0)

    @taskq.activity
    async def greet(name: str) -> str:
        """An everyday activity."""
        await anyio.sleep(0.15)
        return f"hello {name}"

    @taskq.activity
    async def remind(what: str) -> str:
        """Enqueued now, run later."""
        return f"remembered to {what}"

    @taskq.activity(retry=soon)
    async def flaky(city: str) -> str:
        """Fails twice, then succeeds."""
        if current().attempt < 3:
            raise ConnectionError(f"the weather service for {city} hung up")
        return f"sunny in {city}, at attempt {current().attempt}"

    def lament(dead: DeadLetter) -> None:
        """What runs when ``doomed`` is dead-lettered: an activity of its own."""
        print(f"gave up on {dead.type}: {dead.error.message}")

    @taskq.activity(retry=soon, max_retries=1, on_dead_letter=lament)
    async def doomed(order: int) -> None:
        """Fails until its retries are exhausted."""
        raise RuntimeError(f"the printer ate order {order}")

    @taskq.activity
    def checksum(text: str) -> str:
        """A sync handler: runs in a thread."""
        return hashlib.pbkdf2_hmac("sha256", text.encode(), b"demo", 100_000, 6).hex()

    @taskq.activity
    async def count_words(text: str) -> int:
        """A child."""
        return len(text.split())

    @taskq.activity
    async def report(texts: list[str]) -> int:
        """A parent: enqueues children and awaits them."""
        counts = [await count_words.adelay(text) for text in texts]
        return sum([await count for count in counts])

    @taskq.activity
    async def charge(order: int) -> str:
        """Called twice with one idempotency key, run once."""
        return f"charged order {order}"

    return taskq
