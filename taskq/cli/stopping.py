"""How signals stop a worker, or a server: gracefully, then now, then at once.

The handlers are plain ones and run in the main thread between two bytecodes, also while a handler
of the user blocks the event loop, where a signal receiver on the loop would not be reached
(bug:B93). They only ring a doorbell, which takes no lock, and arm a timer of the interpreter that
ends the process even when its main thread never comes back (fault:D15). Nothing else in taskq
installs signal handlers.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable
from types import FrameType

from taskq import logs
from taskq.bridge import Doorbell
from taskq.engine import Engine
from taskq.events import Event, Interrupted, WorkerStopped

MARGIN = 3.0
"""Seconds beyond the grace in which everything is written and the process has ended."""

NOW = 2.0
"""Seconds from the second signal to the end of the process, at the most."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """The signals received so far, and what they ask: ``stop`` is called with the grace in seconds
    for the first one, with 0 for the second. The third ends the process. ``what`` the grace is for,
    as the log names it."""

    def __init__(
        self, stop: Callable[[float], object], grace: float, *, what: str = "handlers"
    ) -> None:
        self._stop = stop
        self._what = what
        self._grace = grace
        self._signals: list[int] = []
        self._asked = 0
        self._told = 0
        self._bell = Doorbell()

    async def watch(self) -> None:
        """Pass each signal on, until cancelled."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._told < self.stage:
                self._told += 1
                self._tell(self._told)

    def _tell(self, count: int) -> None:
        signals = self._signals[count - 1 : count]
        name = signal.Signals(signals[0]).name if signals else "a stop of all workers"
        logs.signalled(name, first=count == 1, what=self._what)
        self._stop(self._grace if count == 1 else 0)

    @property
    def stage(self) -> int:
        """1: gracefully, 2: now. A service manager sends its signal to parent and members alike, so
        that what comes both ways is one stop."""
        return max(len(self._signals), self._asked)

    def ask(self, stage: int) -> None:
        """The parent of this worker's process asks for a stop, see ``fleet``. From any thread."""
        if stage > self.stage:
            self._asked = stage
            self._begin()

    def listen(self) -> None:
        """Take SIGINT and SIGTERM from here on; in the main thread only."""
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def over(self) -> None:
        """What was to stop has stopped. A signal that comes while the interpreter ends, which is
        when it gives signals back their default, must not make a clean end look like a violent
        one."""
        if self.stage:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._signals.append(number)
        if len(self._signals) > 2:
            os._exit(1)
        self._begin()

    def _begin(self) -> None:
        seconds = self._grace + MARGIN if self.stage == 1 else NOW
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)
        self._bell.ring()


class Stopping(Signals):
    """How signals stop an engine.

    As a listener it also sees what was not over in time: ``cut`` says whether a second signal cut a
    handler's grace short (a handler put back when its grace is over is a clean stop), ``stuck``
    counts threads past their timeout when the worker had stopped.
    """

    def __init__(self, engine: Engine, grace: float) -> None:
        super().__init__(engine.stop, grace)
        self._engine = engine
        self.cut = False
        self.stuck = 0

    def on_event(self, event: Event) -> None:
        """Note what was not over in time."""
        if isinstance(event, Interrupted):
            self.cut = self.cut or self.stage > 1
        elif isinstance(event, WorkerStopped):
            self.stuck = self._engine.health().threads_stuck
