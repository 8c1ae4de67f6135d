"""Where it is measured: a server, and databases on it with and without big tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from benchmarks import filling
from benchmarks.row import Scale
from tests.postgres_databases import Databases
from tests.postgres_server import private_server

BUFFERS = "shared_buffers=512MB"
"""What peers were measured with; the rest is as the server comes, fsync on."""


LONGEST = 900.0
"""Seconds that filling a table may take."""


class Ground:
    """Databases on one server. The big ones are made when first needed, and then kept."""

    def __init__(self, databases: Databases, scale: Scale) -> None:
        self.scale = scale
        self._databases = databases

    def fresh(self) -> str:
        """The URL of a new database with the tables in it, empty."""
        return self._databases.fresh()

    def run(self, url: str, *statements: str) -> Sequence[Any]:
        """Run statements one by one, each by itself; the rows of the last one."""
        return self._databases.run(url, *statements)

    @property
    def version(self) -> str:
        """The server's."""
        [[version]] = self._databases.run(self.fresh(), "SELECT version()")
        return str(version)

    def refill(self, url: str, count: int) -> None:
        """Have ``count`` ready activities of type ``noop`` there, and no others of it."""
        self.run(url, *filling.emptied(), *filling.ready(count), *filling.settled())

    @cached_property
    def beside(self) -> str:
        """A database with ``big`` future and ``big`` finished activities."""
        url = self.fresh()
        big = self.scale.big
        self.run(url, *filling.future(big), *filling.finished(big), *filling.settled())
        return url

    @cached_property
    def many_types(self) -> str:
        """A database with ``big`` ready activities of 200 types, few of them of the first one."""
        url = self.fresh()
        self.run(url, *filling.types(self.scale.big, 200 * self.scale.claims), *filling.settled())
        return url


@contextmanager
def ground(scale: Scale, url: str | None) -> Iterator[Ground]:
    """On the server at ``url``, else on a private one with fsync on. Raises NoServer."""
    if url is not None:
        with _databases(url) as databases:
            yield Ground(databases, scale)
        return
    with private_server(durable=True) as server:
        server.settings = (BUFFERS,)
        server.stop("fast")
        server.start()
        with _databases(server.url) as databases:
            yield Ground(databases, scale)


@contextmanager
def _databases(url: str) -> Iterator[Databases]:
    databases = Databases(url, deadline=LONGEST)
    try:
        yield databases
    finally:
        databases.close()
