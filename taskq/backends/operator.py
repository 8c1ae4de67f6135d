"""The protocol of operators: what a person may do to what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from taskq.audit import Command
from taskq.model import Activity, Priority, Receipt, Status


class Operator(Protocol):
    """What a person may do to stored activities. ``Backend.cancel`` takes a command too.

    Each answers every found activity's state before; unknown ids are absent, and what is in a state
    that does not allow it is left as it is. Each writes one row of the record (``Inspector.audit``)
    in the transaction of the change, with ``ids`` in its detail; none for no ids. A command whose
    id is in the record already changes nothing, and is answered by the states of now. What was
    changed gets an event row without attempt and worker, whose detail has ``actor`` and ``reason``.
    """

    async def retry(
        self,
        ids: Sequence[UUID],
        *,
        command: Command,
        arguments: Mapping[UUID, str] | None = None,
        kept: Mapping[UUID, str] | None = None,
        delay: float = 0.0,
        spread: float = 0.0,
    ) -> Mapping[UUID, Status]:
        """Send ended activities round again: retry_count and crash_count 0, result, error and
        fingerprint cleared and progress too, the claim number kept, ``isolate`` as at submit,
        limits that have passed (``expires_at``, ``deadline_at``) lifted. Only from
        ``lifecycle.RETRYABLE_BY_OPERATOR``. The event's detail has the ``status`` and ``error``
        that it had.

        They are pending now; with ``delay`` (seconds) scheduled so much later, and with ``spread``
        one after the other over so many seconds more, in the order of ``ids``.

        ``arguments``: by id, a canonical payload to run with instead. The payload before is kept in
        the event's detail (``payload``) and its SHA-256 in the record's (``edited``, by id); a key
        or step of it stands for the new one. ``kept``: by id, what is kept in the event's detail
        instead, because the payload before holds secrets. Raises Unstorable, see
        ``Backend.submit``; nothing is retried then.
        """
        ...

    async def run_now(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Status]:
        """Let what waits for its time be pending now; from ``lifecycle.STARTABLE_BY_OPERATOR``.

        The event's detail has the ``ready_at`` before, as ISO text.
        """
        ...

    async def reschedule(
        self, ids: Sequence[UUID], when: datetime, *, command: Command
    ) -> Mapping[UUID, Status]:
        """Let what waits run at ``when`` (aware): see ``lifecycle.rescheduled`` for the state, from
        ``lifecycle.RESCHEDULABLE_BY_OPERATOR``. A time that has passed is now. Limits stay.

        The event's detail has the ``ready_at`` before, as ISO text.
        """
        ...

    async def set_priority(
        self, ids: Sequence[UUID], priority: Priority, *, command: Command
    ) -> Mapping[UUID, Status]:
        """Change the priority of what has not ended; what runs has it from its next attempt on.

        The event's detail has ``from`` and ``to``, names of priorities. One that has the priority
        already is left as it is. From ``lifecycle.REORDERABLE_BY_OPERATOR``.
        """
        ...

    async def enqueue(
        self,
        activities: Sequence[Activity[object]],
        *,
        command: Command,
        action: str = "enqueue",
        detail: Mapping[str, object] | None = None,
    ) -> list[Receipt]:
        """Store calls as ``Backend.submit`` does, with a row of the record in their transaction:
        ``action``, and ``detail`` besides the ``ids`` that hold the calls.

        A command whose id is in the record already stores nothing, and is answered by what it has
        stored, not ``created``. Raises as ``submit``, and InvalidState where that id is one of
        another action; nothing is stored then.
        """
        ...
