"""A worker under ``taskq worker -w N``, towards its parent.

It runs in a thread with an event loop of its own, so that it is heard while a handler blocks the
worker's.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import anyio
from anyio.abc import UNIXSocketStream
from msgspec import Struct
from msgspec.json import encode

from taskq.cli.failure import Refused
from taskq.clock import Clock, SystemClock
from taskq.engine import Health, State, Stuck

EVERY: Final = 1.0
"""Seconds between two reports."""
LONG: Final = 10.0
"""Seconds for which every slot may be held by a thread past its timeout."""

GRACEFULLY: Final = b"s"
NOW: Final = b"n"
"""What a parent says: stop gracefully, stop now."""


class Place(Struct, frozen=True):
    """What ``--member`` says: the pipe's file descriptor, which of the members this is, and the
    descriptor of the socket on which it is to serve the console."""

    pipe: int
    seat: int
    web: int | None = None


class Report(Struct, frozen=True, kw_only=True):
    """What a member says each second, and once more when it ends by itself.

    ``patience``: seconds for which its event loop may be silent; None is without limit. ``last``:
    its worker has ended, in one way or another. ``drained``: as a burst does, nothing was left.
    """

    name: str
    grace: float
    health: Health
    patience: float | None
    last: bool = False
    drained: bool = False


class Watched(Protocol):
    """What a member sees of its engine."""

    @property
    def stuck(self) -> Stuck | None:
        """What it cannot get out of by itself."""
        ...

    @property
    def patience(self) -> float:
        """Seconds for which its event loop may be silent."""
        ...

    @property
    def drained(self) -> bool:
        """Whether it was a burst that came to its end."""
        ...

    def health(self) -> Health:
        """How it fares."""
        ...


class Membership:
    """Reports, hears of stops, and leaves when the worker is stuck (design 7.5, 7.15).

    ``stop`` is told the stage of a stop: 1 gracefully, 2 now. ``leave`` ends the process with an
    exit code: a stuck event loop comes to no end by itself, and what it holds is lost.
    """

    def __init__(
        self,
        place: Place,
        engine: Watched,
        *,
        name: str,
        grace: float,
        stop: Callable[[int], object],
        leave: Callable[[int], object] = os._exit,
        clock: Clock | None = None,
    ) -> None:
        self._place = place
        self._engine = engine
        self._name = name
        self._grace = grace
        self._stop = stop
        self._leave = leave
        self._clock = clock or SystemClock()
        self._held_since: float | None = None

    async def serve(self) -> None:
        """Until cancelled, as it is when the worker has ended: then it says so."""
        stream = await UNIXSocketStream.from_socket(self._place.pipe)
        async with stream:
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._report, stream)
                    await self._hear(stream)
            finally:
                with anyio.move_on_after(EVERY, shield=True):
                    await self._say(stream, last=True)

    async def _hear(self, stream: UNIXSocketStream) -> None:
        while True:
            try:
                words = await stream.receive(16)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self._stop(1)  # the parent is gone
                return
            self._stop(2 if NOW in words else 1)

    async def _report(self, stream: UNIXSocketStream) -> None:
        while True:
            self.consider()
            state = await self._say(stream)
            await anyio.sleep(EVERY / 10 if state == State.NEW else EVERY)

    async def _say(self, stream: UNIXSocketStream, *, last: bool = False) -> str:
        """Report; the state that was reported."""
        patience = self._engine.patience
        report = Report(
            name=self._name,
            grace=self._grace,
            health=self._engine.health(),
            patience=patience if patience < math.inf else None,
            last=last,
            drained=self._engine.drained,
        )
        # Without a parent nobody hears it; whoever hears the parent learns of that.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.send(encode(report) + b"\n")
        return report.health.state

    def consider(self) -> None:
        """Leave a worker that does nothing any more to its parent's care."""
        match self._engine.stuck:
            case None:
                self._held_since = None
            case Stuck.LOOP:
                self._leave(1)
            case Stuck.SLOTS:
                now = self._clock.monotonic()
                if self._held_since is None:
                    self._held_since = now
                elif now - self._held_since >= LONG:
                    self._stop(1)


def place(text: str) -> Place:
    """Read what ``--member`` says. Refused for anything that a parent does not say."""
    words = text.split(":")
    if not 2 <= len(words) <= 3 or not all(map(str.isdigit, words)):
        raise Refused(_FROM_A_PARENT)
    found = Place(*map(int, words))
    try:
        socket.socket(fileno=os.dup(found.pipe)).close()
    except OSError as error:
        raise Refused(_FROM_A_PARENT) from error
    for descriptor in (found.pipe, found.web):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    return found


_FROM_A_PARENT = "--member is what a parent gives its worker processes: use -w"
