"""A way to PostgreSQL on which replies get lost: after the server has done what it was asked."""

from __future__ import annotations

import asyncio
import re
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections import Counter, deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from tests.chaos.wire import (
    Conversation,
    asks_for_encryption,
    first_message,
    next_message,
)

T = TypeVar("T")

BROKEN: Final = (OSError, IncompleteReadError)

DEEDS: Final = {
    "settle": re.compile(r"UPDATE taskq_activities SET status=CASE WHEN held\.instead"),
    "claim_overdue": re.compile(r"^WITH expired AS"),
    "claim": re.compile(r"UPDATE taskq_activities SET status='processing'"),
    "heartbeat": re.compile(r"INSERT INTO taskq_workers"),
    "held": re.compile(r"^SELECT taskq_activities\.id, taskq_activities\.claim,"),
    "cancel": re.compile(
        r"^UPDATE taskq_activities SET (status=\$1::VARCHAR, error=|cancel_requested_at=)"
    ),
    "hand_back": re.compile(r"^UPDATE taskq_activities SET status=\$1"),
    "submit": re.compile(r"INSERT INTO (taskq_activities|taskq_keys)"),
}
"""How the statements of each of the backend's methods are known."""

TIMEOUT: Final = 10.0
"""Seconds within which its own thread does what it is told."""


def deed_of(sql: str) -> str | None:
    """The method of the backend that a statement belongs to."""
    return next((name for name, pattern in DEEDS.items() if pattern.search(sql)), None)


class Proxy:
    """Takes connections on a port of this machine and hands them on to the server of a URL.

    ``cuts`` counts the connections that it cut, by what the client was doing.
    """

    def __init__(self, url: str) -> None:
        self.cuts: Counter[str] = Counter()
        self._parts = urlsplit(url)
        self._faults: dict[str, deque[bool]] = {name: deque() for name in DEEDS}
        self._open: set[StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusing = False
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._run(self._listen())
        self._port = int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The server's URL, by this way."""
        user = f"{self._parts.username}@" if self._parts.username else ""
        return urlunsplit(self._parts._replace(netloc=f"{user}127.0.0.1:{self._port}"))

    def lose(self, deed: str, *, times: int = 1, before: bool = False) -> None:
        """Cut the next ``times`` connections that do ``deed``: when the server has committed it,
        before the client hears of it. ``before``: before the server hears of it."""
        self._faults[deed].extend([before] * times)

    def mend(self) -> None:
        """Forget what is still to come."""
        for faults in self._faults.values():
            faults.clear()

    def pending(self, deed: str) -> int:
        """How many of these are still to come."""
        return len(self._faults[deed])

    def cut_all(self) -> int:
        """Cut every connection now, whatever it does; how many."""
        return self._run(self._cut_all())

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Inside, nobody gets through: every connection is cut, and so is each new one."""
        self._refusing = True
        try:
            self.cut_all()
            yield
        finally:
            self._refusing = False

    def close(self) -> None:
        """End it and every connection."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _cut_all(self) -> int:
        writers = list(self._open)
        for writer in writers:
            writer.transport.abort()
        return len(writers) // 2

    async def _end(self) -> None:
        self._server.close()
        await self._cut_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, coroutine: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writers = [writer]
        try:
            if self._refusing:
                return
            host, port = self._parts.hostname or "127.0.0.1", self._parts.port or 5432
            server, to_server = await asyncio.open_connection(host, port)
            writers.append(to_server)
            self._open.update(writers)
            await self._hand_on(reader, to_server, server, writer)
        except BROKEN:
            pass  # one side has gone, and so does the other
        finally:
            for each in writers:
                each.transport.abort()
            self._open.difference_update(writers)
            self._tasks.discard(task)

    async def _hand_on(
        self,
        client: StreamReader,
        to_server: StreamWriter,
        server: StreamReader,
        to_client: StreamWriter,
    ) -> None:
        """Until either side ends, or its reply is to be lost."""
        while asks_for_encryption(message := await first_message(client)):
            to_server.write(message.whole)
            to_client.write(await server.readexactly(1))
        to_server.write(message.whole)
        conversation = Conversation(deed_of)
        pumps = [
            asyncio.ensure_future(self._requests(conversation, client, to_server)),
            asyncio.ensure_future(self._replies(conversation, server, to_client)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _requests(
        self, conversation: Conversation, client: StreamReader, to_server: StreamWriter
    ) -> None:
        while True:
            message = await next_message(client)
            if conversation.sent(message) and self._lost(conversation.doing, before=True):
                return
            to_server.write(message.whole)
            await to_server.drain()

    async def _replies(
        self, conversation: Conversation, server: StreamReader, to_client: StreamWriter
    ) -> None:
        """A client takes nothing for done before it hears that its server is ready again."""
        while True:
            message = await next_message(server)
            if self._lost(conversation.ended(message), before=False):
                return
            to_client.write(message.whole)
            await to_client.drain()

    def _lost(self, deed: str | None, *, before: bool) -> bool:
        """Whether the fault that is due strikes here."""
        if deed is None or not (faults := self._faults[deed]) or faults[0] is not before:
            return False
        faults.popleft()
        self.cuts[deed] += 1
        return True
