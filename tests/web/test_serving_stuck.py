"""Clients that stop in the middle: they cost the server of a console nothing for long. threat:T8"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions, MountedConsole, serving
from taskq.web.serving import WebServer, listening
from taskq.web.tending import LOOKS, Tending
from tests.web.socket_server import running


class Cycle:
    def __init__(self, *, done: bool) -> None:
        self.response_complete = done


class Socket:
    """A connection, and its own transport."""

    def __init__(self, left: int = 0, cycle: Cycle | None = None) -> None:
        self.left, self.cycle, self.aborted = left, cycle, False
        self.transport = self

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.aborted = True


def busy(_: Socket) -> None:
    """Nothing changes."""


def reads(each: Socket) -> None:
    each.left -= 1


def reads_all_and_gets_more(each: Socket) -> None:
    each.left = 0 if each.left else 100


def asks_again(each: Socket) -> None:
    each.cycle = Cycle(done=True)


@pytest.mark.parametrize(
    ("each", "turn", "aborted"),
    [
        (Socket(100, Cycle(done=False)), busy, True),
        (Socket(100, Cycle(done=True)), busy, True),
        (Socket(100, Cycle(done=False)), reads, False),
        (Socket(100, Cycle(done=False)), reads_all_and_gets_more, False),
        (Socket(0, Cycle(done=False)), busy, False),
        (Socket(0, None), busy, True),
        (Socket(0, Cycle(done=True)), busy, True),
        (Socket(0, Cycle(done=True)), asks_again, False),
    ],
)
def test_what_does_not_move_is_ended(
    each: Socket, turn: Callable[[Socket], None], aborted: bool
) -> None:
    """A stream that has nothing to send is no such thing: its request is not answered yet."""
    tended = Tending(lambda: [each])
    for _ in range(LOOKS + 2):
        tended.look()
        turn(each)
    assert each.aborted is aborted


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> WebServer:
    monkeypatch.setattr(serving, "Tending", partial(Tending, patience=0.2))
    console = Console(TaskQ("memory://"), ConsoleOptions())
    listener = listening("127.0.0.1", 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return WebServer(MountedConsole(console), listener)


def test_half_a_request_is_not_waited_for(server: WebServer) -> None:
    with running(server) as client:
        address = (client.base_url.host, client.base_url.port)
        with closing(socket.create_connection(address, timeout=5)) as half:
            half.sendall(b"GET /health HTTP/1.1\r\nHost: 127")
            assert half.recv(1) == b""
        assert client.get("/health").status_code == 200


def test_who_does_not_read_is_cut_off(server: WebServer) -> None:
    """So that the server stops at once, too."""
    asked = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100
    with running(server) as client:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.settimeout(10)
        with closing(deaf):
            deaf.connect((client.base_url.host, client.base_url.port))
            with pytest.raises(ConnectionError):
                while True:
                    deaf.sendall(asked)
        assert client.get("/health").status_code == 200
