"""Sends hints to other processes, not more often than they can be of use (design 7.8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from taskq.backends import Topic
from taskq.backends.changes import Changes
from taskq.backends.sql.postgres.channels import Message, messages
from taskq.errors import BackendError

INTERVAL: Final = 0.03
"""Seconds between two sendings to one channel, at the most."""
RESTS: Final = 3
"""How many times as long as a sending took its channel then rests, if that is less."""


class Notifier:
    """The first hint goes out at once, with the statement that caused it where there is one; what
    follows is gathered while the channel rests. The last one is always sent.

    All commits that notify wait for each other. So a channel rests after each sending for several
    times as long as that took: callers who wait for one result after the other are never held up,
    and where many processes send, each does so less often. Until it is known how long it took, the
    channel rests for ``INTERVAL``.

    ``send`` sends messages in a transaction of its own; its BackendErrors are dropped, since a hint
    may be lost. On one event loop.
    """

    def __init__(
        self,
        channels: Mapping[Topic, str],
        token: str,
        send: Callable[[Sequence[Message]], Awaitable[None]],
    ) -> None:
        self._channels = channels
        self._token = token
        self._send = send
        self._waiting: dict[Topic, set[UUID]] = {}
        self._free_at: dict[Topic, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._closed = False

    @contextmanager
    def carried(self, changes: Changes) -> Generator[list[Message]]:
        """Around the statement that makes these changes; gives what it must send itself.

        The rest is sent after it, since before its commit nobody finds what is announced; also when
        it failed, since it may have been done, and a needless hint is harmless.
        """
        began = asyncio.get_running_loop().time()
        hints = [*changes.hints()]
        taken = [hint for hint in hints if self._free_at.get(hint.topic, 0.0) <= began]
        for hint in taken:
            self._free_at[hint.topic] = began + INTERVAL
        try:
            yield [message for hint in taken for message in self._messages(hint.topic, hint.ids)]
            took = asyncio.get_running_loop().time() - began
            for hint in taken:
                self._rest(hint.topic, took)
        finally:
            for hint in hints:
                if hint not in taken:
                    self._add(hint.topic, hint.ids or frozenset())

    def post(self, changes: Changes) -> None:
        """Send what has changed, soon."""
        for hint in changes.hints():
            self._add(hint.topic, hint.ids or frozenset())

    async def close(self) -> None:
        """Send what is still waiting, and nothing more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is not None:
            await asyncio.wait([self._sending])
        if self._waiting:
            await self._flush()

    def _messages(self, topic: Topic, ids: Collection[UUID] | None) -> list[Message]:
        return messages(self._channels[topic], self._token, ids or ())

    def _add(self, topic: Topic, ids: frozenset[UUID]) -> None:
        if self._closed:
            return
        self._waiting.setdefault(topic, set()).update(ids)
        self._start_by(self._free_at.get(topic, 0.0))

    def _rest(self, topic: Topic, took: float) -> None:
        """A sending to its channel has just ended that took so many seconds."""
        now = asyncio.get_running_loop().time()
        self._free_at[topic] = now + min(INTERVAL, RESTS * took)
        if topic in self._waiting:
            self._start_by(self._free_at[topic])

    def _start_by(self, time: float) -> None:
        loop = asyncio.get_running_loop()
        at = max(loop.time(), time)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._start)

    def _start(self) -> None:
        self._timer = None
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(
                self._flush(), name="taskq-notify"
            )
        else:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._start)

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        began = asyncio.get_running_loop().time()
        sent: list[Message] = []
        for topic, ids in waiting.items():
            self._free_at[topic] = began + INTERVAL
            sent += self._messages(topic, ids)
        try:
            await self._send(sent)
        except BackendError:
            return
        took = asyncio.get_running_loop().time() - began
        for topic in waiting:
            self._rest(topic, took)
