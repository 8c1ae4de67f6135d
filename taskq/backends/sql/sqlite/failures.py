"""What SQLite's errors mean, said once, at the edge."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from taskq.errors import BackendError, BackendUnavailable, QueryTimeout, Unstorable


@contextmanager
def mapped(path: str, *, lock_timeout: float) -> Generator[None]:
    """Turn errors of SQLite and SQLAlchemy into BackendErrors that say what to do.

    ``path`` is named in the message; ``lock_timeout`` is in seconds.
    """
    try:
        yield
    except DBAPIError as error:
        cause = error.orig if isinstance(error.orig, sqlite3.Error) else None
        raise _meaning(path, lock_timeout, cause, str(error.orig)) from error
    except sqlite3.Error as error:
        raise _meaning(path, lock_timeout, error, str(error)) from error
    except (UnicodeError, OverflowError) as error:
        raise Unstorable(f"a value cannot be stored in {path}: {error}") from error
    except SQLAlchemyError as error:
        raise BackendError(f"{path}: {error}") from error


def _meaning(
    path: str, lock_timeout: float, cause: sqlite3.Error | None, text: str
) -> BackendError:
    code = getattr(cause, "sqlite_errorcode", None)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return BackendUnavailable(
                f"database is locked: another connection holds a write transaction of {path}"
                f" longer than {lock_timeout:g} s; if this program has one open, end it first"
            )
        case sqlite3.SQLITE_FULL:
            return BackendUnavailable(f"the disk (or the file's size limit) is full: {path}")
        case sqlite3.SQLITE_READONLY:
            return BackendUnavailable(
                f"{path} is read-only here: the file and its folder must be writable"
            )
        case sqlite3.SQLITE_INTERRUPT:
            return QueryTimeout(f"a question to {path} took too long: ask for less at a time")
        case sqlite3.SQLITE_CANTOPEN:
            return _cannot_open(path)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_NOMEM | sqlite3.SQLITE_PROTOCOL:
            return BackendUnavailable(f"{path} could not be read or written: {text}")
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG | sqlite3.SQLITE_MISMATCH:
            return Unstorable(f"a value cannot be stored in {path}: {text}")
        case sqlite3.SQLITE_NOTADB:
            return BackendError(f"{path} is not an SQLite database; name another file")
        case sqlite3.SQLITE_CORRUPT:
            return BackendError(f"{path} is damaged ({text}); restore it from a backup")
        case sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return BackendUnavailable(f"no permission to use {path}")
        case _:
            return BackendError(f"{path}: {text}")


def _cannot_open(path: str) -> BackendError:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        return BackendError(f"cannot open {path}: there is no folder {folder}; create it")
    if os.path.isdir(path):
        return BackendError(f"cannot open {path}: it is a folder; name a file")
    return BackendUnavailable(
        f"cannot open {path}: this user must be able to read and write it and its folder"
    )
