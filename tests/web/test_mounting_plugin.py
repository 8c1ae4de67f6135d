"""The console as a plugin of a Litestar application. seed:O6"""

from __future__ import annotations

import anyio
import httpx
import pytest
from litestar import Litestar, Request, Response, get
from litestar.config.compression import CompressionConfig
from litestar.config.csrf import CSRFConfig
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, NotAuthorizedException
from litestar.plugins import CLIPlugin

from taskq import TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.clock import SystemClock
from taskq.errors import ConfigurationError
from taskq.web import Identity, Role, TaskQPlugin
from tests.faulty import FaultyBackend

ORIGIN = {"origin": "http://127.0.0.1"}


@get("/taskqs")
async def neighbour() -> str:
    """A route of the host whose path begins like the console's."""
    return "neighbours"


@get("/")
async def home() -> str:
    return "home"


def own_errors(_: Request, error: Exception) -> Response[str]:
    return Response(f"the host's own page: {error}", status_code=418)


def client_of(host: Litestar) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(host, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


@pytest.fixture
def taskq() -> TaskQ:
    return TaskQ("memory://")


def someone(connection: ASGIConnection) -> Identity | None:
    """The host knows people by a header."""
    name = connection.headers.get("x-user")
    return Identity(name, Role.OPERATOR) if name else None


async def test_the_console_is_at_its_path_and_nowhere_else(taskq: TaskQ) -> None:
    host = Litestar([home, neighbour], plugins=[TaskQPlugin(taskq, authenticate=someone)])
    async with host.lifespan(), client_of(host) as client:
        ada = {"x-user": "ada"}
        assert (await client.get("/taskq/api/stats", headers=ada)).status_code == 200
        assert (await client.get("/taskq/api/stats/", headers=ada)).status_code == 200
        assert (await client.get("/taskq")).headers["location"] == "taskq/"
        assert (await client.get("/taskq/")).headers["content-type"].startswith("text/html")
        assert (await client.get("/taskqs")).text == "neighbours"
        assert (await client.get("/taskqs/api/stats", headers=ada)).status_code == 404
        assert (await client.get("/api/stats", headers=ada)).status_code == 404
        assert (await client.get("/")).text == "home"


async def test_the_console_lies_below_the_root_path_of_its_host(taskq: TaskQ) -> None:
    host = Litestar([home], plugins=[TaskQPlugin(taskq, authenticate=someone)])
    transport = httpx.ASGITransport(host, root_path="/site")
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/site/taskq/api/stats", headers={"x-user": "ada"})
    assert answer.status_code == 200
    await taskq.aclose()


async def test_the_hosts_exception_handlers_do_not_answer_for_the_console(taskq: TaskQ) -> None:
    plugin = TaskQPlugin(taskq, authenticate=someone)
    handlers = {HTTPException: own_errors, Exception: own_errors}
    host = Litestar([home], plugins=[plugin], exception_handlers=handlers)
    async with host.lifespan(), client_of(host) as client:
        unknown = await client.get("/taskq/api/stats")
        assert (unknown.status_code, unknown.json()["code"]) == (401, "unauthenticated")
        assert (await client.get("/taskq/api/nothing")).json()["code"] == "not_found"
        assert (await client.get("/nothing")).status_code == 418


async def test_the_hosts_openapi_document_does_not_have_the_console(taskq: TaskQ) -> None:
    host = Litestar([home], plugins=[TaskQPlugin(taskq, authenticate=someone)])
    assert list(host.openapi_schema.paths or {}) == ["/"]


async def test_guards_of_the_host_come_before_the_console(taskq: TaskQ) -> None:
    async def from_inside(connection: ASGIConnection, _: object) -> None:
        if "x-inside" not in connection.headers:
            raise NotAuthorizedException("from inside only")

    plugin = TaskQPlugin(taskq, guards=[from_inside], allow_anonymous=Role.VIEWER)
    host = Litestar(plugins=[plugin])
    async with host.lifespan(), client_of(host) as client:
        assert (await client.get("/taskq/health")).status_code == 401
        inside = await client.get("/taskq/api/stats", headers={"x-inside": "1"})
        assert inside.status_code == 200


async def test_compression_and_csrf_tokens_of_the_host_leave_the_console_alone(
    taskq: TaskQ,
) -> None:
    """What is compressed would be held back, and a stream with it."""
    host = Litestar(
        [home],
        plugins=[TaskQPlugin(taskq, authenticate=someone)],
        compression_config=CompressionConfig("gzip", minimum_size=1, exclude="/health"),
        csrf_config=CSRFConfig(secret="a secret of the host, long enough"),
    )
    async with host.lifespan(), client_of(host) as client:
        assert (await client.get("/")).headers["content-encoding"] == "gzip"
        answer = await client.get("/taskq/api/stats", headers={"x-user": "ada"})
        assert "content-encoding" not in answer.headers
        command = await client.post("/taskq/api/session", json={"token": "no"}, headers=ORIGIN)
        assert command.json()["code"] == "unauthenticated"


async def test_a_worker_runs_with_the_application_and_stops_with_it(taskq: TaskQ) -> None:
    ran = anyio.Event()

    @taskq.activity
    async def greet() -> None:
        ran.set()

    plugin = TaskQPlugin(taskq, authenticate=someone, worker={"concurrency": 1})
    host = Litestar(plugins=[plugin])
    async with host.lifespan():
        future = await greet.adelay()
        with anyio.fail_after(5):
            await ran.wait()
            await future
        assert (await taskq.astats()).workers == 1
    assert not taskq.client.is_open


async def test_an_application_starts_though_the_database_is_away() -> None:
    store = FaultyBackend(MemoryBackend(clock=SystemClock()))
    store.fail("open", after=False, times=2)
    host = Litestar(plugins=[TaskQPlugin(TaskQ(backend=store), authenticate=someone)])
    async with host.lifespan(), client_of(host) as client:
        away = await client.get("/taskq/api/stats", headers={"x-user": "ada"})
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        assert (await client.get("/taskq/api/stats", headers={"x-user": "ada"})).status_code == 200


def test_a_console_that_nobody_could_use_is_refused(taskq: TaskQ) -> None:
    """threat:T1"""
    with pytest.raises(ConfigurationError, match="authenticate="):
        TaskQPlugin(taskq)


@pytest.mark.parametrize("path", ["taskq", "/a b", "/{name}", "//taskq", "/taskq?x"])
def test_a_path_that_is_none_is_refused(taskq: TaskQ, path: str) -> None:
    with pytest.raises(ConfigurationError, match="path must be a path such as /taskq"):
        TaskQPlugin(taskq, path, authenticate=someone)


def test_the_plugin_is_one_of_the_command_line_too(taskq: TaskQ) -> None:
    assert isinstance(TaskQPlugin(taskq, authenticate=someone), CLIPlugin)
