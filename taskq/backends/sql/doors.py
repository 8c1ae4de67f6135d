"""The two ways in which both SQL stores run what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from taskq.backends.changes import Changes

T = TypeVar("T")


class ReadingDoors(ABC):
    """Functions of a connection and ``now``, the store's instant, run to read."""

    @abstractmethod
    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        """Run ``function``, of several statements, on one consistent view."""

    async def _ask(self, function: Callable[[Connection, datetime], T]) -> T:
        """Run ``function``, of one statement."""
        return await self._read(function)

    @abstractmethod
    def _monotonic(self) -> float:
        """Seconds that never go back, from any thread."""


class Doors(ReadingDoors):
    """The same, and those that write, run in transactions."""

    @abstractmethod
    async def _write(self, function: Callable[[Connection, datetime], tuple[T, Changes]]) -> T:
        """Run ``function`` in a transaction; its hints follow the commit."""
