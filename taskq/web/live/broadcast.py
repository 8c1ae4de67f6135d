"""One run of the stream: looks at the store, and keeps what is new in a ring.

It runs on a thread and an event loop of its own, so that it needs nothing of the server that the
console is mounted in. Hints say when to look; without any, it looks all the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from taskq.backends import Topic, Watch
from taskq.bridge import Doorbell
from taskq.errors import BackendError
from taskq.following import Bounds, Lately, Look
from taskq.logs import stream_failed
from taskq.pausing import Pause
from taskq.snapshot import Filter
from taskq.web.live.event import ControlEvent, Event, Gap, Kind, Notice
from taskq.web.live.heard import Heard, Told
from taskq.web.live.ring import Ring
from taskq.web.live.source import Source
from taskq.web.views.stats import COUNTED_TO, StatsView

RING: Final = 10_000
"""Events that can be had again."""
BOUNDS: Final = Bounds(page=100, pages=10, followed=500, remembered=20_000, running=500)
HINTED: Final = 100
"""Of those known that wait, so many are looked at when hints say what has moved; all that bounds
allow where they do not say what, or when it is time; none otherwise."""
NAMED: Final = 1000
"""Activities that hints have named, at one look."""
PATIENCE: Final = 5.0
"""Seconds for the end of the watch."""


class Rhythm(Struct, frozen=True, kw_only=True):
    """When to look, in seconds.

    ``rest`` is between two looks at the least, and ``share`` times as long as the look took;
    ``poll`` without a hint while anything happens or runs, ``idle`` otherwise. Numbers come every
    ``stats`` at the most, and are looked at every ``quiet`` while nothing happens; both are longer
    where they take long. ``survey`` is between two looks at all that has not ended, ``thorough``
    between two looks that trust no hint, ``backlog`` between two gaps for what cannot be followed.
    ``linger``: how long to go on when nobody listens.
    """

    rest: float = 0.25
    share: float = 4.0
    poll: float = 0.5
    idle: float = 1.0
    stats: float = 1.0
    quiet: float = 10.0
    survey: float = 2.0
    backlog: float = 5.0
    thorough: float = 5.0
    linger: float = 5.0


class Broadcast:
    """What is new in the store of ``source``, as events in ``ring``.

    On its own thread ``changed`` is called when there is something to read; ``alone`` says whether
    nobody listens, ``retire`` whether to end then; ``ended`` is called at the end, whatever it was.
    """

    def __init__(
        self,
        source: Source,
        *,
        rhythm: Rhythm,
        changed: Callable[[], None],
        alone: Callable[[], bool],
        retire: Callable[[], bool],
        ended: Callable[[], None],
    ) -> None:
        self.ring = Ring[Event](secrets.token_hex(4), RING)
        self.begun = False
        self.stale: Event | None = None
        self.stats: Event | None = None
        self._source = source
        self._rhythm = rhythm
        self._changed = changed
        self._alone = alone
        self._retire = retire
        self._ended = ended
        self._heard = Heard()
        self._stop = Doorbell()
        self._watch: Watch | None = None
        self._lately = Lately(source.reader, source.app.clock, Filter(), BOUNDS)
        self._busy = False
        self._pauses: list[Pause] = []
        self._numbers: StatsView | None = None
        self._numbers_due = True
        self._counted_at = self._surveyed_at = self._blinded_at = float("-inf")
        self._thorough_at = float("-inf")
        self._look_took = self._count_took = 0.0
        self._clock = source.app.clock

    def stop(self) -> None:
        """End soon; from any thread, without waiting."""
        self._stop.ring()
        self._heard.bell.ring()

    async def run(self) -> None:
        """Until it is over. Cancelled, it ends its watch all the same."""
        try:
            await self._live()
        except Exception as error:
            stream_failed(error)
        finally:
            self._ended()

    def forget(self) -> None:
        """In a forked child: hints still come here, and nobody takes them."""
        self._heard.deafen()

    async def _live(self) -> None:
        heard_at = anyio.current_time()
        try:
            while not self._stop.rung and not self._closed:
                now = anyio.current_time()
                if not self._alone():
                    heard_at = now
                elif now - heard_at >= self._rhythm.linger and self._retire():
                    return
                await self._turn()
                await self._rest()
        finally:
            await self._end_watch()

    @property
    def _closed(self) -> bool:
        """Whether the app was closed: one more question would open its store again."""
        return self.begun and not self._source.app.client.is_open

    async def _turn(self) -> None:
        """One look, as far as the store lets."""
        self._heard.bell.clear()
        before = self.ring.last, self.stats, self.begun
        try:
            await self._look()
        except BackendError:
            if self.stale is None:
                self.stale = Event(Kind.STALE, Notice(at=self._clock.now()))
                self.ring.append(self.stale)
        else:
            if self.stale is not None:
                self.stale = None
                self.ring.append(Event(Kind.LIVE, Notice(at=self._clock.now())))
        if before != (self.ring.last, self.stats, self.begun) or self.stale is not None:
            self._changed()

    async def _look(self) -> None:
        client = self._source.app.client
        if self._watch is None:
            topics = (Topic.READY, Topic.DONE, Topic.CANCEL, Topic.CONTROL)
            self._watch = await client.call(client.store.watch, topics, self._heard.hear)
        if not self.begun:
            self._pauses = await self._source.ask(self._source.reader.pauses)
            await self._source.ask(self._lately.begin)
            await self._survey()
            self.begun = True
        told = self._heard.take(NAMED)
        began = anyio.current_time()
        try:
            await self._look_for(told)
        except BaseException:
            self._heard.put_back(told)
            raise
        self._look_took = anyio.current_time() - began
        await self._count()

    async def _look_for(self, told: Told) -> None:
        rhythm = self._rhythm
        was_blind = self._lately.blind
        look = await self._source.ask(self._lately.look, told.ids, self._resting(told))
        if look.cut or told.dropped:
            self._gap("burst", None if look.cut else told.dropped)
        moved = told.unnamed and _since(self._blinded_at) >= rhythm.backlog
        if self._lately.blind and (moved or not was_blind):
            self._blinded_at = anyio.current_time()
            self._gap("backlog")
        self._tell(look)
        if told.ready and _since(self._surveyed_at) >= rhythm.survey:
            await self._survey()
        if told.control:
            await self._ask_for_pauses()
        self._busy = bool(look.news) or self._lately.running
        self._numbers_due = self._numbers_due or bool(look.news) or told.control

    def _resting(self, told: Told) -> int | None:
        """How many of those that wait are looked at."""
        if told.unnamed or _since(self._thorough_at) >= self._rhythm.thorough:
            self._thorough_at = anyio.current_time()
            return None
        return HINTED if told.ready or told.ids else 0

    async def _survey(self) -> None:
        self._surveyed_at = anyio.current_time()
        self._tell(await self._source.ask(self._lately.survey))

    async def _ask_for_pauses(self) -> None:
        pauses = await self._source.ask(self._source.reader.pauses)
        if pauses != self._pauses:
            self._pauses = pauses
            event = ControlEvent(at=self._clock.now(), pauses=tuple(pauses))
            self.ring.append(Event(Kind.CONTROL, event))

    async def _count(self) -> None:
        """The numbers, where they may have changed; that something waits longer is no change."""
        pause = self._rhythm.stats if self._numbers_due else self._rhythm.quiet
        if _since(self._counted_at) < max(pause, self._rhythm.share * self._count_took):
            return
        began = anyio.current_time()
        ask = partial(self._source.reader.stats, cap=COUNTED_TO)
        numbers = StatsView.of(await self._source.ask(ask))
        self._counted_at, self._numbers_due = anyio.current_time(), False
        self._count_took = self._counted_at - began
        if self._numbers is None or _settled(numbers) != _settled(self._numbers):
            self._numbers = numbers
            self.stats = Event(Kind.STATS, numbers)

    def _tell(self, look: Look) -> None:
        for news in look.news:
            self.ring.append(Event.of(news))

    def _gap(self, reason: str, missed: int | None = None) -> None:
        self.ring.append(Event(Kind.GAP, Gap(reason=reason, missed=missed)))

    async def _rest(self) -> None:
        """Until there may be something new."""
        rhythm = self._rhythm
        rest = max(rhythm.rest, rhythm.share * self._look_took)
        with anyio.move_on_after(rest):
            await self._stop.wait()
        poll = rhythm.poll if self._busy or self._numbers_due else rhythm.idle
        with anyio.move_on_after(max(0.0, poll - rest)):
            await self._heard.bell.wait()

    async def _end_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None and not self._closed:
            with anyio.CancelScope(shield=True):
                await self._source.app.client.bridge.call(watch.close, deadline=PATIENCE)


def _since(then: float) -> float:
    return anyio.current_time() - then


def _settled(numbers: StatsView) -> StatsView:
    return replace(numbers, oldest_pending=None)
