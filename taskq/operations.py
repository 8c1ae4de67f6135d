"""``taskq.operator``: what an operator does to stored activities, from code."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Unpack
from uuid import UUID

from msgspec import Struct

from taskq.audit import AuditEntry, Who, command_of
from taskq.backends import Cancellation, Deletion
from taskq.client import Record, StoreClient
from taskq.editing import Edit, Edits, FindTask, edited
from taskq.errors import ActivityNotFound, InvalidState
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import as_id
from taskq.lifecycle import (
    REORDERABLE_BY_OPERATOR,
    RESCHEDULABLE_BY_OPERATOR,
    RETRYABLE_BY_OPERATOR,
    STARTABLE_BY_OPERATOR,
)
from taskq.model import Activity, Priority, Receipt, Status
from taskq.options import instant, seconds
from taskq.showing import Showing
from taskq.snapshot import Cause, Filter

Ids = UUID | str | Iterable[UUID | str]
"""One id, or several."""


class _Asked(Struct, frozen=True):
    """Ids that were asked for, each once; ``single``: as one, not as a collection of one."""

    ids: Sequence[UUID]
    single: bool


class Operations:
    """What an operator does. Thread-safe; each method has a form for sync code, and one beginning
    with ``a`` for async code.

    Every change is on record (``audit``), with ``actor`` and ``reason``. Methods take one id or
    several, and answer what each found activity was before; unknown ids are absent. Several: what
    is in a state that does not allow it is left as it is. One id: it raises InvalidState naming the
    state, ActivityNotFound where there is none; with a ``command_id`` no InvalidState, since an
    earlier call with that id may have done it. Raises ValueError for a text that is no UUID.
    """

    def __init__(self, client: StoreClient, task_of: FindTask, showing: Showing) -> None:
        self._client = client
        self._store = client.store
        self._task_of = task_of
        self._showing = showing

    # -- looking --

    def dead_letters(self, filter: str = "", *, limit: int = 100) -> list[Cause]:
        """What has failed, by cause, the most frequent first; of what ``filter`` finds (see
        docs/filters.md). Raises FilterError."""
        find = partial(self._store.dead_letters, limit=limit)
        return self._client.call_sync(find, narrowed(Filter(), parsed(filter)))

    async def adead_letters(self, filter: str = "", *, limit: int = 100) -> list[Cause]:
        """The same without blocking the event loop."""
        find = partial(self._store.dead_letters, limit=limit)
        return await self._client.call(find, narrowed(Filter(), parsed(filter)))

    def audit(self, *, limit: int = 50, before: int | None = None) -> list[AuditEntry]:
        """What operators did, newest first; ``before`` is the number of an entry."""
        return self._client.call_sync(partial(self._store.audit, limit=limit, before=before))

    async def aaudit(self, *, limit: int = 50, before: int | None = None) -> list[AuditEntry]:
        """The same without blocking the event loop."""
        return await self._client.call(partial(self._store.audit, limit=limit, before=before))

    # -- changing --

    def enqueue(
        self,
        activities: Sequence[Activity[Any]],
        *,
        action: str = "enqueue",
        detail: Mapping[str, object] | None = None,
        **who: Unpack[Who],
    ) -> list[Receipt]:
        """Store built calls, all or none, on record: ``action`` and ``detail``.

        Raises as ``taskq.enqueue``, QueueFull at once, and InvalidState where the ``command_id`` is
        that of another command. Given again it answers what it has stored, not ``created``.
        """
        record = self._record(action, detail, who)
        return self._client.submit_on_record(activities, record)

    async def aenqueue(
        self,
        activities: Sequence[Activity[Any]],
        *,
        action: str = "enqueue",
        detail: Mapping[str, object] | None = None,
        **who: Unpack[Who],
    ) -> list[Receipt]:
        """The same without blocking the event loop."""
        record = self._record(action, detail, who)
        return await self._client.asubmit_on_record(activities, record)

    def retry(
        self,
        ids: Ids,
        *,
        edit: Edit | None = None,
        delay: float | timedelta = 0.0,
        spread: float | timedelta = 0.0,
        **who: Unpack[Who],
    ) -> Mapping[UUID, Status]:
        """Send ended activities round again with fresh budgets, after ``delay``, spread over
        ``spread`` more (seconds or a timedelta).

        ``edit``: with other arguments, see ``Edit``; checked against the task's signature first,
        so that nothing is retried where one does not fit: TypeError or SerializationError. Those
        before are kept in the timeline, secrets hidden.
        """
        asked = _asked(ids)
        edits = Edits()
        if edit:
            infos = self._client.call_sync(self._store.get, asked.ids)
            edits = edited(infos.values(), edit, self._task_of, self._showing)
        retry = self._retry(edits, delay, spread, who)
        return _retried(asked, self._client.call_sync(retry, asked.ids), who)

    async def aretry(
        self,
        ids: Ids,
        *,
        edit: Edit | None = None,
        delay: float | timedelta = 0.0,
        spread: float | timedelta = 0.0,
        **who: Unpack[Who],
    ) -> Mapping[UUID, Status]:
        """The same without blocking the event loop."""
        asked = _asked(ids)
        edits = Edits()
        if edit:
            infos = await self._client.call(self._store.get, asked.ids)
            edits = edited(infos.values(), edit, self._task_of, self._showing)
        retry = self._retry(edits, delay, spread, who)
        return _retried(asked, await self._client.call(retry, asked.ids), who)

    def run_now(self, ids: Ids, **who: Unpack[Who]) -> Mapping[UUID, Status]:
        """Let what waits for its time (scheduled, retrying) run now."""
        asked = _asked(ids)
        run_now = partial(self._store.run_now, command=command_of(who))
        return _started(asked, self._client.call_sync(run_now, asked.ids), who)

    async def arun_now(self, ids: Ids, **who: Unpack[Who]) -> Mapping[UUID, Status]:
        """The same without blocking the event loop."""
        asked = _asked(ids)
        run_now = partial(self._store.run_now, command=command_of(who))
        return _started(asked, await self._client.call(run_now, asked.ids), who)

    def reschedule(self, ids: Ids, when: datetime, **who: Unpack[Who]) -> Mapping[UUID, Status]:
        """Let what waits (pending, scheduled, retrying) run at ``when``, an aware datetime; one
        that has passed is now. Raises ValueError for a bad time."""
        asked, at = _asked(ids), instant("reschedule()", when, name="when")
        reschedule = partial(self._store.reschedule, when=at, command=command_of(who))
        return _moved(asked, self._client.call_sync(reschedule, asked.ids), who)

    async def areschedule(
        self, ids: Ids, when: datetime, **who: Unpack[Who]
    ) -> Mapping[UUID, Status]:
        """The same without blocking the event loop."""
        asked, at = _asked(ids), instant("areschedule()", when, name="when")
        reschedule = partial(self._store.reschedule, when=at, command=command_of(who))
        return _moved(asked, await self._client.call(reschedule, asked.ids), who)

    def set_priority(
        self, ids: Ids, priority: Priority | int, **who: Unpack[Who]
    ) -> Mapping[UUID, Status]:
        """Change the priority of what has not ended; what runs has it from its next attempt on.
        Raises ValueError for what is no priority."""
        asked, level = _asked(ids), Priority(priority)
        change = partial(self._store.set_priority, priority=level, command=command_of(who))
        return _reordered(asked, self._client.call_sync(change, asked.ids), who)

    async def aset_priority(
        self, ids: Ids, priority: Priority | int, **who: Unpack[Who]
    ) -> Mapping[UUID, Status]:
        """The same without blocking the event loop."""
        asked, level = _asked(ids), Priority(priority)
        change = partial(self._store.set_priority, priority=level, command=command_of(who))
        return _reordered(asked, await self._client.call(change, asked.ids), who)

    def cancel(
        self, ids: Ids, *, tree: bool = False, **who: Unpack[Who]
    ) -> Mapping[UUID, Cancellation]:
        """Request cancels, on record; ``tree``: of all that is below them too. Otherwise as
        ``fut.cancel()``."""
        asked = _asked(ids)
        cancel = partial(self._store.cancel, tree=tree, command=command_of(who))
        return _cancelled(asked, self._client.call_sync(cancel, asked.ids), who)

    async def acancel(
        self, ids: Ids, *, tree: bool = False, **who: Unpack[Who]
    ) -> Mapping[UUID, Cancellation]:
        """The same without blocking the event loop."""
        asked = _asked(ids)
        cancel = partial(self._store.cancel, tree=tree, command=command_of(who))
        return _cancelled(asked, await self._client.call(cancel, asked.ids), who)

    def delete(self, ids: Ids, **who: Unpack[Who]) -> Mapping[UUID, Deletion]:
        """Delete activities, each with all that is below it, where all of that has ended."""
        asked = _asked(ids)
        delete = partial(self._store.delete, command=command_of(who))
        return _deleted(asked, self._client.call_sync(delete, asked.ids), who)

    async def adelete(self, ids: Ids, **who: Unpack[Who]) -> Mapping[UUID, Deletion]:
        """The same without blocking the event loop."""
        asked = _asked(ids)
        delete = partial(self._store.delete, command=command_of(who))
        return _deleted(asked, await self._client.call(delete, asked.ids), who)

    def _record(self, action: str, detail: Mapping[str, object] | None, who: Who) -> Record:
        command = command_of(who)
        return partial(self._store.enqueue, command=command, action=action, detail=detail)

    def _retry(
        self,
        edits: Edits,
        delay: float | timedelta,
        spread: float | timedelta,
        who: Who,
    ) -> partial[Coroutine[Any, Any, Mapping[UUID, Status]]]:
        return partial(
            self._store.retry,
            command=command_of(who),
            arguments=edits.arguments,
            kept=edits.kept,
            delay=seconds("retry()", "delay", delay),
            spread=seconds("retry()", "spread", spread),
        )


def _asked(ids: Ids) -> _Asked:
    if isinstance(ids, (UUID, str)):
        return _Asked((as_id(ids),), single=True)
    return _Asked(tuple(dict.fromkeys(as_id(id) for id in ids)), single=False)


def _checked(
    asked: _Asked, met: Mapping[UUID, Status], who: Who, what: str, states: Collection[Status]
) -> None:
    """Raise where one id was asked for, and nothing was done to it."""
    if not asked.single:
        return
    [id] = asked.ids
    if id not in met:
        raise ActivityNotFound(f"there is no activity {id}", id=id)
    if met[id] not in states and who.get("command_id") is None:
        allowed = ", ".join(status for status in Status if status in states)
        raise InvalidState(f"activity {id} cannot be {what}: it is {met[id]}, not {allowed}")


def _retried(asked: _Asked, met: Mapping[UUID, Status], who: Who) -> Mapping[UUID, Status]:
    _checked(asked, met, who, "retried", RETRYABLE_BY_OPERATOR)
    return met


def _started(asked: _Asked, met: Mapping[UUID, Status], who: Who) -> Mapping[UUID, Status]:
    _checked(asked, met, who, "run now", STARTABLE_BY_OPERATOR)
    return met


def _moved(asked: _Asked, met: Mapping[UUID, Status], who: Who) -> Mapping[UUID, Status]:
    _checked(asked, met, who, "rescheduled", RESCHEDULABLE_BY_OPERATOR)
    return met


def _reordered(asked: _Asked, met: Mapping[UUID, Status], who: Who) -> Mapping[UUID, Status]:
    _checked(asked, met, who, "given another priority", REORDERABLE_BY_OPERATOR)
    return met


def _cancelled(
    asked: _Asked, met: Mapping[UUID, Cancellation], who: Who
) -> Mapping[UUID, Cancellation]:
    left = {id: each.status for id, each in met.items() if not each.accepted}
    accepted = dict.fromkeys(met, Status.PENDING)
    _checked(asked, {**accepted, **left}, who, "cancelled", _CANCELLABLE)
    return met


def _deleted(asked: _Asked, met: Mapping[UUID, Deletion], who: Who) -> Mapping[UUID, Deletion]:
    statuses = {id: each.status for id, each in met.items()}
    _checked(asked, statuses, who, "deleted", _ENDED)
    for id, each in met.items():
        if asked.single and each.alive and who.get("command_id") is None:
            raise InvalidState(
                f"activity {id} cannot be deleted: {each.alive} below it have not ended"
            )
    return met


_ENDED = frozenset(status for status in Status if status.terminal)
_CANCELLABLE = frozenset(Status) - _ENDED | {Status.CANCELLED}
