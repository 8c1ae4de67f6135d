"""asyncpg, as far as it is used here, with types: it has none of its own."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

_asyncpg: Any = importlib.import_module("asyncpg")

PostgresError: Final[type[Exception]] = _asyncpg.PostgresError
"""What the server answers; ``sqlstate`` names it."""
InterfaceError: Final[type[Exception]] = _asyncpg.InterfaceError
"""A connection that is closed or used wrongly."""
InternalClientError: Final[type[Exception]] = _asyncpg.InternalClientError
"""The protocol was not followed, or no server is of the kind that was asked for."""
DataError: Final[type[Exception]] = _asyncpg.DataError
"""A value that cannot be encoded (an InterfaceError)."""
ClientConfigurationError: Final[type[Exception]] = _asyncpg.ClientConfigurationError
"""Options of the URL that do not fit (an InterfaceError)."""
InvalidCachedStatementError: Final[type[Exception]] = _asyncpg.InvalidCachedStatementError
"""The tables changed under a prepared statement."""
ConnectionLost: Final[type[Exception]] = _asyncpg.ConnectionDoesNotExistError
"""The connection broke."""

BROKEN: Final = (OSError, PostgresError, InterfaceError, InternalClientError)
"""All that a call may raise when the database is not there."""


class Record(Protocol):
    """A row: its values in order, and by name or place."""

    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: str | int, /) -> Any: ...


class Raw(Protocol):
    """A connection of asyncpg. For one task at a time (bug:B157)."""

    async def fetch(self, query: str, *values: object, timeout: float | None = None) -> Any:
        """Run one statement; its rows."""
        ...

    async def execute(self, query: str) -> object:
        """Run statements without values."""
        ...

    def transaction(self, *, isolation: str) -> AbstractAsyncContextManager[None]:
        """A transaction around what is done inside."""
        ...

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None:
        """LISTEN."""
        ...

    async def remove_listener(self, channel: str, callback: Callable[..., None]) -> None:
        """UNLISTEN, after the last one."""
        ...

    def add_termination_listener(self, callback: Callable[..., None]) -> None:
        """Call back when the connection has ended."""
        ...

    async def close(self, *, timeout: float) -> None:
        """End it, and what it is doing."""
        ...

    def terminate(self) -> None:
        """Drop it."""
        ...

    def get_server_pid(self) -> int:
        """The session's process as it was told at the start; a pooler tells a number of its own."""
        ...

    def is_closed(self) -> bool:
        """Whether it has ended."""
        ...

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...


Records = Sequence[Record]

_MOMENT: Final = 0.1
"""Seconds that a cancelled connect has to come to an end, or to a place where it can be ended."""
_DEAD_AFTER: Final = 60
"""Seconds after which a peer that went without a word counts as dead; asyncpg sets nothing."""
_KEEPALIVE: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPALIVE": 30,  # macOS has this name for the same
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": _DEAD_AFTER * 1000,
}
"""By the name in ``socket``; a system has some of them. The server's side is not ours to set: a
pooler refuses the parameters for it."""

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


async def connect(dsn: str, *, timeout: float, prepared: bool) -> Raw:
    """A new connection. Raises ``BROKEN``. ``prepared``: statements are kept by name.

    A peer that is gone without a word (a host without power, a firewall that forgot) is noticed
    within about a minute, also where nothing is being asked: the connection that listens never asks
    for long. An instant that is none for Python (year 20000, infinity) is read as None: one such
    row would make a whole answer unreadable.
    """
    opening: asyncio.Future[Any] = asyncio.ensure_future(
        _asyncpg.connect(
            dsn,
            timeout=timeout,
            statement_cache_size=200 if prepared else 0,
            max_cacheable_statement_size=0,
        )
    )
    try:
        await asyncio.wait({opening})
    except asyncio.CancelledError:
        await _abandon(opening)
        raise
    connection = opening.result()
    try:
        await connection.set_type_codec(
            "timestamptz", schema="pg_catalog", encoder=_stored, decoder=_instant, format="tuple"
        )
        _keep_alive(connection._transport.get_extra_info("socket"))
    except BaseException:  # cancelled too: no socket stays open
        connection.terminate()
        raise
    raw: Raw = connection
    return raw


def _stored(instant: datetime) -> tuple[int]:
    if instant.tzinfo is None:
        raise ValueError(f"an instant must be aware, not {instant!r}")
    return ((instant - _EPOCH) // _MICROSECOND,)


def _instant(stored: tuple[int]) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=stored[0])
    except OverflowError:
        return None


async def _abandon(opening: asyncio.Future[Any]) -> None:
    """End a connect that nobody waits for; what it has opened is dropped.

    Not at once: asyncpg, cancelled just after the network has connected, leaves a future behind
    whose error the event loop then prints.
    """
    opening.add_done_callback(_drop)
    try:
        await asyncio.wait({opening}, timeout=_MOMENT)
    finally:
        opening.cancel()
    await asyncio.wait({opening})


def _drop(opened: asyncio.Future[Any]) -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().terminate()


def _keep_alive(connected: socket.socket) -> None:
    if connected.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        option: int | None = getattr(socket, name, None)
        if option is not None:
            connected.setsockopt(socket.IPPROTO_TCP, option, value)
