"""The console as an ASGI application: where it is mounted, and what a server asks of it.

Servers and frameworks differ in what they leave of a path. Here it becomes what ASGI says: ``path``
is the whole of it, ``root_path`` the part before the console's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from taskq.app import TaskQ
from taskq.errors import ConfigurationError
from taskq.web.access import check_mounted
from taskq.web.application import build
from taskq.web.console import Console
from taskq.web.options import Authenticate, ConsoleOptions
from taskq.web.role import Role
from taskq.web.shell import ASGI, Receive, Scope, Send

_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*\Z")


class MountedConsole:
    """An ASGI application to give to a server, or to mount in another application.

    Nothing is opened before the first request, as the lifespan of a mounted application never runs;
    where it does run, its end closes the console. HTTP only: a websocket is closed.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._app = build(console)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await self._app(scope, receive, send)

    def close_streams(self) -> None:
        """End every stream at once. From any thread."""
        self.console.hub.close()

    async def aclose(self) -> None:
        """End the streams and give back what the console has opened; the next request opens it
        again. The app itself stays open."""
        await self.console.aclose()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})


class Placed:
    """An ASGI application at a base path of a server, whether a proxy before it takes the base
    path away or leaves it."""

    def __init__(self, app: ASGI, base_path: str) -> None:
        self._app = app
        self._prefix = prefix_of("--base-path", base_path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "http" and self._prefix:
            scope = placed(scope, self._prefix)
        await self._app(scope, receive, send)


def asgi(
    taskq: TaskQ,
    *,
    read_only: bool = False,
    api_only: bool = False,
    authenticate: Authenticate | None = None,
    allow_anonymous: Role | None = None,
    allowed_hosts: Sequence[str] = (),
) -> MountedConsole:
    """The console of this app as an ASGI application, for Starlette's ``Mount``, FastAPI's
    ``app.mount``, or a dispatcher of paths. The options are those of ``ConsoleOptions``.

    Raises ConfigurationError where nobody could use it: see docs/console.md.
    """
    options = ConsoleOptions(
        read_only=read_only,
        api_only=api_only,
        authenticate=authenticate,
        allow_anonymous=allow_anonymous,
        allowed_hosts=tuple(allowed_hosts),
    )
    console = Console(taskq, options)
    check_mounted(console.access)
    return MountedConsole(console)


def prefix_of(what: str, path: str) -> str:
    """A path to mount at, without the slash at its end; "" for the root. Raises
    ConfigurationError for what is none."""
    stripped = path.rstrip("/")
    if not path.startswith("/") or not _PATH.match(stripped):
        raise ConfigurationError(
            f"{what} must be a path such as /taskq, of letters, digits and . _ ~ -, not {path!r}"
        )
    return stripped


def placed(scope: Scope, prefix: str) -> Scope:
    """The scope of a request to what lies at ``prefix``; what is not below it yet, is then."""
    root: str = scope.get("root_path", "").rstrip("/")
    path: str = scope["path"]
    within = path.removeprefix(root) if below(path, root) else path
    whole = within if below(within, prefix) else f"{prefix}{within}"
    return with_path(scope, root + prefix, root + whole)


def below(path: str, prefix: str) -> bool:
    """Whether a path is this one or lies below it: /taskq/api is below /taskq, /taskqs is not."""
    return path == prefix or path.startswith(f"{prefix}/")


def with_path(scope: Mapping[str, Any], root_path: str, path: str) -> Scope:
    """A copy of a scope for another root path and path."""
    return {**scope, "root_path": root_path, "path": path}


def excluding(pattern: str, exclude: str | Sequence[str] | None) -> list[str]:
    """A list of patterns with one more, as Litestar's configurations take them."""
    before = [exclude] if isinstance(exclude, str) else list(exclude or ())
    return [*before, pattern]
