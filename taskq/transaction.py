"""A transaction of the caller's, in which calls are stored (design 2.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from taskq.backends import CallerTransaction, Enlisted
from taskq.endings import Endings
from taskq.errors import InvalidState
from taskq.future import Tracker
from taskq.model import Ended, Receipt
from taskq.snapshot import ActivityInfo

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    # A scoped session is generic in the class of its sessions, whichever that is.
    SyncSession: TypeAlias = Session | scoped_session[Any]
    AwaitedSession: TypeAlias = AsyncSession | async_scoped_session[Any]
    AnySession: TypeAlias = SyncSession | AwaitedSession
    AnyConnection: TypeAlias = Connection | AsyncConnection


def caller_transaction(
    where: str, *, session: object = None, connection: object = None, notify: bool = True
) -> CallerTransaction | None:
    """What was given as ``session=``, ``connection=`` and ``notify=``; None where neither was.

    ``where`` begins the sentence of a TypeError: for both at once, or ``notify`` without either.
    """
    if session is not None and connection is not None:
        raise TypeError(f"{where}: session and connection exclude each other; give one")
    if session is not None:
        return CallerTransaction(given_as="session", handle=session, notify=notify)
    if connection is not None:
        return CallerTransaction(given_as="connection", handle=connection, notify=notify)
    if not notify:
        raise TypeError(f"{where}: notify=False is for calls with session= or connection=")
    return None


class EnlistedTracker:
    """Refuses to wait for, look at and cancel what no other connection can see yet.

    InvalidState until the transaction is over; then as ``tracker``. Whether a call that was found
    is committed is not known before either.
    """

    def __init__(self, enlisted: Enlisted, tracker: Tracker) -> None:
        self._enlisted = enlisted
        self._tracker = tracker

    @property
    def receipts(self) -> Sequence[Receipt]:
        """They answer the calls one to one."""
        return self._enlisted.receipts

    def tracked_by(self, tracker: Tracker) -> EnlistedTracker:
        """The same calls, with ``tracker`` once they are committed."""
        return EnlistedTracker(self._enlisted, tracker)

    async def wait(self, id: UUID) -> Ended | None:
        """See ``Tracker``."""
        return await self.committed(id).wait(id)

    def wait_each(self, ids: Collection[UUID]) -> Endings:
        """See ``Tracker``."""
        for id in ids:
            self.committed(id)
        return self._tracker.wait_each(ids)

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """See ``Tracker``."""
        return self.committed(id).wait_sync(id, timeout)

    async def ainfo(self, id: UUID) -> ActivityInfo:
        """See ``Tracker``."""
        return await self.committed(id).ainfo(id)

    def info(self, id: UUID) -> ActivityInfo:
        """See ``Tracker``."""
        return self.committed(id).info(id)

    async def acancel(self, id: UUID, *, tree: bool) -> bool:
        """See ``Tracker``."""
        return await self.committed(id).acancel(id, tree=tree)

    def cancel(self, id: UUID, *, tree: bool) -> bool:
        """See ``Tracker``."""
        return self.committed(id).cancel(id, tree=tree)

    def committed(self, id: UUID) -> Tracker:
        """See ``Tracker``."""
        if self._enlisted.over:
            return self._tracker
        if Receipt(id, True) in self.receipts:
            raise InvalidState(
                f"activity {id}: its transaction has not committed, so that it does not exist yet"
                " for anybody else; commit first"
            )
        raise InvalidState(
            f"activity {id} was there already; whether it is committed is not known before your"
            " transaction is over: end it first, or ask taskq.future(id)"
        )
