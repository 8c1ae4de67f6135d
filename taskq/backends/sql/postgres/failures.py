"""What PostgreSQL's errors mean, said once, at the edge."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from taskq.backends.sql.postgres.driver import (
    ClientConfigurationError,
    DataError,
    InterfaceError,
    InternalClientError,
    PostgresError,
)
from taskq.errors import (
    BackendError,
    BackendUnavailable,
    QueryTimeout,
    SchemaError,
    TaskQError,
    Unstorable,
)

MIGRATE: Final = "run `taskq migrate` for this database (TASKQ_DATABASE_URL, or --database URL)"

REPEATABLE: Final = frozenset({"40001", "40P01"})
"""The transaction lost against another one, and nothing of it was done: begin again at once."""

SPOILING: Final = frozenset({"25006", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04"})
"""The session is over, or its server has become one that only reads (bug:B67)."""

FAILED: Final = "25P02"
"""An error before has ended the transaction; all it can do is to roll back."""

POOLER: Final = frozenset({"26000", "42P05"})
"""A statement's name that another session has, or this one has not."""

BROKEN_RULE: Final = "23514"
"""A row is not as a CHECK of its table wants it."""

_INDEX: Final = frozenset({"nbtutils.c", "indextuple.c"})
"""Where the server finds that a value is too long for an index."""

_TABLES: Final = frozenset({"42P01", "42703", "3F000", "42704", "42883"})


@contextmanager
def mapped(location: str, *, lock_timeout: float, opened: bool = False) -> Generator[None]:
    """Turn errors of the driver and SQLAlchemy into BackendErrors that say what to do.

    ``location`` is named in the message; ``lock_timeout`` is in seconds. The cause is kept.
    ``opened``: this database has let this user in before. When it no longer does, somebody is at
    work there: it is unavailable, which says nothing about what was to be written.
    """
    try:
        yield
    except (DBAPIError, PostgresError, InterfaceError, OSError) as error:
        meaning = _meaning(location, lock_timeout, driver_error(error))
        if opened and shut_out(error):
            meaning = BackendUnavailable(str(meaning))
        raise meaning from error
    except (InternalClientError, EOFError) as error:
        raise BackendUnavailable(f"the connection to {location} broke: {error}") from error
    except (UnicodeError, OverflowError) as error:
        raise Unstorable(f"a value cannot be stored in {location}: {error}") from error
    except SQLAlchemyError as error:
        raise BackendError(f"{location}: {error}") from error


def driver_error(error: BaseException) -> BaseException:
    """The driver's own error, out of SQLAlchemy's wrapping."""
    if isinstance(error, DBAPIError) and isinstance(error.orig, BaseException):
        return error.orig.__cause__ or error.orig
    return error


def sqlstate(error: BaseException) -> str | None:
    """The five characters by which PostgreSQL names an error; None where it was not the server."""
    state: str | None = getattr(driver_error(error), "sqlstate", None)
    return state


def lost_to_dependencies(error: BaseException) -> bool:
    """Whether a serialization failure is one of SERIALIZABLE's own, between reads and writes of
    several transactions, not of one row. Its detail is not translated (predicate.c)."""
    cause = driver_error(error)
    psycopg: Any = getattr(cause, "diag", None)
    detail = getattr(cause, "detail", None) if psycopg is None else psycopg.message_detail
    return str(detail).startswith("Reason code: ")


def shut_out(error: BaseException) -> bool:
    """Whether the server keeps this user out: the login, the database, or the rights to a table."""
    state = sqlstate(error) or ""
    return state[:2] in ("28", "3D") or state == "42501"


def notify_queue_is_full(error: BaseException) -> bool:
    """Whether the server has no room for a NOTIFY: somebody listens in an open transaction."""
    return sqlstate(error) == "54000" and _source(error) == "async.c"


def _source(error: BaseException) -> str:
    """The file of the server where it was raised: the only sign of it in every language."""
    return getattr(driver_error(error), "server_source_filename", None) or ""


def spoils(error: BaseException) -> bool:
    """Whether the connection on which this happened must not be used again."""
    if isinstance(error, (DBAPIError, PostgresError)):
        state = sqlstate(error) or ""
        return state in SPOILING or state.startswith("08")
    return not isinstance(error, (TaskQError, DataError, UnicodeError, OverflowError))


def _meaning(location: str, lock_timeout: float, error: BaseException) -> BackendError:
    text = str(error).partition("\n")[0] or type(error).__name__
    state = sqlstate(error)
    if state is None:
        return _without_the_server(location, error, text)
    if state in _TABLES:
        return SchemaError(f"{location}: {text}; {MIGRATE}")
    if state in POOLER:
        return BackendError(
            f"{location}: {text}; behind a pooler add ?prepared_statement_cache_size=0 to the URL"
        )
    match state[:2]:
        case "08" | "40" | "53" | "57" | "58" | "F0" | "XX":
            return _unavailable(location, state, text)
        case "25":
            return BackendUnavailable(f"{location} cannot be written now: {text}")
        case "55":
            return BackendUnavailable(
                f"database is locked: another connection holds rows of {location} longer than"
                f" {lock_timeout:g} s; if this program has a transaction open, end it first"
            )
        case "28" | "3D" | "42":
            return _refused(location, state, text)
        case "54" if notify_queue_is_full(error):
            return BackendUnavailable(f"{location} takes no more notifications: {text}")
        case "22" | "23":
            return Unstorable(f"a value cannot be stored in {location}: {text}")
        case "54" if _source(error) in _INDEX:
            return Unstorable(f"a value cannot be stored in {location}: {text}")
        case _ if "cached" in text:  # a migration happened meanwhile
            return BackendUnavailable(f"{location}: {text}")
        case _:
            return BackendError(f"{location}: {text}")


def _refused(location: str, state: str, text: str) -> BackendError:
    if state == "42501":
        return BackendError(f"{location}: {text}; grant this user the rights it needs")
    match state[:2]:
        case "28":
            return BackendError(f"{location} refuses this user or password: {text}")
        case "3D":
            return BackendError(f"{location}: {text}; create it first (createdb)")
        case _:
            return BackendError(f"{location}: {text}")


def _unavailable(location: str, state: str, text: str) -> BackendUnavailable:
    match state:
        case "53100":
            return BackendUnavailable(f"the disk of {location} is full: {text}")
        case "53300":
            return BackendUnavailable(f"{location} takes no more connections: {text}")
        case "57014":
            return QueryTimeout(f"{location} stopped a statement: {text}; ask for less at a time")
        case _:
            return BackendUnavailable(f"{location} is not available: {text}")


def _without_the_server(location: str, error: BaseException, text: str) -> BackendError:
    if isinstance(error, DataError):
        return Unstorable(f"a value cannot be stored in {location}: {text}")
    if isinstance(error, ClientConfigurationError):
        return BackendError(f"{location} cannot be connected to: {text}")
    if isinstance(error, TimeoutError):
        return BackendUnavailable(f"{location} did not answer in time")
    if isinstance(error, OSError):
        return BackendUnavailable(f"{location} cannot be reached: {text}")
    return BackendUnavailable(f"the connection to {location} broke: {text}")
