"""Calls back after a commit of SQLAlchemy's, and only then.

SQLAlchemy tells of a commit before it is made, of an error in it afterwards, and of its success not
at all: then it lets go of the transaction. So that is waited for: where the program itself holds
SQLAlchemy's Transaction object, until it lets go of it too. What was added inside of a
savepoint that is rolled back is dropped, where savepoints end in the opposite order of their begin,
as ``with`` and sessions end them; SQL text that commits or rolls back is not seen.

A commit that succeeds need not have committed: PostgreSQL answers that of a failed transaction with
ROLLBACK, no driver takes that for an error, and SQLite ends some transactions at the error already.
So just before it the database is asked whether there is something to commit.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, RootTransaction, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError

from taskq.backends.sql.postgres.failures import FAILED, sqlstate

Callback = Callable[[], None]


class Callbacks:
    """The callbacks of one transaction. None among them marks where a savepoint began."""

    def __init__(self) -> None:
        self._callbacks: list[Callback | None] = []
        self._committing = False

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Callback) -> None:
        """Call back after the commit."""
        self._callbacks.append(callback)

    def mark(self) -> None:
        """A savepoint begins."""
        self._callbacks.append(None)

    def keep(self) -> None:
        """The innermost savepoint is released."""
        at = self._innermost()
        if at is not None:
            del self._callbacks[at]

    def undo(self) -> None:
        """The innermost savepoint is rolled back; one that began before all of these takes all."""
        del self._callbacks[self._innermost() or 0 :]

    def commit(self) -> None:
        """The commit is about to be made, of a transaction that has not failed."""
        self._committing = True

    def failed(self) -> None:
        """An error; in the commit it leaves unknown how that ended."""
        if self._committing:
            self._callbacks.clear()

    def end(self) -> None:
        """The transaction is over."""
        callbacks, self._callbacks = self._callbacks, []
        if self._committing:
            for callback in filter(None, callbacks):
                callback()

    def _innermost(self) -> int | None:
        marks = [at for at, callback in enumerate(self._callbacks) if callback is None]
        return marks[-1] if marks else None


_waiting: weakref.WeakKeyDictionary[RootTransaction, Callbacks] = weakref.WeakKeyDictionary()


def after_commit(root: RootTransaction, callback: Callback) -> None:
    """Call back once when the transaction has committed, on the thread where it is let go of."""
    callbacks = _waiting.get(root)
    if callbacks is None:
        callbacks = _waiting[root] = Callbacks()
        weakref.finalize(root, callbacks.end).atexit = False
        _listen(root.connection)
    callbacks.add(callback)


def _listen(connection: Connection) -> None:
    """Once for each connection object, and for errors once for each engine."""
    if not event.contains(connection, "commit", _on_commit):
        event.listen(connection, "commit", _on_commit)
        event.listen(connection, "commit_twophase", _on_commit_twophase)
        event.listen(connection, "savepoint", _on_savepoint)
        event.listen(connection, "release_savepoint", _on_release)
        event.listen(connection, "rollback_savepoint", _on_rollback)
    if not event.contains(connection.engine, "handle_error", _on_error):
        event.listen(connection.engine, "handle_error", _on_error)


def _of(connection: Connection | None) -> Callbacks:
    root = None if connection is None else connection.get_transaction()
    found = None if root is None else _waiting.get(root)
    return Callbacks() if found is None else found


def _on_commit(connection: Connection) -> None:
    callbacks = _of(connection)
    if callbacks and _can_commit(connection):
        callbacks.commit()


def _on_commit_twophase(connection: Connection, xid: object, is_prepared: bool) -> None:
    callbacks = _of(connection)
    if callbacks and (is_prepared or _can_commit(connection)):
        callbacks.commit()


def _can_commit(connection: Connection) -> bool:
    """Whether the transaction has not failed. Any other error is the commit's: after one that broke
    the connection some drivers would make the commit succeed."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        return bool(driver.in_transaction)
    try:
        connection.exec_driver_sql("SELECT 1").close()
    except DBAPIError as error:
        if sqlstate(error) != FAILED:
            raise
        return False
    return True


def _on_savepoint(connection: Connection, name: str | None) -> None:
    _of(connection).mark()


def _on_release(connection: Connection, name: str, context: None) -> None:
    _of(connection).keep()


def _on_rollback(connection: Connection, name: str, context: None) -> None:
    _of(connection).undo()


def _on_error(context: ExceptionContext) -> None:
    _of(context.connection).failed()
