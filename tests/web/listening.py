"""A client of the live stream, on the server's own side: it reads what is sent, or does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from taskq.web import Console
from taskq.web.live.broadcast import Rhythm
from taskq.web.live.hub import Hub

FAST = Rhythm(
    rest=0.005,
    share=0.0,
    poll=0.01,
    idle=0.01,
    stats=0.0,
    quiet=0.0,
    survey=0.0,
    thorough=0.0,
    linger=0.05,
)
"""As fast as it goes, so that no test waits for a look."""
PATIENCE = 10.0


def hurried(console: Console, rhythm: Rhythm = FAST) -> Hub:
    """The console's hub, with a rhythm of its own."""
    console.hub = Hub(console, rhythm)
    return console.hub


def scope_of(path: str, headers: Mapping[str, str], query: str) -> dict[str, Any]:
    lines = {"host": "127.0.0.1", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in lines.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
    }


class Listener:
    """One who listens. ``events`` are those that came whole: (event, id, data).

    ``reads`` False: its connection takes no byte. It is told from outside to ``leave``.
    """

    def __init__(
        self,
        asgi: Any,
        *,
        path: str = "/api/stream",
        headers: Mapping[str, str] | None = None,
        query: str = "",
        reads: bool = True,
    ) -> None:
        self._asgi = asgi
        self._scope = scope_of(path, headers or {}, query)
        self._reads = reads
        self._gone = anyio.Event()
        self._moved = anyio.Event()
        self._asked = False
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False

    async def run(self) -> None:
        """Until the server has ended it."""
        try:
            await self._asgi(self._scope, self._receive, self._send)
        finally:
            self.ended = True
            self._move()

    def leave(self) -> None:
        """Close the connection."""
        self._gone.set()

    @property
    def events(self) -> Sequence[tuple[str, str | None, Any]]:
        return [_event(block) for block in self.blocks if not block.startswith((":", "retry"))]

    @property
    def blocks(self) -> Sequence[str]:
        return self.body.decode().split("\n\n")[:-1]

    def of(self, kind: str) -> list[Any]:
        """The data of all events of this kind."""
        return [data for event, _, data in self.events if event == kind]

    @property
    def whats(self) -> list[tuple[str, str]]:
        """Which activity, and what happened to it."""
        return [(data["id"], data["what"]) for data in self.of("activity")]

    async def until(self, so: Callable[[], object]) -> None:
        """Until that is so; asked whenever something has come."""
        with anyio.fail_after(PATIENCE):
            while not so():
                assert not self.ended, self.body
                await self._moved.wait()

    async def until_ended(self) -> None:
        with anyio.fail_after(PATIENCE):
            while not self.ended:
                await self._moved.wait()

    async def _receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        elif not self._reads:
            await anyio.sleep_forever()
        else:
            self.body += message["body"]
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()


async def until(so: Callable[[], object]) -> None:
    """Until that is so; asked again and again."""
    with anyio.fail_after(PATIENCE):
        while not so():
            await anyio.sleep(0.01)


def _event(block: str) -> tuple[str, str | None, Any]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return fields.get("event", ""), fields.get("id"), json.loads(fields["data"])


async def listening(group: TaskGroup, asgi: Any, **how: Any) -> Listener:
    """One who listens from now on: the stream has told where it begins."""
    listener = Listener(asgi, **how)
    group.start_soon(listener.run)
    await listener.until(lambda: b"hello" in listener.body or b"reset" in listener.body)
    return listener
