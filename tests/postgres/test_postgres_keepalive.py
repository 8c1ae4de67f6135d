"""A peer that is gone without a word is noticed: the system asks after it."""

from __future__ import annotations

import socket

import pytest

from taskq.backends import Topic
from taskq.backends.sql.postgres import driver
from taskq.backends.sql.postgres.connections import Connections, Session
from taskq.bridge import ResidentBridge
from tests.postgres.conftest import MakeBackend

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the names of Linux"
)


def options(raw: driver.Raw) -> list[int]:
    connected = raw._transport.get_extra_info("socket")
    names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
    tcp = [connected.getsockopt(socket.IPPROTO_TCP, name) for name in names]
    return [connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *tcp]


def test_every_connection_is_asked_after(make_backend: MakeBackend, bridge: ResidentBridge) -> None:
    """fault:DB19: the one that listens above all, which waits for hours without asking anything."""
    backend = make_backend()
    bridge.call_sync(backend.watch, [Topic.READY], lambda _: None)
    bridge.call_sync(backend.stats)

    async def look(connections: Connections) -> list[int]:
        async def ask(session: Session) -> list[int]:
            return options(session.raw)

        return await connections.transact(ask)

    async def reader() -> list[int]:
        async with backend._facade._pool.engine.connect() as connection:
            return options((await connection.get_raw_connection()).driver_connection)

    expected = [1, 30, 10, 3, 60_000]
    assert bridge.call_sync(look, backend._callers) == expected
    assert bridge.call_sync(look, backend._engine) == expected
    assert bridge.call_sync(reader) == expected
    assert options(backend._hints._listener._raw) == expected


def test_a_socket_in_the_file_system_needs_none() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        driver._keep_alive(ours)

        assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0


def test_the_options_of_libpq_for_this_are_understood(
    make_backend: MakeBackend, postgres_url: str
) -> None:
    """A URL that psycopg takes; the server would refuse them as settings."""
    make_backend(f"{postgres_url}?keepalives=1&keepalives_idle=20&keepalives_count=2")
