"""The hints that came between two looks."""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock
from typing import Final
from uuid import UUID

from msgspec import Struct

from taskq.backends import Hint, Topic
from taskq.bridge import Doorbell

MOST: Final = 20_000
"""Ids that wait to be looked at."""


class Told(Struct, frozen=True, kw_only=True):
    """What hints have said: ``ids`` that were named, whether ``ready`` and ``control`` were
    touched, whether ``unnamed`` ones may have ended, and how many ids were ``dropped``."""

    ids: tuple[UUID, ...] = ()
    ready: bool = False
    control: bool = False
    unnamed: bool = False
    dropped: int = 0


class Heard:
    """Gathers hints from any thread; each rings the ``bell``."""

    def __init__(self) -> None:
        self.bell = Doorbell()
        self._lock = Lock()
        self._ids: dict[UUID, None] = {}
        self._touched: set[Topic] = set()
        self._unnamed = False
        self._dropped = 0
        self._deaf = False

    def hear(self, hint: Hint) -> None:
        """A hint has come."""
        if self._deaf:
            return
        with self._lock:
            self._touched.add(hint.topic)
            if hint.ids is not None:
                self._add(hint.ids)
            elif hint.topic is Topic.DONE:
                self._unnamed = True
        self.bell.ring()

    def deafen(self) -> None:
        """Hear nothing any more: in a forked child, where the lock may be another thread's."""
        self._deaf = True

    def take(self, limit: int) -> Told:
        """What has come; at most ``limit`` ids, the others stay."""
        with self._lock:
            ids = tuple(self._ids)[:limit]
            for id in ids:
                del self._ids[id]
            told = Told(
                ids=ids,
                ready=Topic.READY in self._touched,
                control=Topic.CONTROL in self._touched,
                unnamed=self._unnamed,
                dropped=self._dropped,
            )
            self._touched, self._unnamed, self._dropped = set(), False, 0
            left = bool(self._ids)
        if left:
            self.bell.ring()
        return told

    def put_back(self, told: Told) -> None:
        """It was taken in vain."""
        with self._lock:
            self._add(told.ids)
            self._touched |= {Topic.READY} if told.ready else set()
            self._touched |= {Topic.CONTROL} if told.control else set()
            self._unnamed = self._unnamed or told.unnamed
            self._dropped += told.dropped

    def _add(self, ids: Collection[UUID]) -> None:
        for id in ids:
            if len(self._ids) >= MOST and id not in self._ids:
                self._dropped += 1
            else:
                self._ids[id] = None
