"""Connections to PostgreSQL that one test leaves to the next.

Nearly every test of the contract needs three, and for each the server forks a process, reads its
catalogue and plans every statement anew: more than half of what a test costs. A backend holds
nothing in a session, so that the next one may have it.
"""

from __future__ import annotations

from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.backend import CALLERS, ENGINE
from taskq.backends.sql.postgres.connections import Connections
from taskq.backends.sql.postgres.facade import Facade
from taskq.bridge import ResidentBridge
from taskq.bridge.protocol import GRACE


class _Connections(Connections):
    async def close(self) -> None:
        """Leave them to the next one."""

    async def end(self) -> None:
        """Close them."""
        await super().close()


class _Facade(Facade):
    async def close(self) -> None:
        """Leave its connections to the next one."""

    async def end(self) -> None:
        """Close them."""
        await super().close()


class _Bridge(ResidentBridge):
    async def aclose(self, grace: float = GRACE) -> None:
        """Stay for the next one."""


class Kept:
    """A storage loop, and connections on it: for one backend after the other."""

    def __init__(self, url: str) -> None:
        self.bridge = _Bridge()
        self._url = url
        address = address_of(url)
        self._callers = _Connections(address, limit=CALLERS, schema=None)
        self._engine = _Connections(address, limit=ENGINE, schema=None)
        self._facade = _Facade(address, schema=None, lock_timeout="3000ms")

    def backend(self) -> PostgresBackend:
        """A new one; its watches and hints are its own."""
        backend = PostgresBackend(self._url)
        backend._callers, backend._engine = self._callers, self._engine
        backend._facade = self._facade
        return backend

    def end(self) -> None:
        """Close everything."""
        for each in (self._callers, self._engine, self._facade):
            self.bridge.call_sync(each.end)
        self.bridge.close()
