"""One client of the stream: its place in the ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from taskq.bridge import Doorbell
from taskq.web.live.broadcast import Broadcast
from taskq.web.live.event import Event, Gap, Kind, Place

BATCH: Final = 100
"""Events that are taken at once."""


class Message(Struct, frozen=True):
    """An event for one client; ``id`` is where it stands then, None where it stands as before."""

    event: Event
    id: str | None = None


class Subscription:
    """Gives what comes, in order; what was lost on the way is a gap, where it was.

    It keeps a number, not events: however slow its client is, it costs nothing, and no other
    notices. ``bell`` rings when there may be something to take, ``ended`` when nothing will come.
    ``after`` is the id of the latest event that the client has had, None for one that is new.
    ``most``: where more than so many wait for it, those of activities are passed over, and a gap
    stands for them.
    """

    def __init__(
        self,
        broadcast: Broadcast,
        after: str | None,
        release: Callable[[Subscription], None],
        most: int | None = None,
    ) -> None:
        self.bell = Doorbell()
        self.ended = Doorbell()
        self.broadcast = broadcast
        self._after = after
        self._release = release
        self._most = most
        self._place: int | None = None
        self._stats: Event | None = None

    def take(self) -> list[Message]:
        """What has come since, at most ``BATCH`` events of it and what belongs to them. Empty:
        nothing yet. Never waits."""
        return [*self._placed(), *self._read(), *self._numbers()]

    def close(self) -> None:
        """Give the slot back. Safe to repeat; never waits."""
        self._release(self)

    def end(self) -> None:
        """Nothing will come any more."""
        self.ended.ring()
        self.bell.ring()

    def _placed(self) -> Iterator[Message]:
        """Where it begins: only when the store was looked at, so that what is read after that and
        what the stream tells leave no hole between them."""
        broadcast = self.broadcast
        stale = broadcast.stale
        if self._place is not None or not (broadcast.begun or stale):
            return
        ring = broadcast.ring
        found = None if self._after is None else ring.place(self._after)
        reset = self._after is not None and found is None
        self._place = ring.last if found is None else found
        id = ring.id(self._place)
        yield Message(Event(Kind.RESET if reset else Kind.HELLO, Place(id=id)), id)
        if stale is not None and found is None:
            yield Message(stale)

    def _read(self) -> Iterator[Message]:
        if self._place is None:
            return
        ring = self.broadcast.ring
        if self._most is not None and ring.last - self._place > self._most:
            yield from self._passed_over(self._place)
        read = ring.after(self._place, BATCH)
        if read.missed:
            yield Message(_gap("slow", read.missed), ring.id(read.first - 1))
        for number, event in enumerate(read.items, read.first):
            yield Message(event, ring.id(number))
        self._place = read.place

    def _passed_over(self, place: int) -> Iterator[Message]:
        """A gap for all that waits, and what of it is not of activities."""
        ring = self.broadcast.ring
        read = ring.after(place, ring.last - place)
        kept = [each for each in read.items if each.kind is not Kind.ACTIVITY]
        self._place = read.place
        yield Message(_gap("many", read.place - place - len(kept)), ring.id(read.place))
        yield from map(Message, kept)

    def _numbers(self) -> Iterator[Message]:
        """The newest numbers only: nobody needs those before."""
        stats = self.broadcast.stats
        if self._place is not None and stats is not None and stats is not self._stats:
            self._stats = stats
            yield Message(stats)


def _gap(reason: str, missed: int) -> Event:
    return Event(Kind.GAP, Gap(reason=reason, missed=missed))
