"""The SQLite backend: one file, nothing to install, nothing to start."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace
from sqlalchemy import Connection

from taskq.backends import (
    CallerTransaction,
    Capabilities,
    ClaimRequest,
    Enlisted,
    Heartbeat,
    Hint,
    ProgressReport,
    Promotion,
    Renewal,
    Topic,
    Watch,
)
from taskq.backends.changes import Changes
from taskq.backends.sql import reader, writer
from taskq.backends.sql.chunks import CHUNK
from taskq.backends.sql.common import CommonStore
from taskq.backends.sql.sqlite.connect import Mode, make_engine, transaction
from taskq.backends.sql.sqlite.failures import mapped
from taskq.backends.sql.sqlite.reader import SQLiteReader
from taskq.backends.sql.sqlite.schema import set_up
from taskq.backends.sql.sqlite.watching import Watches, data_version
from taskq.bridge.lane import Lane
from taskq.clock import Clock, SystemClock
from taskq.errors import BackendError, BackendUnavailable
from taskq.lifecycle import Settlement, Transition
from taskq.model import Activity, Attempt, Ended, Lease, Receipt

T = TypeVar("T")


class SQLiteBackend(CommonStore):
    """``taskq.backends.Store`` in the SQLite file at ``path``, shared by any number of processes.

    The file is created and its tables are set up by ``open``. ``clock`` is the only time (one
    host). A write waits at most ``lock_timeout`` seconds for another connection's transaction, then
    raises BackendUnavailable. Writes run one at a time on a thread with one connection, each as one
    transaction that is never left half done; reads beside them on another.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Clock | None = None, lock_timeout: float = 3.0
    ) -> None:
        self._path = os.path.abspath(path)
        self._clock: Clock = SystemClock() if clock is None else clock
        self._mapped = partial(mapped, self._path, lock_timeout=lock_timeout)
        self._engine = make_engine(self._path, lock_timeout=lock_timeout)
        self._writer = self._lane("taskq-writer")
        self._reader = self._lane("taskq-reader")
        # The storage loop itself looks for commits of others: it must never wait for a lock.
        impatient = make_engine(self._path, lock_timeout=0.0)
        self._watches = Watches(impatient, self._changed_elsewhere)
        self._version_seen: int | None = None
        self._opened = False

    @property
    def capabilities(self) -> Capabilities:
        """It outlives processes, they share it, it needs the storage loop, and callers may store
        calls in transactions of their own."""
        return Capabilities(durable=True, shared=True, resident=True, transactional=True)

    @property
    def location(self) -> str:
        """The file's absolute path."""
        return self._path

    async def open(self) -> None:
        """See ``Backend.open``. Raises SchemaError where a newer taskq has made the file."""
        if not self._opened:
            await self._writer.run(self._set_up)
            self._opened = True

    async def close(self) -> None:
        """See ``Backend.close``. Watches end; the file's write-ahead log is folded in."""
        self._opened = False
        await self._watches.close()
        try:
            await self._reader.close()
        finally:
            await self._writer.close()

    def after_fork(self) -> None:
        """See ``Backend.after_fork``. Connections were closed before the fork, see ``forks``."""
        self._writer.forget()
        self._reader.forget()
        self._watches.forget()
        self._opened = False

    # -- Backend --

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        """See ``Backend.submit``."""
        if not activities:
            return []
        return await self._write(lambda connection, now: writer.submit(connection, now, activities))

    def _submitted(
        self, connection: Connection, now: datetime, activities: Sequence[Activity[object]]
    ) -> tuple[list[Receipt], Changes]:
        return writer.submit(connection, now, activities)

    async def claim(self, request: ClaimRequest) -> list[Attempt]:
        """See ``Backend.claim``. Finding nothing takes no lock."""

        def claim(connection: Connection) -> list[Attempt]:
            if not self._inside(
                connection, lambda _: writer.any_ready(connection, request), "NONE"
            ):
                return []
            return self._commit(connection, lambda now: writer.claim(connection, now, request))

        return await self._writer.run(claim)

    async def claim_overdue(self, worker: UUID, limit: int, lease: float) -> list[Attempt]:
        """See ``Backend.claim_overdue``. Finding nothing takes no lock."""

        def claim(connection: Connection) -> list[Attempt]:
            if not self._inside(
                connection, lambda now: writer.any_overdue(connection, now), "NONE"
            ):
                return []
            return self._commit(
                connection, lambda now: writer.claim_overdue(connection, now, worker, limit, lease)
            )

        return await self._writer.run(claim)

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        """See ``Backend.settle``."""
        if not transitions:
            return []
        return await self._write(
            lambda connection, now: writer.settle(connection, now, transitions)
        )

    async def report_progress(self, worker: UUID, reports: Sequence[ProgressReport]) -> None:
        """See ``Backend.report_progress``."""
        if reports:
            await self._write(
                lambda connection, _: writer.report_progress(connection, worker, reports)
            )

    async def held(self, worker: UUID) -> list[Lease]:
        """See ``Backend.held``. Comes after every claim that was asked for before."""
        held = await self._ask(
            lambda connection, _: writer.held(connection, worker), lane=self._writer
        )
        return [Lease(row.id, row.claim) for row in held]

    async def heartbeat(self, beat: Heartbeat) -> Renewal:
        """See ``Backend.heartbeat``."""
        try:
            return await self._write(
                lambda connection, now: writer.heartbeat(connection, now, beat)
            )
        except BackendUnavailable:
            raise
        except BackendError as error:
            unreported = error
        renewal = await self._write(lambda connection, now: writer.renew(connection, now, beat))
        return replace(renewal, unreported=unreported)

    async def cancel_requests(self, worker: UUID) -> list[UUID]:
        """See ``Backend.cancel_requests``."""
        held = await self._ask(lambda connection, _: writer.held(connection, worker))
        return [row.id for row in held if row.cancel_requested_at is not None]

    async def retire(self, worker: UUID) -> None:
        """See ``Backend.retire``."""
        await self._write(lambda connection, _: writer.retire(connection, worker))

    async def expired(self, limit: int) -> list[Attempt]:
        """See ``Backend.expired``."""
        return await self._ask(lambda connection, now: reader.expired(connection, now, limit))

    async def promote(self, limit: int) -> Promotion:
        """See ``Backend.promote``. Moving nothing takes no lock."""

        def promote(connection: Connection) -> Promotion:
            ahead = self._inside(connection, lambda now: writer.until_due(connection, now), "NONE")
            if ahead is None or ahead > 0:
                return Promotion(moved=0, next_due=ahead)
            return self._commit(connection, lambda now: writer.promote(connection, now, limit))

        return await self._writer.run(promote)

    async def outcomes(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        """See ``Backend.outcomes``."""
        ask = self._ask if len(ids) <= CHUNK else self._read
        return await ask(lambda connection, _: reader.outcomes(connection, ids))

    async def watch(self, topics: Collection[Topic], listener: Callable[[Hint], None]) -> Watch:
        """See ``Backend.watch``."""
        watch = self._watches.add(topics, listener)
        await self._changed_elsewhere()
        return watch

    # -- Transactional --

    def enlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """See ``Transactional.enlist``. Takes the file's write lock until the transaction ends."""
        from taskq.backends.sql.caller import connection_of

        return self._enlist(connection_of(transaction), activities)

    async def aenlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """See ``Transactional.aenlist``."""
        from taskq.backends.sql.caller import on_connection

        return await on_connection(transaction, partial(self._enlist, activities=activities))

    def _enlist(self, connection: Connection, activities: Sequence[Activity[object]]) -> Enlisted:
        """What few programs do is loaded when they do it: it takes longer than all else here."""
        from taskq.backends.sql.sqlite.enlisting import enlist

        return enlist(connection, activities, path=self._path, now=self._clock.now)

    # -- Readable --

    def reader(self, *, connections: int = 2, timeout: float = 2.0) -> SQLiteReader:
        """See ``Readable.reader``. It has one connection: there is one thread for it."""
        return SQLiteReader(self._path, clock=self._clock, timeout=timeout)

    # -- transactions --

    async def _write(self, function: Callable[[Connection, datetime], tuple[T, Changes]]) -> T:
        """Run ``function`` in a transaction of the writer; its hints follow the commit."""
        return await self._writer.run(
            lambda connection: self._commit(connection, lambda now: function(connection, now))
        )

    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        """Run ``function``, of several statements, on one consistent view of the file."""
        return await self._reader.run(
            lambda connection: self._inside(
                connection, lambda now: function(connection, now), "DEFERRED"
            )
        )

    async def _ask(
        self, function: Callable[[Connection, datetime], T], *, lane: Lane[Connection] | None = None
    ) -> T:
        """Run ``function``, of one statement, which needs no transaction around it."""
        return await (lane or self._reader).run(
            lambda connection: self._inside(
                connection, lambda now: function(connection, now), "NONE"
            )
        )

    def _monotonic(self) -> float:
        return self._clock.monotonic()

    def _commit(
        self, connection: Connection, function: Callable[[datetime], tuple[T, Changes]]
    ) -> T:
        answer, changes = self._inside(connection, function, "IMMEDIATE")
        self._watches.committed(changes.hints())
        return answer

    def _inside(self, connection: Connection, function: Callable[[datetime], T], mode: Mode) -> T:
        with self._mapped(), transaction(connection, mode):
            return function(self._clock.now())

    # -- on the lanes --

    def _lane(self, name: str) -> Lane[Connection]:
        return Lane(name, open=self._connect, close=self._disconnect, spoils=BackendError)

    def _connect(self) -> Connection:
        self._version_seen = None
        with self._mapped():
            return self._engine.connect()

    def _disconnect(self, connection: Connection) -> None:
        with self._mapped():
            connection.close()

    def _set_up(self, connection: Connection) -> None:
        with self._mapped():
            set_up(connection, self._path)

    async def _changed_elsewhere(self) -> bool:
        """Whether another process has committed since this was last asked.

        The writer's own commits do not change the version that its own connection reads.
        """

        def look(connection: Connection) -> bool:
            with self._mapped():
                seen = data_version(connection)
            changed, self._version_seen = seen != self._version_seen, seen
            return changed

        return await self._writer.run(look)
