"""The latest events, numbered: where each reader goes on from its own place."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Read(Struct, Generic[T], frozen=True):
    """What a reader got: ``items`` with the numbers from ``first`` on, one after the other.
    ``missed`` were between its place and them, and are gone."""

    first: int
    items: tuple[T, ...]
    missed: int = 0

    @property
    def place(self) -> int:
        """Where the reader stands now: the number of the latest event that it has had."""
        return self.first + len(self.items) - 1


class Ring(Generic[T]):
    """The latest ``size`` of all that was appended, numbered from 1. Thread-safe.

    Nothing here knows its readers, so that none costs memory and none waits for another: a reader
    is a number. An id is ``<epoch>-<number>``; ``epoch`` tells one ring from all others.
    """

    def __init__(self, epoch: str, size: int) -> None:
        self.epoch = epoch
        self._size = size
        self._items: list[T] = []
        self._last = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def last(self) -> int:
        """The number of the newest event; 0 when there was none."""
        return self._last

    def append(self, item: T) -> int:
        """Add the newest; answers its number."""
        with self._lock:
            if len(self._items) < self._size:
                self._items.append(item)
            else:
                self._items[self._last % self._size] = item
            self._last += 1
            return self._last

    def after(self, place: int, limit: int) -> Read[T]:
        """Up to ``limit`` of what came after the event of this number, oldest first."""
        with self._lock:
            oldest = self._last - len(self._items) + 1
            first = max(place + 1, oldest)
            end = min(first + limit, self._last + 1)
            items = tuple(self._items[(number - 1) % self._size] for number in range(first, end))
        return Read(first, items, first - place - 1)

    def id(self, number: int) -> str:
        """How clients call the event of this number."""
        return f"{self.epoch}-{number}"

    def place(self, id: str) -> int | None:
        """The number in an id from which a reader can go on without a loss. None where it cannot:
        the id is another ring's or no id, or what followed it is gone."""
        epoch, _, digits = id.rpartition("-")
        if epoch != self.epoch or not (digits.isascii() and digits.isdecimal()):
            return None
        if len(digits) > len(str(self._last)):
            return None
        number = int(digits)
        with self._lock:
            kept = self._last - len(self._items) <= number <= self._last
        return number if kept else None
