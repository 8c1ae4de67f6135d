"""Storing calls in a transaction of the caller's, whichever database it is (design 2.3)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, RootTransaction

from taskq.backends.sql.committing import after_commit
from taskq.errors import InvalidState
from taskq.model import Receipt

_CALLERS: Final = ("schema_translate_map", "stream_results", "yield_per")
"""Execution options that are for the caller's own statements: the map moves tables, and the others
make server-side cursors, which a savepoint cannot have."""


class EnlistedInTransaction:
    """``taskq.backends.Enlisted``, of SQLAlchemy's transaction."""

    def __init__(self, receipts: Sequence[Receipt], root: RootTransaction) -> None:
        self.receipts = receipts
        self._root = weakref.ref(root)

    @property
    def over(self) -> bool:
        """See ``Enlisted``. A transaction that nobody holds any more has ended."""
        root = self._root()
        return root is None or not root.is_active

    def on_commit(self, callback: Callable[[], None]) -> None:
        """See ``Enlisted``, and ``after_commit`` for savepoints."""
        root = self._root()
        if root is not None and root.is_active:
            after_commit(root, callback)


def check_usable(connection: Connection, name: str, location: str) -> None:
    """TypeError for a connection to another kind of database than the store's, ``name``;
    InvalidState where its transaction has failed."""
    if connection.dialect.name != name:
        raise TypeError(
            f"activities are kept in {location} ({name}): a transaction of"
            f" {connection.dialect.name} cannot store them"
        )
    root = connection.get_transaction()
    if root is not None and not root.is_active:
        raise InvalidState("the transaction has failed already: roll it back first")


@contextmanager
def savepoint(connection: Connection) -> Generator[RootTransaction]:
    """Undo what was done inside, and nothing else, when it raises; gives the transaction.

    Inside, the caller's execution options of ``_CALLERS`` are not obeyed.
    """
    with _without_callers_options(connection), connection.begin_nested():
        root = connection.get_transaction()
        assert root is not None
        yield root


@contextmanager
def _without_callers_options(connection: Connection) -> Generator[None]:
    given = connection.get_execution_options()
    theirs = {name: given[name] for name in _CALLERS if name in given}
    if not theirs:
        yield
        return
    connection.execution_options(**dict.fromkeys(theirs))
    try:
        yield
    finally:
        connection.execution_options(**theirs)


def in_autocommit(connection: Connection) -> bool:
    """Whether the driver commits each statement by itself; looks only, opens nothing."""
    driver = connection.connection.dbapi_connection
    assert driver is not None
    return connection.dialect.detect_autocommit_setting(driver)


def no_transaction() -> InvalidState:
    """What is raised on a connection in autocommit."""
    return InvalidState(
        "the connection is in autocommit, so there is no transaction to store a call in: begin one"
        " on a connection with another isolation_level, or call without session and connection"
    )
