"""The PostgreSQL backend: for production, on a database that you already run."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
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
from taskq.backends.bounding import bounded
from taskq.backends.changes import Changes
from taskq.backends.examination import Finding
from taskq.backends.sql import beats, pauses, rows, statements
from taskq.backends.sql.caller import connection_of, on_connection
from taskq.backends.sql.cancelling import cancel_below
from taskq.backends.sql.common import CommonStore
from taskq.backends.sql.postgres import bounding, claiming, writer
from taskq.backends.sql.postgres import statements as postgres_statements
from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.channels import TOKEN, Message
from taskq.backends.sql.postgres.connections import Connections, Slow
from taskq.backends.sql.postgres.driver import PostgresError, Records
from taskq.backends.sql.postgres.enlisting import Enlister
from taskq.backends.sql.postgres.examination import judged
from taskq.backends.sql.postgres.facade import Facade
from taskq.backends.sql.postgres.facts import facts
from taskq.backends.sql.postgres.failures import mapped, notify_queue_is_full
from taskq.backends.sql.postgres.hints import Hints
from taskq.backends.sql.postgres.reader import PostgresReader
from taskq.backends.sql.postgres.schema import look
from taskq.clock import SystemClock
from taskq.errors import BackendError, BackendUnavailable
from taskq.lifecycle import Settlement, Transition
from taskq.model import TERMINAL, Activity, Attempt, Ended, Lease, Receipt, Status
from taskq.pausing import Pause

T = TypeVar("T")

CALLERS = 8
"""Connections for call-sites at the most; the engine has its own, so that callers who wait for one
never keep a lease from being renewed (bug:B162)."""
ENGINE = 4


class PostgresBackend(CommonStore):
    """``taskq.backends.Store`` in a PostgreSQL database, shared by any number of hosts.

    ``url`` is ``postgresql://…``, see ``address_of``; ``schema`` where the tables are, None for the
    role's search path. The time is the database's. ``listen`` False: hints of other processes are
    not heard, and everything is found by polling. A statement waits at most ``lock_timeout``
    seconds for a lock, then raises BackendUnavailable. ``open`` raises SchemaError where the tables
    are not those of this version: it never makes them. Raises ConfigurationError for a bad URL.

    No session is in any state that matters, so that it works behind a pooler between transactions
    (``?prepared_statement_cache_size=0``); with such a one ``listen`` is in vain.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        listen: bool = True,
        lock_timeout: float = 3.0,
    ) -> None:
        self._address = address_of(url)
        self._schema = schema
        self._patience = f"{max(1, round(lock_timeout * 1000))}ms"
        self._lock_timeout = lock_timeout
        self._callers = Connections(self._address, limit=CALLERS, schema=schema)
        self._engine = Connections(self._address, limit=ENGINE, schema=schema)
        self._facade = Facade(self._address, schema=schema, lock_timeout=self._patience)
        self._hints = Hints(
            self._address, token=os.urandom(TOKEN // 2).hex(), listen=listen, send=self._send
        )
        self._enlister = Enlister(self._address.location, schema)
        self._listen = listen
        self._opened = False

    @property
    def capabilities(self) -> Capabilities:
        """It outlives processes, they share it, it needs the storage loop, and callers may store
        calls in transactions of their own."""
        return Capabilities(durable=True, shared=True, resident=True, transactional=True)

    @property
    def location(self) -> str:
        """The URL without password and options."""
        return self._address.location

    async def open(self) -> None:
        """See ``Backend.open``. Raises SchemaError where ``taskq migrate`` is due."""
        if self._opened:
            return
        try:
            with self._mapped():
                found = await self._callers.transact(
                    lambda session: look(session.raw, self.location, self._schema)
                )
        except BaseException:  # cancelled too: no pool stays open
            await self._callers.close()
            raise
        for connections in (self._callers, self._engine):
            connections.explicit |= found.isolation != "read committed"
        self._hints.place(found.schema)
        self._opened = True

    async def close(self) -> None:
        """See ``Backend.close``. Watches end, hints that wait are sent."""
        self._opened = False
        await self._hints.close()
        with self._mapped():
            await self._facade.close()
            await self._callers.close()
            await self._engine.close()

    def after_fork(self) -> None:
        """See ``Backend.after_fork``."""
        self._opened = False
        for each in (self._hints, self._facade, self._callers, self._engine):
            each.forget()

    # -- Backend --

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        """See ``Backend.submit``."""
        if not activities:
            return []
        if bounded(activities):
            return await self._write(
                lambda connection, now: bounding.submit(connection, now, activities)
            )
        changes = Changes(ready=True)
        receipts = await self._carrying(
            changes,
            lambda hints: writer.submit(
                self._callers, activities, hints, lock_timeout=self._patience
            ),
        )
        self._hints.tell(changes)
        return receipts

    def _submitted(
        self, connection: Connection, now: datetime, activities: Sequence[Activity[object]]
    ) -> tuple[list[Receipt], Changes]:
        return bounding.submit(connection, now, activities)

    async def claim(self, request: ClaimRequest) -> list[Attempt]:
        """See ``Backend.claim``."""
        with self._mapped():
            return await claiming.claim(self._engine, request)

    async def claim_overdue(self, worker: UUID, limit: int, lease: float) -> list[Attempt]:
        """See ``Backend.claim_overdue``."""
        with self._mapped():
            return await claiming.claim_overdue(self._engine, worker, limit, lease)

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        """See ``Backend.settle``."""
        if not transitions:
            return []
        with self._mapped():
            ending = await writer.trees_ending(self._engine, transitions)
        hooks = {hook.id for each in transitions for hook in each.hooks}
        await self._cancel_below(ending, spared=hooks)
        expected = writer.expected(transitions)
        settlements, ended = await self._carrying(
            expected, lambda hints: writer.settle(self._engine, transitions, hints)
        )
        await self._cancel_below(ended, spared=hooks)
        changes = writer.applied(transitions, settlements)
        self._hints.post(Changes(done=changes.done - expected.done))
        self._hints.tell(changes)
        return settlements

    async def report_progress(self, worker: UUID, reports: Sequence[ProgressReport]) -> None:
        """See ``Backend.report_progress``."""
        if reports:
            with self._mapped():
                await writer.report_progress(self._engine, worker, reports)

    async def held(self, worker: UUID) -> list[Lease]:
        """See ``Backend.held``."""
        return [Lease(row["id"], row["claim"]) for row in await self._held(worker)]

    async def heartbeat(self, beat: Heartbeat) -> Renewal:
        """See ``Backend.heartbeat``."""
        try:
            with self._mapped():
                renewal, counted = await writer.heartbeat(self._engine, beat)
        except BackendError as error:
            if isinstance(error, BackendUnavailable) and not _was_slow(error):
                raise
            with self._mapped():
                renewal = await writer.renew(self._engine, beat)
            return replace(renewal, unreported=error)
        try:
            with self._mapped():
                await writer.see(self._engine, beat, counted=counted)
        except BackendUnavailable as error:
            return replace(renewal, unreported=error)
        return renewal

    async def cancel_requests(self, worker: UUID) -> list[UUID]:
        """See ``Backend.cancel_requests``."""
        held = await self._held(worker)
        return [row["id"] for row in held if row["cancel_requested_at"] is not None]

    async def retire(self, worker: UUID) -> None:
        """See ``Backend.retire``."""
        with self._mapped():
            await self._engine.fetch(beats.retire(), {"worker": worker})

    async def expired(self, limit: int) -> list[Attempt]:
        """See ``Backend.expired``."""
        with self._mapped():
            found = await self._engine.fetch(postgres_statements.expired(), {"limit": limit})
        return [rows.attempt(row) for row in found if row["worker"] is not None]

    async def promote(self, limit: int) -> Promotion:
        """See ``Backend.promote``."""
        with self._mapped():
            promotion = await writer.promote(self._engine, limit)
        changes = Changes(ready=promotion.moved > 0)
        self._hints.post(changes)
        self._hints.tell(changes)
        return promotion

    async def outcomes(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        """See ``Backend.outcomes``."""
        answers: dict[UUID, Ended | None] = dict.fromkeys(ids)
        with self._mapped():
            found = await self._callers.fetch(
                postgres_statements.outcomes(), {"ids": list(answers)}
            )
        for id, status, result, error, kind in found:
            if status in TERMINAL:
                failure = rows.error_of(error, kind)
                answers[id] = Ended(status=Status(status), result=result, error=failure)
            else:
                del answers[id]
        return answers

    async def watch(self, topics: Collection[Topic], listener: Callable[[Hint], None]) -> Watch:
        """See ``Backend.watch``. It returns when the database has been told to send hints, or after
        some seconds without."""
        return await self._hints.watch(topics, listener)

    # -- Queues --

    async def pauses(self) -> list[Pause]:
        """See ``Queues.pauses``. Workers ask often: it takes one round trip."""
        with self._mapped():
            return pauses.read(await self._engine.fetch(pauses.pauses(), {}))

    # -- Transactional --

    def enlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """See ``Transactional.enlist``. Whether it is the same database cannot be told."""
        notify = transaction.notify
        return self._enlister.enlist(connection_of(transaction), activities, notify=notify)

    async def aenlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """See ``Transactional.aenlist``."""
        enlist = partial(self._enlister.enlist, activities=activities, notify=transaction.notify)
        return await on_connection(transaction, enlist)

    # -- Readable --

    def reader(self, *, connections: int = 2, timeout: float = 2.0) -> PostgresReader:
        """See ``Readable.reader``."""
        return PostgresReader(
            self._address, schema=self._schema, connections=connections, timeout=timeout
        )

    # -- Examinable --

    async def examine(self, now: Callable[[], datetime]) -> Sequence[Finding]:
        """See ``Examinable.examine``."""
        with self._mapped():
            seen = await facts(self._address, self._schema, now, listen=self._listen)
        return [*judged(seen, prepared=self._address.prepared)]

    # -- transactions --

    def _mapped(self) -> AbstractContextManager[None]:
        return mapped(self.location, lock_timeout=self._lock_timeout, opened=self._opened)

    async def _carrying(
        self, changes: Changes, run: Callable[[Sequence[Message]], Awaitable[T]]
    ) -> T:
        """Make these changes by a statement that carries hints; without them where the server has
        no room for any: hints may be lost, work may not."""
        with self._mapped(), self._hints.carried(changes) as hints:
            try:
                return await run(hints)
            except PostgresError as error:
                if not notify_queue_is_full(error):
                    raise
                return await run(())

    async def _write(self, function: Callable[[Connection, datetime], tuple[T, Changes]]) -> T:
        """Run ``function`` in a transaction; its hints follow the commit."""
        with self._mapped():
            answer, changes = await self._facade.write(function)
        self._hints.post(changes)
        self._hints.tell(changes)
        return answer

    async def _cancel_below(self, tops: Collection[UUID], *, spared: Collection[UUID]) -> None:
        """Cancel what is below these, in a transaction of its own."""

        def run(connection: Connection, now: datetime) -> tuple[None, Changes]:
            changes = Changes()
            cancel_below(connection, now, sorted(tops), changes, spared=spared)
            return None, changes

        if tops:
            await self._write(run)

    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        with self._mapped():
            return await self._facade.read(function)

    def _monotonic(self) -> float:
        return SystemClock().monotonic()

    async def _has_orphans(self, parents: Collection[UUID]) -> bool:
        with self._mapped():
            found = await self._engine.fetch(postgres_statements.orphans(), {"ids": list(parents)})
        return bool(found)

    async def _held(self, worker: UUID) -> Records:
        with self._mapped():
            return await self._engine.fetch(statements.held(), {"worker": worker})

    async def _send(self, messages: Sequence[Message]) -> None:
        values = {
            "channels": [each.channel for each in messages],
            "payloads": [each.payload for each in messages],
        }
        with self._mapped():
            await self._callers.fetch(postgres_statements.tell(), values)


def _was_slow(error: BackendUnavailable) -> bool:
    """Whether a statement had no answer in its own time, as when it waits for a lock."""
    return isinstance(error.__cause__, Slow)
