"""Listens for the hints of other processes, on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from taskq.backends import Hint, Topic
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.channels import hint
from taskq.backends.sql.postgres.connections import connect, part
from taskq.backends.sql.postgres.driver import BROKEN, Raw
from taskq.backends.sql.postgres.hearing import hears, pooled
from taskq.bridge import forks
from taskq.logs import deaf

CHECK: Final = 5.0
"""Seconds between two looks whether the session still listens."""
FIRST_PAUSE: Final = 0.1
LAST_PAUSE: Final = 10.0
DEAF_PAUSE: Final = 60.0
"""Seconds until the next try where LISTEN is in vain; meanwhile everything is found by polling."""
PATIENCE: Final = 5.0
"""Seconds that a new watch waits for the session to listen; it goes on without, and polls."""


class Listener:
    """Keeps one session that listens to the channels of the topics that are wanted.

    ``wanted`` says which; ``tell`` gets the hints of others. A session that broke, or that no
    longer listens although its connection holds (bug:B145), is replaced with backoff, and then one
    hint with ``ids=None`` per topic tells that some may have been missed. Behind a pooler that
    lends sessions for a transaction it gives up, says so, and tries again from time to time.
    """

    def __init__(
        self,
        address: Address,
        *,
        channels: Mapping[Topic, str],
        token: str,
        wanted: Callable[[], Collection[Topic]],
        tell: Callable[[Hint], None],
    ) -> None:
        self._address = address
        self._channels = channels
        self._token = token
        self._wanted = wanted
        self._tell = tell
        self._check = CHECK
        self._task: asyncio.Task[None] | None = None
        self._raw: Raw | None = None
        self._listens: frozenset[Topic] = frozenset()
        self._deaf = False
        self._heard = {topic: partial(self._hear, topic) for topic in Topic}
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()

    async def update(self) -> None:
        """The wanted topics are others now: return when they are listened to, or it is in vain."""
        if self._task is None or self._task.done():
            self._changed, self._settled = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._live(), name="taskq-listen")
        if self._deaf or frozenset(self._wanted()) <= self._listens:
            return
        self._settled.clear()
        self._changed.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._settled.wait()

    async def close(self) -> None:
        """Listen no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def forget(self) -> None:
        """After a fork: leave the parent's session as it is."""
        if self._raw is not None:
            forks.keep_open(self._raw)
        self._raw = self._task = None
        self._listens = frozenset()

    async def _live(self) -> None:
        pause, missed = FIRST_PAUSE, False
        while True:
            try:
                raw = await connect(self._address)
            except BROKEN:
                self._settled.set()
            else:
                self._raw = raw
                began = asyncio.get_running_loop().time()
                try:
                    if await self._works(raw):
                        await self._listen(raw, missed)
                except BROKEN:
                    self._settled.set()
                finally:
                    self._raw, self._listens = None, frozenset()
                    await part(raw)
                if asyncio.get_running_loop().time() - began > self._check:
                    pause = FIRST_PAUSE
            missed = True
            await asyncio.sleep(DEAF_PAUSE if self._deaf else pause)
            pause = min(LAST_PAUSE, pause * 2)

    async def _works(self, raw: Raw) -> bool:
        """Whether to listen there is of any use."""
        was = self._deaf
        async with asyncio.timeout(PATIENCE * 2):
            self._deaf = await pooled(raw) and not await hears(raw, self._address)
        if self._deaf:
            self._settled.set()
            if not was:
                deaf(self._address.location)
        return not self._deaf

    async def _listen(self, raw: Raw, missed: bool) -> None:
        """Until the session no longer does what it should."""
        raw.add_termination_listener(self._ended)
        while not raw.is_closed():
            self._changed.clear()
            wanted = frozenset(self._wanted())
            for topic in wanted - self._listens:
                await raw.add_listener(self._channels[topic], self._heard[topic])
            for topic in self._listens - wanted:
                await raw.remove_listener(self._channels[topic], self._heard[topic])
            self._listens = wanted
            self._settled.set()
            if missed:
                missed = False
                for topic in wanted:
                    self._tell(Hint(topic))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._check):  # wait_for would swallow a cancel (3.11)
                    await self._changed.wait()
                continue
            if not await self._still(raw):
                return

    def _ended(self, _: object) -> None:
        self._changed.set()

    async def _still(self, raw: Raw) -> bool:
        """Whether this session listens to what it was told to."""
        rows = await raw.fetch("SELECT pg_listening_channels()", timeout=self._check)
        return {self._channels[topic] for topic in self._listens} <= {row[0] for row in rows}

    def _hear(self, topic: Topic, _: Any, __: int, ___: str, payload: object) -> None:
        told = hint(topic, str(payload), self._token)
        if told is not None:
            self._tell(told)
