"""The console as an ASGI application to mount. seed:O6, V25"""

from __future__ import annotations

import httpx
import pytest

from taskq import TaskQ
from taskq.errors import ConfigurationError
from taskq.web import MountedConsole, Role, asgi
from taskq.web.mounting import below, excluding, placed, prefix_of


@pytest.fixture
def taskq() -> TaskQ:
    return TaskQ("memory://")


def client_of(console: MountedConsole, root_path: str = "") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(console, root_path=root_path)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


async def test_nothing_is_opened_before_the_first_request(taskq: TaskQ) -> None:
    """The lifespan of a mounted application never runs."""
    console = asgi(taskq, allow_anonymous=Role.VIEWER)
    assert not taskq.client.is_open
    async with client_of(console, "/site/taskq") as client:
        assert (await client.get("/site/taskq/health")).status_code == 200
        assert not taskq.client.is_open
        assert (await client.get("/site/taskq/api/stats")).status_code == 200
    assert taskq.client.is_open
    await console.aclose()
    await taskq.aclose()


async def test_a_closed_console_opens_again_at_the_next_request(taskq: TaskQ) -> None:
    console = asgi(taskq, allow_anonymous=Role.VIEWER)
    async with client_of(console) as client:
        for _ in range(2):
            assert (await client.get("/api/stats")).status_code == 200
            await console.aclose()
    await taskq.aclose()


async def test_a_lifespan_that_does_run_closes_the_console(taskq: TaskQ) -> None:
    console = asgi(taskq, allow_anonymous=Role.VIEWER)
    subscription = console.console.hub.subscribe()
    told = iter(["lifespan.startup", "lifespan.shutdown"])
    said: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": next(told)}

    async def send(message: dict[str, str]) -> None:
        said.append(message["type"])

    await console({"type": "lifespan"}, receive, send)
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert console.console.hub.streams == 0
    subscription.close()
    await taskq.aclose()


async def test_a_read_only_console_has_no_commands_and_one_without_a_page_none(
    taskq: TaskQ,
) -> None:
    """threat:T21"""
    console = asgi(taskq, read_only=True, api_only=True, allow_anonymous=Role.ADMIN)
    async with client_of(console) as client:
        assert (await client.get("/api/stats")).status_code == 200
        assert (await client.get("/")).status_code == 404
        own = {"origin": "http://127.0.0.1"}
        refused = await client.post("/api/enqueue", json={}, headers=own)
        assert refused.json()["code"] == "read_only"
    await taskq.aclose()


def test_a_console_that_nobody_could_use_is_no_application(taskq: TaskQ) -> None:
    """threat:T1"""
    with pytest.raises(ConfigurationError, match="allow_anonymous=Role"):
        asgi(taskq)


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("", "/ops/api", ("/ops", "/ops/api")),
        ("", "/api", ("/ops", "/ops/api")),
        ("", "/ops", ("/ops", "/ops")),
        ("", "/", ("/ops", "/ops/")),
        ("", "/opsy", ("/ops", "/ops/opsy")),
        ("/site", "/site/ops/api", ("/site/ops", "/site/ops/api")),
        ("/site", "/api", ("/site/ops", "/site/ops/api")),
    ],
)
def test_a_request_is_placed_below_the_base_path(
    root: str, path: str, expected: tuple[str, str]
) -> None:
    scope = placed({"type": "http", "root_path": root, "path": path}, "/ops")
    assert (scope["root_path"], scope["path"]) == expected


def test_a_path_is_below_another_at_a_slash_only() -> None:
    assert below("/ops", "/ops") and below("/ops/x", "/ops") and not below("/opsy", "/ops")


def test_a_prefix_has_no_slash_at_its_end() -> None:
    assert [prefix_of("path", path) for path in ("/", "/a/", "/a/b")] == ["", "/a", "/a/b"]


def test_patterns_to_exclude_are_added_to_those_of_the_host() -> None:
    assert excluding("c", None) == ["c"]
    assert excluding("c", "a") == ["a", "c"]
    assert excluding("c", ["a", "b"]) == ["a", "b", "c"]
