"""Keeps background loops alive and says how they fare (rule R10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

import anyio

from taskq.clock import Clock
from taskq.engine.backoff import LAST, Backoff
from taskq.engine.report import ErrorLog
from taskq.events import BackgroundError, BackgroundRecovered, Event

IDLE = 5.0
"""Seconds after which a loop that has nothing to do shows that it is alive."""


class Loop:
    """One supervised loop, on its event loop. ``ended`` is set when it runs no more."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self._scope = anyio.CancelScope()

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do ``work`` until it returns or is told to end."""
        try:
            with self._scope:
                await work()
        finally:
            self.ended.set()

    def end(self) -> None:
        """Cancel it; see ``ended`` for when that is done."""
        self._scope.cancel()


class Supervisor:
    """Restarts loops that fail, reports why, and remembers when each made progress last.

    ``patience``: seconds without progress after which a loop counts as stalled. ``longest``: of the
    pauses between two tries; well below a lease, so that after an outage outcomes are written and
    lost claims given back before any reaper may act. ``report`` and ``progress`` may be called from
    any thread.
    """

    def __init__(
        self,
        *,
        worker: UUID,
        clock: Clock,
        emit: Callable[[Event], None],
        random: Callable[[], float],
        patience: float,
        longest: float,
    ) -> None:
        self.errors = ErrorLog()
        self._worker = worker
        self._clock = clock
        self._emit = emit
        self._random = random
        self._patience = patience
        self._longest = min(LAST, longest)
        self._progress: dict[str, float] = {}
        self._failing: dict[str, float] = {}

    async def supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run ``work`` until it returns. Whenever it raises, report that, pause, run it again.

        The pause grows while it fails without progress. Cancellation passes.
        """
        backoff = Backoff(self._random, last=self._longest)
        self.progress(name)
        try:
            while True:
                begun = self._progress[name]
                try:
                    await work()
                    return self.progress(name)
                except Exception as error:
                    self.report(name, error)
                if self._progress[name] > begun:
                    backoff.reset()
                await anyio.sleep(backoff.pause())
        finally:
            del self._progress[name]

    def progress(self, name: str) -> None:
        """A loop has done what it is for, or has found that there is nothing to do."""
        now = self._progress[name] = self._clock.monotonic()
        since = self._failing.pop(name, None)
        if since is not None:
            recovered = BackgroundRecovered(worker=self._worker, loop=name, seconds=now - since)
            self._emit(recovered)

    def report(self, name: str, error: BaseException) -> None:
        """A loop has met an error and goes on."""
        self._failing.setdefault(name, self._clock.monotonic())
        event = BackgroundError(worker=self._worker, loop=name, error=error)
        self.errors.add(event)
        self._emit(event)

    def ages(self) -> dict[str, float]:
        """For each running loop, the seconds since its latest progress."""
        now = self._clock.monotonic()
        return {name: now - at for name, at in self._progress.copy().items()}

    def stalled(self) -> list[str]:
        """The loops without recent progress."""
        return [name for name, age in self.ages().items() if age > self._patience]
