"""A console on a socket, its app and its workers, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

import httpx
from msgspec import Struct, field

from taskq import TaskQ
from taskq.bridge import serve_in_thread
from taskq.web import Console, ConsoleOptions, MountedConsole
from taskq.web.serving import WebServer, listening
from tests.browser.workload import TOKENS, Ids, at_work, shop, staged
from tests.web.socket_server import client_of, running, sign_in

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Cookie: TypeAlias = dict[str, str]
"""As a browser is told it."""


class Scene(Struct, frozen=True):
    """A console that is served. ``url`` ends with a slash; ``api`` asks it as admin, beside the
    page; ``ids`` are activities by name; ``sessions`` are cookies by role."""

    url: str
    app: TaskQ
    server: WebServer
    api: httpx.Client
    ids: Ids
    sessions: dict[str, Cookie] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return self.url.rstrip("/")

    def get(self, path: str, **query: str) -> Any:
        """What a route of the API answers, without the page."""
        answer = self.api.get(f"/api/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def cookie(self, role: str = "admin") -> Cookie:
        """The session of this role, as a browser keeps it; begun when it is first asked for."""
        if role not in self.sessions:
            self.sessions[role] = self._session(role)
        return self.sessions[role]

    def _session(self, role: str) -> Cookie:
        with client_of(self.origin) as client:
            assert sign_in(client, "/", {"token": TOKENS[role]}).status_code == 200
            [cookie] = client.cookies.jar
        return {"name": cookie.name, "value": str(cookie.value), "url": self.url}


Fill = Callable[[TaskQ], Awaitable[Ids]]


@contextmanager
def served(
    app: TaskQ,
    *,
    fill: Fill = staged,
    live: bool = False,
    options: ConsoleOptions | None = None,
    token: str | None = TOKENS["admin"],
) -> Iterator[Scene]:
    """The console of an app that is filled first; with ``live``, workers run it meanwhile. The app
    is closed at the end. ``token`` is an admin's, for ``Scene.api``."""
    try:
        ids = apart(fill, app)
        console = MountedConsole(Console(app, options or ConsoleOptions()))
        server = WebServer(console, listening("127.0.0.1", 0))
        with running(server) as client:
            if token is not None:
                client.headers["authorization"] = f"Bearer {token}"
            scene = Scene(server.url, app, server, client, ids)
            if not live:
                yield scene
                return
            work = serve_in_thread(at_work, app)
            try:
                _under_way(scene)
                yield scene
            finally:
                work.stop()
    finally:
        app.close()


def _under_way(scene: Scene) -> None:
    """Wait until both workers are known and work."""
    end = monotonic() + 30
    while len(scene.get("workers")["items"]) < 2 or not _runs(scene, "running"):
        assert monotonic() < end, "nobody works"
        sleep(0.02)


def _runs(scene: Scene, name: str) -> bool:
    return bool(scene.get(f"activities/{scene.ids[name]}")["status"] == "processing")


@contextmanager
def shown(url: str = "memory://", *, live: bool = True) -> Iterator[Scene]:
    """The shop's console, on a store in memory or another."""
    with served(shop(url), live=live) as scene:
        yield scene


def apart(function: Callable[[*Ts], Coroutine[Any, Any, T] | Awaitable[T]], *args: *Ts) -> T:
    """What an async function answers, run on an event loop of its own in another thread: in this
    one a loop counts as running while a browser is open."""
    answers: list[T] = []

    async def run() -> None:
        answers.append(await function(*args))

    serve_in_thread(run).wait(60)
    return answers[0]


async def nothing(app: TaskQ) -> Ids:
    """Fill nothing in."""
    return {}
