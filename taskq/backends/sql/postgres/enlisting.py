"""Storing calls in a caller's transaction on PostgreSQL, by asyncpg or psycopg."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Executable, TwoPhaseTransaction, text
from sqlalchemy.exc import DataError, DBAPIError

from taskq.backends import Topic
from taskq.backends.bounding import bounded
from taskq.backends.sql.bounding import Room, moment
from taskq.backends.sql.bounding import tell as tell_also
from taskq.backends.sql.enlisting import (
    EnlistedInTransaction,
    check_usable,
    in_autocommit,
    no_transaction,
    savepoint,
)
from taskq.backends.sql.postgres.channels import TOKEN, Message, channels_of, messages
from taskq.backends.sql.postgres.failures import (
    FAILED,
    MIGRATE,
    lost_to_dependencies,
    mapped,
    sqlstate,
)
from taskq.backends.sql.postgres.schema import quoted
from taskq.backends.sql.postgres.storing import take_keys
from taskq.backends.sql.postgres.submission import submit, taken, told
from taskq.backends.sql.tables import activities as table
from taskq.errors import (
    BackendUnavailable,
    IdempotencyConflict,
    InvalidState,
    SchemaError,
    Unstorable,
)
from taskq.idempotency import named
from taskq.model import Activity, Receipt

_NOBODY: Final = "0" * TOKEN
"""The sender's token: no backend has told itself of these."""

_SCHEMA: Final = text(
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.oid = to_regclass(CAST(:name AS text))"
)

_LOST, _LOCKED = "40001", "55P03"


class Enlister:
    """Stores calls where the tables are: ``location`` for people, ``schema`` as its setting is."""

    def __init__(self, location: str, schema: str | None) -> None:
        self.location = location
        self._schema = schema
        self._options: dict[str, Any] = (
            {} if schema is None else {"schema_translate_map": {None: schema}}
        )

    def enlist(
        self, connection: Connection, activities: Sequence[Activity[object]], *, notify: bool
    ) -> EnlistedInTransaction:
        """See ``Transactional.enlist``."""
        check_usable(connection, "postgresql", self.location)
        with self._mapped():
            if in_autocommit(connection):
                raise no_transaction()
            with savepoint(connection) as root:
                channels = channels_of(self._found(connection))
                # PREPARE TRANSACTION fails after a NOTIFY, and it would be too late to choose then.
                tell = notify and not isinstance(root, TwoPhaseTransaction)
                hints = messages(channels[Topic.READY], _NOBODY, ()) if tell else []
                if not bounded(activities):
                    return EnlistedInTransaction(self._stored(connection, activities, hints), root)
                with self._placed(connection):
                    room = Room(connection, connection.scalar(moment()), activities)
                    receipts = self._stored(connection, activities, hints)
                    room.keep(receipts)
                    if tell and room.changes.done:
                        done = messages(channels[Topic.DONE], _NOBODY, room.changes.done)
                        connection.execute(tell_also(), told(done))
                return EnlistedInTransaction(receipts, root)

    @contextmanager
    def _placed(self, connection: Connection) -> Generator[None]:
        """Inside, plain statements are for the store's tables too."""
        connection.execution_options(**self._options)
        try:
            yield
        finally:
            connection.execution_options(**dict.fromkeys(self._options))

    def _found(self, connection: Connection) -> str:
        """The schema where the tables are. Looked for, so that nothing fails without them."""
        prefix = "" if self._schema is None else f"{quoted(self._schema)}."
        schema: str | None = connection.scalar(_SCHEMA, {"name": prefix + table.name})
        if schema is None:
            where = "" if self._schema is None else f" in schema {self._schema!r} (TASKQ_SCHEMA)"
            raise SchemaError(
                f"the database of this transaction has no taskq tables{where}; the app's is"
                f" {self.location}: {MIGRATE}"
            )
        return schema

    def _stored(
        self,
        connection: Connection,
        activities: Sequence[Activity[object]],
        hints: Sequence[Message],
    ) -> list[Receipt]:
        """Take the steps here; what comes of them."""

        def execute(statement: Executable, values: Mapping[str, object]) -> CursorResult[Any]:
            try:
                return connection.execute(statement, values, execution_options=self._options)
            except DBAPIError as error:
                if not _is_hidden_key(statement, error):
                    raise
                raise _hidden(activities) from error

        return taken(submit(activities, hints), execute)

    @contextmanager
    def _mapped(self) -> Generator[None]:
        """As for the store's own connections; but whose transaction it is makes a difference.

        A serialization failure is left as the driver's: it is the caller who begins again.
        """
        try:
            yield
        except Exception as error:
            if sqlstate(error) == _LOST:
                raise
            with mapped(self.location, lock_timeout=0):
                meaning = _meaning(error)
                if meaning is None:
                    raise
                raise meaning from error


def _meaning(error: Exception) -> Exception | None:
    if not isinstance(error, DBAPIError):
        return None
    state = sqlstate(error)
    if state == FAILED:
        return InvalidState(f"the transaction has failed already, roll it back first: {error.orig}")
    if state == _LOCKED:
        return BackendUnavailable(f"another transaction holds what is needed: {error.orig}")
    if isinstance(error, DataError):
        return Unstorable(f"a value cannot be stored: {error.orig}")
    return None


def _is_hidden_key(statement: Executable, error: DBAPIError) -> bool:
    """Whether a row of a key is there that the transaction cannot see."""
    taking = statement is take_keys() and sqlstate(error) == _LOST
    return taking and not lost_to_dependencies(error)


def _hidden(activities: Sequence[Activity[object]]) -> IdempotencyConflict:
    keys = [named(each.idempotency) for each in activities if each.idempotency is not None]
    return IdempotencyConflict(
        f"{' or '.join(keys[:3])} was given to an activity after this transaction began,"
        " and its isolation level hides that one: call again in a new transaction"
    )
