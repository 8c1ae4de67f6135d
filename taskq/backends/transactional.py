"""The protocol of stores that can keep calls in a transaction of their caller's (design 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from taskq.model import Activity, Receipt


class CallerTransaction(Struct, frozen=True, kw_only=True):
    """A transaction of the caller's. ``handle`` was given as ``session=`` or ``connection=``, which
    ``given_as`` says. ``notify`` False: no worker is told of the commit; nor where it has two
    phases, which forbid that."""

    given_as: Literal["session", "connection"]
    handle: object
    notify: bool = True


class Enlisted(Protocol):
    """Calls that were stored in a caller's transaction. Does not keep its connection alive."""

    @property
    def receipts(self) -> Sequence[Receipt]:
        """They answer one to one."""
        ...

    @property
    def over(self) -> bool:
        """Whether the outermost transaction has ended, by whichever end."""
        ...

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Call back once after the commit, on the thread where it happened; never when it was
        rolled back, and not when it is unknown how it ended."""
        ...


@runtime_checkable
class Transactional(Protocol):
    """What a store besides has that declares ``transactional``.

    Both are called where the caller is: on its thread and event loop, the store open or not. The
    activities exist if and only if the transaction commits, and no other connection sees them
    before. Everything happens inside of a savepoint, so that the transaction stays usable whatever
    is raised, unless its connection broke. Otherwise as ``Backend.submit``; instants count from
    the call, not from the begin of the transaction. Where its isolation hides who holds a key:
    IdempotencyConflict. Any other failure to serialize is not mapped: the driver's own error goes
    through, with SQLSTATE 40001, by which the caller begins the transaction again.

    Raises TypeError for a handle that it does not know, that belongs to the other of the two
    methods, or that needs another event loop; ConfigurationError for another database than the
    store's, where that can be told; InvalidState where there is no transaction, or one that has
    failed.
    """

    def enlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """Store activities in a caller's transaction, blocking."""
        ...

    async def aenlist(
        self, activities: Sequence[Activity[object]], transaction: CallerTransaction
    ) -> Enlisted:
        """The same for handles that are awaited."""
        ...
