"""The console in a Litestar application: a plugin."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from litestar import Litestar
from litestar.config.app import AppConfig
from litestar.exceptions import NotFoundException
from litestar.handlers import ASGIRouteHandler
from litestar.handlers import asgi as asgi_route
from litestar.handlers.base import BaseRouteHandler
from litestar.plugins import CLIPlugin, InitPlugin
from litestar.types import Receive, Scope, Send

from taskq.app import TaskQ
from taskq.assembly import WorkerArguments
from taskq.web.mounting import asgi, excluding, prefix_of, with_path
from taskq.web.opening import open_if_there
from taskq.web.options import Authenticate, Connection
from taskq.web.role import Role
from taskq.web.shell import Receive as ASGIReceive
from taskq.web.shell import Send as ASGISend

if TYPE_CHECKING:
    from click import Group

Guard = Callable[[Connection, BaseRouteHandler], Awaitable[None] | None]
"""A guard as Litestar takes it: raises for whom it does not let pass."""
Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]


class TaskQPlugin(InitPlugin, CLIPlugin):
    """Gives a Litestar application the console at ``path``, the commands ``litestar taskq …`` for
    this app, and, with ``worker``, a worker on the application's own event loop.

    The console is one ASGI route: the application's middleware runs before it, its ``guards`` as
    well, but neither its exception handlers nor its OpenAPI document have to do with it.
    ``authenticate`` and ``allow_anonymous``, ``read_only``, ``api_only`` and ``allowed_hosts`` are
    options of the console, see ``ConsoleOptions``. ``worker`` is True or options of
    ``taskq.worker``; it starts with the application and stops gracefully with it.

    Raises ConfigurationError for a path that is none, and where nobody could use the console or
    everybody could.
    """

    def __init__(
        self,
        taskq: TaskQ,
        path: str = "/taskq",
        *,
        read_only: bool = False,
        api_only: bool = False,
        authenticate: Authenticate | None = None,
        allow_anonymous: Role | None = None,
        allowed_hosts: Sequence[str] = (),
        guards: Sequence[Guard] = (),
        worker: bool | WorkerArguments = False,
    ) -> None:
        self.taskq = taskq
        self._prefix = prefix_of("path", path)
        self._guards = list(guards)
        self._worker: WorkerArguments | None = None
        if worker is not False:
            self._worker = WorkerArguments() if worker is True else worker
        self._mounted = asgi(
            taskq,
            read_only=read_only,
            api_only=api_only,
            authenticate=authenticate,
            allow_anonymous=allow_anonymous,
            allowed_hosts=allowed_hosts,
        )

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add the route and the lifespan. The application's compression leaves the console alone,
        as it would hold back what is streamed."""
        app_config.route_handlers.append(self._route(app_config))
        app_config.lifespan = [*cast("Sequence[Lifespan]", app_config.lifespan), self._lifespan]
        if (compression := app_config.compression_config) is not None:
            pattern = rf"^{re.escape(self._prefix)}(/|$)"
            app_config.compression_config = dataclasses.replace(
                compression, exclude=excluding(pattern, compression.exclude)
            )
        return app_config

    def on_cli_init(self, cli: Group) -> None:
        """Add the commands."""
        from taskq.cli.hosted import HostedCommands

        cli.add_command(HostedCommands(self.taskq))

    def _route(self, app_config: AppConfig) -> ASGIRouteHandler:
        """The console checks where a command comes from itself: no CSRF token is asked for."""
        csrf = app_config.csrf_config
        prefix = self._prefix

        @asgi_route(
            prefix or "/",
            name=f"taskq:{prefix or '/'}",
            guards=self._guards,
            is_mount=True,
            copy_scope=True,
            opt={csrf.exclude_from_csrf_key: True} if csrf is not None else None,
        )
        async def console(scope: Scope, receive: Receive, send: Send) -> None:
            own = _own_scope(cast("Mapping[str, Any]", scope), prefix)
            await self._mounted(own, cast("ASGIReceive", receive), cast("ASGISend", send))

        return console

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncGenerator[None]:
        await open_if_there(self._mounted.console)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.taskq.aclose)
            stack.push_async_callback(self._mounted.aclose)
            if self._worker is not None:
                await stack.enter_async_context(self.taskq.worker(**self._worker))
            yield


def _own_scope(scope: Mapping[str, Any], prefix: str) -> MutableMapping[str, Any]:
    """The scope as ASGI has it, for what lies at ``prefix``: Litestar takes the prefix off the path
    and puts a slash at its end. Raises NotFoundException for a path that only begins like it, as
    /taskqs does, which Litestar takes for one below a mount at /taskq."""
    below: str = scope["path"]
    if not below.startswith("/"):
        raise NotFoundException
    raw: bytes = scope.get("raw_path") or b"/"
    if not raw.partition(b"?")[0].endswith(b"/"):
        below = below.rstrip("/")
    root = f"{scope.get('root_path', '')}{prefix}"
    return with_path(scope, root, root + below)
