"""How activities end, as a handler in a process is told by its worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Self
from uuid import UUID

from anyio.lowlevel import checkpoint

from taskq.model import Ended
from taskq.processes import wire
from taskq.processes.line import Line


class FollowedEndings:
    """See ``endings.Endings``. Only ``__anext__`` waits, so only it gives the worker's slot up.

    The worker's end of it is closed by ``close``, or with the handler.
    """

    def __init__(self, line: Line, ids: Collection[UUID]) -> None:
        self._line = line
        self._ids = list(dict.fromkeys(ids))
        self._series = line.number()
        self._attempt = line.attempt
        self._found = deque[tuple[UUID, Ended | None]]()
        self._left = len(self._ids)
        self._had = 0
        self._open = False

    @property
    def ready(self) -> bool:
        """See ``Endings``."""
        return self._left == 0 or bool(self._found)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[UUID, Ended | None]:
        if self._left == 0:
            raise StopAsyncIteration
        if self._found:
            await checkpoint()
        while not self._found:
            await self._ask()
        self._left -= 1
        found = self._found.popleft()
        if self._left == 0:
            self.close()
        return found

    def close(self) -> None:
        """See ``Endings``."""
        self._left = 0
        if self._open:
            self._line.say_during(self._attempt, wire.Unfollow(self._series))
        self._open = False

    async def _ask(self) -> None:
        self._open = True
        answer = await self._line.wait(self._request, wire.Followed)
        self._ids.clear()
        self._had += len(answer.endings)
        self._found.extend(answer.endings)

    def _request(self, number: int) -> wire.Follow:
        return wire.Follow(number, self._series, self._ids, self._had)
