"""``taskq worker --web``: the console beside a worker, in a thread with an event loop of its own.

So it is the same under asyncio and trio, and answers while a handler blocks the worker's loop.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click
from msgspec import Struct

from taskq import logs
from taskq.app import TaskQ
from taskq.bridge import ServedThread, serve_in_thread
from taskq.cli.console_server import HOST, PORT, bound, console_server, entrance_of
from taskq.cli.failure import Refused

F = TypeVar("F", bound=Callable[..., object])

PATIENCE = 1.0
"""Seconds that requests may take to end when the worker has ended."""


class WebFlags(Struct, frozen=True):
    """Whether a worker serves the console, and where."""

    on: bool
    host: str
    port: int

    def listener(self) -> socket.socket | None:
        """The socket for it; None when it is off. NotDone when it cannot listen there."""
        return bound(self.host, self.port, "--web-port") if self.on else None


class SideConsole:
    """The console of a worker's app on this socket, which listens at ``host``.

    Raises ConfigurationError as ``console_server`` does. When it fails later, the log says so and
    the worker goes on.
    """

    def __init__(self, app: TaskQ, host: str, listener: socket.socket) -> None:
        self._server = console_server(app, host, listener)
        self._thread: ServedThread | None = None

    @property
    def entrance(self) -> str:
        """Where to begin, see ``WebServer``."""
        return self._server.entrance

    @property
    def told(self) -> str:
        """The same for people: with how long a link can be used."""
        return entrance_of(self._server)

    def start(self) -> None:
        """Serve from here on."""
        self._thread = serve_in_thread(self._serve)

    def end(self) -> None:
        """Stop serving and wait for it: a little for requests, not for streams."""
        if self._thread is None:
            return
        self._server.stop()
        try:
            self._thread.wait(PATIENCE)
        except TimeoutError:
            self._server.stop(0)
            self._thread.stop(PATIENCE)

    async def _serve(self) -> None:
        try:
            await self._server.serve()
        except Exception as error:
            logs.console_ended(error)


def web_options(function: F) -> F:
    """Adds ``--web``, ``--web-host`` and ``--web-port``; the function gets ``web``."""

    @wraps(function)
    def with_web(*, web: bool, web_host: str | None, web_port: int | None, **others: Any) -> object:
        if not web and not (web_host is None and web_port is None):
            raise Refused("--web-host and --web-port are for --web, which serves the console")
        flags = WebFlags(web, web_host or HOST, PORT if web_port is None else web_port)
        return function(web=flags, **others)

    switch = click.option("--web", is_flag=True, help="Serve the console as well.")
    host = click.option("--web-host", metavar="HOST", help=f"At this address.  [default: {HOST}]")
    port = click.option(
        "--web-port", type=click.IntRange(0, 65535), metavar="PORT",
        help=f"At this port; 0 chooses one.  [default: {PORT}]",
    )  # fmt: skip
    return cast("F", switch(host(port(with_web))))


def inherited(descriptor: int | None) -> socket.socket | None:
    """The socket that a parent listens on, see ``fleet``. Refused for what is none."""
    if descriptor is None:
        return None
    try:
        return socket.socket(fileno=descriptor)
    except OSError as error:
        raise Refused("--member is what a parent gives its worker processes: use -w") from error
