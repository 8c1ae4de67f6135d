"""Follows activities by looking again and again: what is new since the latest look.

Who looks decides when. Each look reads the newest activities and some of those known that have not
ended, as many as the bounds allow; what they kept from being seen is said, never passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from taskq.backends import Inspector
from taskq.clock import Clock
from taskq.model import Status
from taskq.news import News, Seen, news
from taskq.snapshot import ActivityInfo, Filter, Page

ALIVE = tuple(status for status in Status if not status.terminal)


class Bounds(Struct, frozen=True, kw_only=True):
    """How much a look reads.

    New activities are looked for on ``pages`` pages of ``page``. Of those known that have not
    ended, ``followed`` are looked at: those running, then those that were not for longest.
    ``remembered`` are known. ``running`` of those that run, the newest, are read whether they are
    known or not (0: only known ones).
    """

    page: int = 200
    pages: int = 5
    followed: int = 1000
    remembered: int = 5000
    running: int = 0


class Look(Struct, frozen=True, kw_only=True):
    """What was new at a look: ``news``, oldest first. ``cut``: there were more new activities than
    it read, which will never be told of."""

    news: tuple[News, ...]
    cut: bool = False


class Lately:
    """The activities that match, from ``begin`` on. Its methods read the store directly: they are
    to run beside it, one at a time. One that is cut short changes nothing.
    """

    def __init__(
        self, reader: Inspector, clock: Clock, wanted: Filter, bounds: Bounds | None = None
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._wanted = wanted
        self._bounds = bounds or Bounds()
        self._seen: dict[UUID, Seen] = {}
        self._floor = UUID(int=0)
        self.blind = False

    @property
    def running(self) -> bool:
        """Whether anything known was running at its latest look."""
        return any(seen.status is Status.PROCESSING for seen in self._seen.values())

    async def begin(self) -> None:
        """What is there now is no news; what of it has not ended is followed."""
        items = await self._page(self._wanted, None)
        self._remember(items)
        if len(items) == self._bounds.page:
            self._floor = items[-1].id
            self.blind = True

    async def survey(self) -> Look:
        """Look at what has not ended, however old: what of it is known, and what is new. The rest
        is known from now on. ``blind`` afterwards unless that was all of it: then there is some
        that is neither known nor looked at."""
        alive = replace(self._wanted, statuses=ALIVE)
        met: dict[UUID, ActivityInfo] = {}
        before: UUID | None = None
        blind = True
        for _ in range(self._bounds.pages):
            items = await self._page(alive, before)
            met |= {item.id: item for item in items}
            if len(items) < self._bounds.page:
                blind = False
                break
            before = items[-1].id
        told = self._told(info for info in met.values() if self._tells(info.id))
        self.blind = blind
        self._remember(met.values())
        return Look(news=told)

    async def look(self, named: Collection[UUID] = (), resting: int | None = None) -> Look:
        """What is new. Those ``named`` are looked at too, whatever is known of them; of those that
        were not running, ``resting`` at the most, ``followed`` where it says nothing."""
        newest, cut = await self._newest()
        met = {info.id: info for info in (*newest, *await self._running())}
        wanted = [*self._due(met, resting), *(id for id in named if id not in met)]
        found: Mapping[UUID, ActivityInfo] = {}
        if wanted:
            found = await self._reader.get(wanted)
        met |= found
        told = self._told(met.values())
        self._remember(met.values())
        for id in wanted:
            if id not in found:
                self._seen.pop(id, None)
        return Look(news=told, cut=cut)

    async def _newest(self) -> tuple[list[ActivityInfo], bool]:
        """Page after page, as far as there is anything unknown on them; whether there is more."""
        found: list[ActivityInfo] = []
        before: UUID | None = None
        cut = False
        for _ in range(self._bounds.pages):
            page = await self._page(self._wanted, before)
            items = [item for item in page if item.id > self._floor]
            found += items
            if len(items) < self._bounds.page or all(item.id in self._seen for item in items):
                return found, False
            before = items[-1].id
            cut = not any(item.id in self._seen for item in items)
        return found, cut

    async def _running(self) -> Sequence[ActivityInfo]:
        if not self._bounds.running:
            return ()
        running = replace(self._wanted, statuses=(Status.PROCESSING,))
        return (await self._reader.list(running, Page(limit=self._bounds.running))).items

    async def _page(self, wanted: Filter, before: UUID | None) -> Sequence[ActivityInfo]:
        return (await self._reader.list(wanted, Page(limit=self._bounds.page, before=before))).items

    def _due(self, met: Collection[UUID], resting: int | None) -> list[UUID]:
        """Those known that are to be looked at by their ids. What is known is in the order in which
        it was looked at."""
        followed = self._bounds.followed
        running: list[UUID] = []
        others: list[UUID] = []
        for id, seen in self._seen.items():
            if not seen.status.terminal and id not in met:
                (running if seen.status is Status.PROCESSING else others).append(id)
        return [*running, *others[:resting]][:followed]

    def _told(self, infos: Iterable[ActivityInfo]) -> tuple[News, ...]:
        now = self._clock.now()
        fresh = [each for info in infos for each in news(self._before(info), info, now)]
        return tuple(sorted(fresh, key=lambda each: (each.at, each.info.id)))

    def _before(self, info: ActivityInfo) -> Seen | None:
        """What was known of it. What was there before the first look, or was forgotten, is not
        new: it is taken to have been waiting."""
        return self._seen.get(info.id) if self._tells(info.id) else Seen.waiting(info)

    def _tells(self, id: UUID) -> bool:
        """Whether it is known or new: not one that was there before, or was forgotten."""
        return id in self._seen or id > self._floor

    def _remember(self, infos: Iterable[ActivityInfo]) -> None:
        """Those that have ended are forgotten first, the oldest of them, and nothing older is new
        again."""
        for info in infos:
            self._seen.pop(info.id, None)
            self._seen[info.id] = Seen.of(info)
        many = len(self._seen) - self._bounds.remembered
        if many <= 0:
            return
        ended = {id for id, seen in self._seen.items() if seen.status.terminal}
        for id in sorted(self._seen, key=lambda id: (id not in ended, id))[:many]:
            del self._seen[id]
            self._floor = max(self._floor, id)
            self.blind = self.blind or id not in ended
