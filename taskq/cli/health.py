"""``GET /health``: whether a worker is healthy, for a supervisor on the same host."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import anyio
import msgspec
from anyio.abc import ByteStream, Listener, SocketAttribute, SocketStream

from taskq.cli.failure import NotDone
from taskq.engine import Health

_HOST = "127.0.0.1"
_MOST_BYTES = 8192
_MOST_SECONDS = 5.0
_MOST_AT_ONCE = 16


class HealthEndpoint:
    """A small HTTP/1.1 responder: 200 or 503 with the health as JSON, one answer a connection.

    It listens on the loopback address only. A request may take 8 KiB and 5 seconds; 16 are
    answered at once, further ones wait.
    """

    def __init__(self, listener: Listener[SocketStream], health: Callable[[], Health]) -> None:
        self._listener = listener
        self._health = health
        self._room = anyio.CapacityLimiter(_MOST_AT_ONCE)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{_HOST}:{self._listener.extra(SocketAttribute.local_port)}/health"

    async def serve(self) -> None:
        """Answer until cancelled."""
        async with self._listener:
            await self._listener.serve(self._connection)

    async def _connection(self, stream: ByteStream) -> None:
        async with stream, self._room:
            try:
                with anyio.move_on_after(_MOST_SECONDS):
                    await stream.send(answer(await _head(stream), self._health))
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                return


async def health_endpoint(port: int, health: Callable[[], Health]) -> HealthEndpoint:
    """Listen on this port of the loopback address; 0 chooses a free one. NotDone when taken."""
    try:
        listeners = await anyio.create_tcp_listener(local_host=_HOST, local_port=port)
    except OSError as error:
        reason = error.strerror or error
        raise NotDone(f"--health-port {port} cannot be listened on: {reason}") from error
    return HealthEndpoint(listeners.listeners[0], health)


def answer(head: bytes, health: Callable[[], Health]) -> bytes:
    """The response to a request's head."""
    method, _, rest = head.split(b"\r\n", 1)[0].partition(b" ")
    path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
    if not rest.split(b" ", 1)[-1].startswith(b"HTTP/1."):
        return _response(HTTPStatus.BAD_REQUEST, {"error": "not an HTTP/1.1 request"})
    if path != b"/health":
        return _response(HTTPStatus.NOT_FOUND, {"error": "there is only /health"})
    if method not in (b"GET", b"HEAD"):
        return _response(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "GET it"})
    found = health()
    status = HTTPStatus.OK if found.healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return _response(status, found, with_body=method == b"GET")


async def _head(stream: ByteStream) -> bytes:
    """A request up to its empty line, or its first 8 KiB."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MOST_BYTES:
        head += await stream.receive(_MOST_BYTES - len(head))
    return head


def _response(status: HTTPStatus, content: object, *, with_body: bool = True) -> bytes:
    body = msgspec.json.encode(content)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        "Cache-Control: no-store\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
