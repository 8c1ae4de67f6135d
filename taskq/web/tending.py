"""Closes connections of a server whose other end has stopped: it neither reads what it was sent nor
asks for anything. The server does not do so by itself, and each such connection holds a descriptor
and what was not read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Protocol

import anyio
from msgspec import Struct

PATIENCE: Final = 20.0
"""Seconds without a byte taken, or without a whole request. Shorter than that of a stream with a
client that does not read, so that the server knows first that it is gone."""
LOOKS: Final = 10
"""So many looks in that time."""


class Transport(Protocol):
    """asyncio's, as far as it is needed."""

    def get_write_buffer_size(self) -> int:
        """Bytes that were written and have not left."""
        ...

    def abort(self) -> None:
        """Close, and drop what has not left."""
        ...


class Answering(Protocol):
    """One request and its answer."""

    response_complete: bool


class Connection(Protocol):
    """One of uvicorn's."""

    @property
    def transport(self) -> Transport:
        """Its socket's."""
        ...

    @property
    def cycle(self) -> Answering | None:
        """The request that it is at, or was last."""
        ...


class _Seen(Struct):
    """What a connection looked like, and how often it has looked so since."""

    left: int
    cycle: Answering | None
    times: int = 0


class Tending:
    """Looks at ``connections`` again and again, and ends those that have not moved for
    ``patience`` seconds: bytes wait and none has left, or a request has not come to its end."""

    def __init__(
        self, connections: Callable[[], Collection[Connection]], patience: float = PATIENCE
    ) -> None:
        self._connections = connections
        self._pause = patience / LOOKS
        self._seen: dict[int, _Seen] = {}

    async def run(self) -> None:
        """For ever."""
        while True:
            await anyio.sleep(self._pause)
            self.look()

    def look(self) -> None:
        """Look at each once."""
        before, self._seen = self._seen, {}
        for each in [*self._connections()]:
            seen = _after(before.get(id(each)), each)
            if seen.times < LOOKS:
                self._seen[id(each)] = seen
            else:
                each.transport.abort()


def _after(before: _Seen | None, connection: Connection) -> _Seen:
    left, cycle = connection.transport.get_write_buffer_size(), connection.cycle
    if before is None or cycle is not before.cycle:
        return _Seen(left, cycle)
    stuck = left >= before.left if left else cycle is None or cycle.response_complete
    return _Seen(left, cycle, before.times + 1 if stuck else 0)
