"""The scheduler: fires schedules at the instants that they name (promise:G12).

Every worker has one, and none leads: of all that fire an occurrence the store lets one. So there is
nothing that could be lost with a leader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import anyio

from taskq.backends import Fired, Place
from taskq.bridge import Doorbell
from taskq.engine.ground import Ground
from taskq.errors import BackendUnavailable, SchemaError
from taskq.events import Enqueued
from taskq.schedule import Schedule

SHORTEST = 0.001
BREATH = 1.0
"""Seconds between two looks for the sake of hints, or of what is due and cannot be fired yet."""
ASIDE = 60.0
"""Seconds for which a schedule that cannot be fired is left alone."""
AGAIN = 20
"""Of those left alone, how many are tried again in one round."""


class Scheduler:
    """Puts the schedules of this app's code into the store, then fires what is due, and sleeps
    until the next one is.

    A ring means that a schedule may have changed. Without one it looks at least every ``poll_max``
    seconds. ``on_fired`` is called after activities were stored. It fires schedules of any type,
    also of those that nobody here runs: workers differ. One that cannot be fired (its zone is
    unknown here, its row is nonsense) is reported and left alone for a while, and hurts no other.
    """

    def __init__(
        self, ground: Ground, *, declared: Sequence[Schedule], on_fired: Callable[[], None]
    ) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._clock = ground.clock
        self._emit = ground.emit
        self._longest = ground.options.poll_max
        self._progress = partial(ground.supervisor.progress, "scheduler")
        self._report = partial(ground.supervisor.report, "scheduler")
        self._declared = tuple(declared)
        self._on_fired = on_fired
        self._aside: dict[str, float] = {}
        self._tries = AGAIN
        self._bell = Doorbell()

    def ring(self) -> None:
        """A schedule may have changed. From any thread."""
        self._bell.ring()

    async def run(self) -> None:
        """Fire for ever. Raises BackendError when the store cannot be reached."""
        if self._declared:
            await self._access.call(self._backend.declare_schedules, self._declared)
            self._declared = ()
        while True:
            self._bell.clear()
            seconds = await self._round()
            if seconds is not None:
                await self._sleep(seconds)

    async def _round(self) -> float | None:
        """Give each that is due its turn; in how many seconds to look again, None: at once.

        However many cannot be fired, it comes to those behind them.
        """
        seen: set[str] = set()
        moved = waits = False
        place: Place | None = None
        self._tries = AGAIN
        while True:
            due = await self._access.call(self._backend.due_schedules, place)
            answers = [await self._fire(name) for name in due.names if name not in seen]
            self._progress()
            if any(answer.activities for answer in answers if answer):
                self._on_fired()
            moved |= any(not answer.held for answer in answers if answer)
            waits |= due.held or bool(due.names)
            place = due.more
            if not seen.isdisjoint(due.names):
                break
            seen.update(due.names)
            if place is None:
                self._aside = {name: at for name, at in self._aside.items() if name in seen}
                break
        if moved:
            return None
        ahead = [] if due.next_due is None else [due.next_due]
        return min([self._longest, *ahead, *([BREATH] if waits else [])])

    async def _fire(self, name: str) -> Fired | None:
        """What was made of it; None where it is left to others, or to a later look."""
        now = self._clock.monotonic()
        until = self._aside.get(name)
        if until is not None:
            if until > now or not self._tries:
                return None
            self._tries -= 1
        try:
            fired = await self._access.call(self._backend.fire_schedule, name)
        except (BackendUnavailable, SchemaError):
            raise
        except Exception as error:
            error.add_note(f"the schedule {name!r} is left alone for {ASIDE:g} s")
            self._aside[name] = now + ASIDE
            self._report(error)
            return None
        self._aside.pop(name, None)
        for activity in fired.activities if fired else ():
            self._emit(Enqueued(activity=activity, id=activity.id, created=True))
        return fired

    async def _sleep(self, seconds: float) -> None:
        """Until then, or a ring, which counts after a while only: most rings are about others."""
        with anyio.move_on_after(max(seconds, SHORTEST)):
            await anyio.sleep(BREATH)
            await self._bell.wait()
