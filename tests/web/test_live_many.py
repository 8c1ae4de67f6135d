"""A hundred who want to listen at the same time, some of whom do not behave. seed:B16"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream

from taskq import TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.bridge import serve_in_thread
from taskq.web import Console, ConsoleOptions, Role
from taskq.web.application import application
from taskq.web.live.hub import STREAMS, Hub
from taskq.web.live.subscription import BATCH
from tests.faulty import FaultyBackend
from tests.web.listening import PATIENCE, Listener, hurried, listening, until
from tests.web.stage import Stage

ATTEMPTS = 100
EVENTS = 300


class Crowd:
    """A console whose store counts what is asked of it."""

    def __init__(self) -> None:
        self.faulty = FaultyBackend(MemoryBackend())
        self.stage = Stage(self.faulty.inner)
        self.app = TaskQ(backend=self.faulty)
        self.console = Console(self.app, ConsoleOptions(allow_anonymous=Role.ADMIN))
        self.hub: Hub = hurried(self.console)
        self.asgi = application(self.console)


@pytest.fixture
async def crowd() -> AsyncIterator[Crowd]:
    crowd = Crowd()
    async with crowd.app:
        yield crowd
        await crowd.hub.aclose()


async def test_of_a_hundred_sixty_four_listen_and_no_slot_is_lost(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed:O4, threat:T8. 30 of them never read, 30 leave before the first event, 4 stay."""
    monkeypatch.setattr("taskq.web.live.broadcast.RING", 100)
    hub = crowd.hub
    async with anyio.create_task_group() as group:
        stays = [await listening(group, crowd.asgi) for _ in range(4)]
        stuck = [Listener(crowd.asgi, reads=False) for _ in range(30)]
        hasty = [Listener(crowd.asgi, reads=False) for _ in range(30)]
        for each in (*stuck, *hasty):
            group.start_soon(each.run)
        await until(lambda: hub.streams == STREAMS)

        refused = [Listener(crowd.asgi) for _ in range(ATTEMPTS - STREAMS)]
        for each in refused:
            with anyio.fail_after(PATIENCE):
                await each.run()
            assert each.status == 503
            assert json.loads(each.body)["code"] == "too_many_streams"
            assert int(each.headers["retry-after"]) > 0
        for each in hasty:
            each.leave()
        await until(lambda: hub.streams == 34)

        for count in range(1, EVENTS // 10 + 1):
            crowd.stage.add(10)
            await stays[0].until(lambda count=count: len(stays[0].whats) == count * 10)
        for each in stays:
            await each.until(lambda each=each: len(each.whats) == EVENTS)
        assert [each.of("gap") for each in stays] == [[]] * 4
        assert len({tuple(each.whats) for each in stays}) == 1
        assert [each.body for each in stuck] == [b""] * 30
        assert kept(hub) == 100
        assert crowd.faulty.calls["watch"] == 1

        for each in (*stays, *stuck):
            each.leave()
    assert hub.streams == 0


def kept(hub: Hub) -> int:
    """Events in memory: one ring, whoever listens."""
    return len(hub._broadcast.ring)


async def test_one_who_falls_behind_is_sent_so_much_at_a_time(crowd: Crowd) -> None:
    """threat:T8"""
    async with anyio.create_task_group() as group:
        stays = await listening(group, crowd.asgi)
        slow = crowd.hub.subscribe()
        slow.take()
        crowd.stage.add(EVENTS)
        await stays.until(lambda: len(stays.whats) == EVENTS)
        taken = [len([each for each in slow.take() if each.id]) for _ in range(4)]
        slow.close()
        stays.leave()
    assert taken == [BATCH, BATCH, BATCH, 0]


async def test_over_a_socket_each_slot_comes_back_whichever_way_a_client_leaves(
    crowd: Crowd, anyio_backend: str
) -> None:
    """seed:O4, threat:T8: with a server between."""
    if anyio_backend != "asyncio":
        pytest.skip("the server has a loop of its own, and is the same")
    with socket.create_server(("127.0.0.1", 0)) as listening_socket:
        config = uvicorn.Config(crowd.asgi, log_config=None, lifespan="off", access_log=False)
        server = uvicorn.Server(config)
        thread = serve_in_thread(server.serve, [listening_socket])
        port = listening_socket.getsockname()[1]
        try:
            await _visits(crowd, port)
        finally:
            server.should_exit = True
            crowd.hub.close()
            thread.wait(10)


async def _visits(crowd: Crowd, port: int) -> None:
    clients = [await _asked(port) for _ in range(STREAMS)]
    await until(lambda: crowd.hub.streams == STREAMS)
    async with await _asked(port) as refused:
        answer = await refused.receive()
    assert answer.startswith(b"HTTP/1.1 503") and b"retry-after" in answer.lower()
    stays, *others = clients
    for each in others[:30]:
        await each.aclose()
    await until(lambda: crowd.hub.streams == 34)
    [id] = crowd.stage.add()
    text = b""
    with anyio.fail_after(PATIENCE):
        while str(id).encode() not in text:
            text += await stays.receive()
    for each in (stays, *others[30:]):
        await each.aclose()
    await until(lambda: crowd.hub.streams == 0)


async def _asked(port: int) -> SocketStream:
    stream = await anyio.connect_tcp("127.0.0.1", port)
    await stream.send(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return stream
