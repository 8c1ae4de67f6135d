"""The console on a socket of its own: bound first, then served until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, cast

import anyio
import uvicorn

from taskq.bridge import Doorbell
from taskq.web.mounting import MountedConsole, Placed, prefix_of
from taskq.web.opening import open_if_there
from taskq.web.tending import Connection, Tending

GRACE: Final = 5
"""Seconds that requests may take to end when the server stops. Streams end at once."""

_BACKLOG: Final = 256
_NEAR: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""What a browser on this machine says for every address."""


class WebServer:
    """Serves a console. ``serve`` it on asyncio, once; ``stop`` it from any thread.

    It has no signal handlers, reads no X-Forwarded header and logs no requests. A client that does
    not read, or does not finish its request, is cut off. ``base_path`` is
    the path of its root, for a proxy that passes on that part of a site.
    """

    def __init__(
        self, mounted: MountedConsole, listener: socket.socket, *, base_path: str = "/"
    ) -> None:
        self._mounted = mounted
        self._listener = listener
        self._prefix = prefix_of("--base-path", base_path)
        self._bell = Doorbell()
        self._stops = 0
        config = uvicorn.Config(
            Placed(mounted, base_path),
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        self._server = _Server(config, mounted.close_streams)

    @property
    def url(self) -> str:
        """Where its root is, as a browser on this machine reaches it; with a slash at its end."""
        host, port = self._listener.getsockname()[:2]
        shown = _NEAR.get(str(host), str(host))
        at = f"[{shown}]" if ":" in shown else shown
        return f"http://{at}:{port}{self._prefix}/"

    @property
    def entrance(self) -> str:
        """Where to begin: a link that logs in once, valid for 10 minutes, where there is no other
        way to log in; else the root. Each call makes a new link, and the one before it void."""
        console = self._mounted.console
        if console.access.configured or console.access.anonymous is not None:
            return self.url
        token = console.access.one_time_login().token
        if console.options.api_only:
            return f'{self.url}api/session, for one POST of {{"link": "{token}"}}'
        return f"{self.url}login#{token}"

    @property
    def link_until(self) -> datetime | None:
        """Until when the link of the latest ``entrance`` can be used; None where it was none."""
        link = self._mounted.console.access.link
        return None if link is None else link.until

    async def open(self) -> None:
        """Open what the console looks at, if it is there. Raises what waiting would not help, with
        the socket closed."""
        try:
            await open_if_there(self._mounted.console)
        except BaseException:
            self._listener.close()
            raise

    def stop(self, grace: float | None = None) -> None:
        """Accept no more, end the streams, let requests end within ``GRACE`` seconds; a second call
        or ``grace`` 0 stops now. Returns at once."""
        self._stops = 2 if grace == 0 else self._stops + 1
        self._bell.ring()

    async def serve(self) -> None:
        """Serve until stopped, then close the console."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._heed)
                group.start_soon(Tending(self._connections).run)
                await self._server.serve(sockets=[self._listener])
                group.cancel_scope.cancel()
        finally:
            self._listener.close()
            with anyio.move_on_after(GRACE, shield=True):
                await self._mounted.aclose()

    def _connections(self) -> Collection[Connection]:
        return cast("Collection[Connection]", self._server.server_state.connections)

    async def _heed(self) -> None:
        while self._stops < 2:
            await self._bell.wait()
            self._bell.clear()
            self._server.should_exit = self._stops > 0
            self._server.force_exit = self._stops > 1


class _Server(uvicorn.Server):
    """uvicorn's, which leaves signals to the command line and ends streams before it waits."""

    def __init__(self, config: uvicorn.Config, close_streams: Callable[[], object]) -> None:
        super().__init__(config)
        self._close_streams = close_streams

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: a server that waits for them waits for its clients."""
        self._close_streams()
        await super().shutdown(sockets)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at this name or address; port 0 chooses a free one. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(found, key=lambda each: each[0] is not socket.AF_INET)
    return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
