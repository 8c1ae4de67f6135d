"""The protocol of stores that have readers beside them: for a console, which must cost nobody a
connection and must not be able to write."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from taskq.backends.inspector import Inspector


class Reader(Inspector, Protocol):
    """An Inspector with connections of its own, which cannot write. It runs where its store runs,
    on the storage loop; a question that takes too long is stopped: QueryTimeout."""

    @property
    def location(self) -> str:
        """Where it reads, as ``Backend.location``."""
        ...

    async def open(self) -> None:
        """Connect and check that the tables are there. It never makes any, nor a file. Safe to
        repeat; called before any other method, again after ``close``."""
        ...

    async def close(self) -> None:
        """Give back every connection and thread. Safe to repeat."""
        ...

    def after_fork(self) -> None:
        """In a forked child: forget inherited connections without closing them."""
        ...


@runtime_checkable
class Readable(Protocol):
    """What a store has beside ``Store`` when it can give such readers. Others are read as they
    are."""

    def reader(self, *, connections: int = 2, timeout: float = 2.0) -> Reader:
        """A new reader, not yet open, with up to so many connections. ``timeout`` is the seconds
        that one statement may take."""
        ...
