"""The permits: how many handlers may run at once, and who may next (design 7.9, 7.10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio
from msgspec import Struct


class Request(Struct, frozen=True, eq=False):
    """Somebody who wants a permit back. ``grant`` is called once, when it has one."""

    grant: Callable[[], None]
    alone: bool


class Permits:
    """``count`` permits. Whoever comes back from a wait goes before whoever starts.

    ``used`` may exceed ``count``: what was told to stop unwinds without asking. ``stuck`` of them
    are held by threads past their timeout. An attempt that runs ``alone`` comes back when nothing
    else runs, and nothing else gets a permit while it has one (design 7.5). ``suspended`` attempts
    have none: they wait for other activities (design 7.10).
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.used = 0
        self.stuck = 0
        self.suspended = 0
        self._alone = 0
        self._requests: deque[Request] = deque()

    @property
    def free(self) -> int:
        """How many could be taken now."""
        if self._alone or self._requests:
            return 0
        return self.count - self.used if self.used < self.count else 0

    @property
    def running(self) -> bool:
        """Whether a handler has a permit, threads past their timeout aside."""
        return self.used > self.stuck

    def take(self, *, alone: bool = False) -> None:
        """Take one, whether or not one is free."""
        self.used += 1
        self._alone += alone

    def give_back(self, *, alone: bool = False) -> None:
        """Give one back; whoever waits for it has it when this returns."""
        self.used -= 1
        self._alone -= alone
        if self._requests:
            self.pass_on()

    def request(self, grant: Callable[[], None], *, alone: bool = False) -> Request:
        """Have ``grant`` called, here and now if that can be, when there is a permit."""
        request = Request(grant, alone)
        self._requests.append(request)
        self.pass_on()
        return request

    def withdraw(self, request: Request) -> bool:
        """Wait no longer; False when it was granted."""
        try:
            self._requests.remove(request)
        except ValueError:
            return False
        self.pass_on()
        return True

    async def acquire(self) -> None:
        """Take one when it is free; cancelled, take none."""
        if self.free:
            self.take()
            return
        granted = anyio.Event()
        request = self.request(granted.set)
        try:
            await granted.wait()
        except BaseException:
            if not self.withdraw(request):
                self.give_back()
            raise

    def pass_on(self) -> None:
        """Grant what can be granted, first come, first served."""
        while self._requests and self._grantable(self._requests[0]):
            request = self._requests.popleft()
            self.take(alone=request.alone)
            request.grant()

    def _grantable(self, request: Request) -> bool:
        if self._alone:
            return False
        return not self.running if request.alone else self.used < self.count
