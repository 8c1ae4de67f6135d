"""The console's own server, on a socket in this process."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import anyio
import httpx
import pytest

from taskq import TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.bridge import Doorbell, serve_in_thread
from taskq.clock import SystemClock
from taskq.errors import ConfigurationError
from taskq.snapshot import Stats
from taskq.web import Console, ConsoleOptions, MountedConsole
from taskq.web.serving import GRACE, WebServer, listening
from tests.faulty import FaultyBackend
from tests.web.conftest import TOKENS
from tests.web.socket_server import running, sign_in

VIEWER = {"authorization": f"Bearer {TOKENS['viewer']}"}


def server_of(taskq: TaskQ, *, api_only: bool = False, **options: str) -> WebServer:
    console = Console(taskq, ConsoleOptions(api_only=api_only))
    return WebServer(MountedConsole(console), listening("127.0.0.1", 0), **options)


@pytest.fixture
def taskq() -> TaskQ:
    return TaskQ("memory://", web_tokens={"viewer": f"viewer:{TOKENS['viewer']}"})


def test_without_a_page_the_link_is_to_be_posted() -> None:
    server = server_of(TaskQ("memory://"), api_only=True)
    where, _, proof = server.entrance.partition(", for one POST of ")
    with running(server) as client:
        assert where == f"{server.url}api/session"
        assert sign_in(client, "", json.loads(proof)).status_code == 200


@pytest.mark.parametrize("asked", ["/ops/api/stats", "/api/stats"])
def test_a_proxy_may_leave_the_base_path_or_take_it_away(taskq: TaskQ, asked: str) -> None:
    server = server_of(taskq, base_path="/ops")
    assert server.url.endswith("/ops/") and server.entrance == server.url
    with running(server) as client:
        root = server.url.removesuffix("/ops/")
        assert client.get(f"{root}{asked}", headers=VIEWER).status_code == 200
        assert client.get(f"{root}/opsapi/stats", headers=VIEWER).status_code == 404


def test_a_session_is_for_the_base_path_alone(taskq: TaskQ) -> None:
    with running(server_of(taskq, base_path="/ops")) as client:
        answer = sign_in(client, "", {"token": TOKENS["viewer"]})
        assert answer.status_code == 200
        assert "Path=/ops;" in answer.headers["set-cookie"]
        assert client.get("api/stats").status_code == 200


def test_what_a_proxy_is_said_to_have_seen_is_not_believed(taskq: TaskQ) -> None:
    """threat:T20"""
    forged = {"x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.1", **VIEWER}
    with running(server_of(taskq)) as client:
        client.headers.update(forged)
        answer = sign_in(client, "", {"token": TOKENS["viewer"]})
        assert "Secure" not in answer.headers["set-cookie"]
        assert "server" not in answer.headers


def test_without_accounts_a_link_logs_in_once() -> None:
    """threat:T1"""
    server = server_of(TaskQ("memory://"))
    root, _, link = server.entrance.partition("login#")
    assert root == server.url and len(link) > 20
    with running(server) as client:
        assert client.get("api/stats").status_code == 401
        assert sign_in(client, "", {"link": link}).json()["role"] == "admin"
        assert client.get("api/stats").status_code == 200
        assert sign_in(client, "", {"link": link}).status_code == 401


def test_open_streams_end_when_the_server_stops(taskq: TaskQ) -> None:
    server = server_of(taskq)
    with running(server) as client, client.stream("GET", "api/stream", headers=VIEWER) as stream:
        lines = stream.iter_lines()
        assert any(line == "event: hello" for line in lines)
        begun = time.monotonic()
        server.stop()
        for _ in lines:
            assert time.monotonic() - begun < GRACE
    assert time.monotonic() - begun < GRACE


class SlowStore(MemoryBackend):
    """One whose counts never come."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock())
        self.asked = Doorbell()

    async def stats(self, queues: object = (), *, cap: int = 0) -> Stats:
        self.asked.ring()
        await Doorbell().wait()
        raise AssertionError


def test_a_second_stop_does_not_wait_for_requests() -> None:
    store = SlowStore()
    taskq = TaskQ(backend=store, web_tokens={"viewer": f"viewer:{TOKENS['viewer']}"})
    server = server_of(taskq)
    serving = serve_in_thread(server.serve)

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
            assert (await client.get("api/stats", headers=VIEWER)).status_code == 500

    asking = serve_in_thread(ask)
    assert store.asked.wait_sync(5)
    server.stop()
    server.stop()
    serving.wait(GRACE - 1)
    asking.wait(5)


def test_nothing_is_served_on_a_base_path_that_is_none(taskq: TaskQ) -> None:
    with listening("127.0.0.1", 0) as listener:
        mounted = MountedConsole(Console(taskq, ConsoleOptions()))
        with pytest.raises(ConfigurationError, match="--base-path must be a path such as /taskq"):
            WebServer(mounted, listener, base_path="ops")


def test_tables_that_are_not_there_yet_are_an_answer_that_says_so(tmp_path: Path) -> None:
    """A console beside a worker may be asked before the worker has made them."""
    sqlite3.connect(tmp_path / "taskq.db").close()
    taskq = TaskQ(
        f"sqlite:///{tmp_path}/taskq.db", web_tokens={"viewer": f"viewer:{TOKENS['viewer']}"}
    )
    with running(server_of(taskq)) as client:
        answer = client.get("api/stats", headers=VIEWER)
    taskq.close()
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert "start a worker" in answer.json()["detail"]


def test_a_server_starts_though_the_database_is_away(caplog: pytest.LogCaptureFixture) -> None:
    store = FaultyBackend(MemoryBackend(clock=SystemClock()))
    store.fail("open", after=False, times=2)
    taskq = TaskQ(backend=store, web_tokens={"viewer": f"viewer:{TOKENS['viewer']}"})
    server = server_of(taskq)
    anyio.run(server.open)
    assert "the console waits for its database" in caplog.text
    with running(server) as client:
        assert client.get("api/stats", headers=VIEWER).status_code == 503
        assert client.get("api/stats", headers=VIEWER).status_code == 200
