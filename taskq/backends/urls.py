"""Database URLs: which backend a URL names, and what is wrong with it. Never shows a password."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote

from taskq.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from taskq.backends import Store
    from taskq.clock import Clock

GROUP: Final = "taskq.backends"
"""The entry-point group of other backends: the name is the URL scheme, the value is called with the
URL and returns a Store."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_SQLITE = frozenset({"sqlite", "sqlite+aiosqlite", "sqlite+pysqlite"})
_FILES = "sqlite:///name.db (relative to the current folder) or sqlite:////absolute/name.db"


def open_url(
    url: str,
    *,
    clock: Clock,
    lock_timeout: float,
    schema: str | None = None,
    listen: bool = True,
) -> Store:
    """The store that a URL names, not yet opened. Raises ConfigurationError.

    postgresql://, sqlite:///file, memory://, or a scheme that an installed package serves.
    ``clock`` is where SQLite and memory read the time; a statement waits ``lock_timeout`` seconds
    for locks. ``schema`` and ``listen`` are PostgreSQL's.
    """
    scheme = scheme_of(url)
    if scheme in _SQLITE:
        from taskq.backends.sql.sqlite.backend import SQLiteBackend

        return SQLiteBackend(sqlite_path(url), clock=clock, lock_timeout=lock_timeout)
    if scheme == "memory":
        return _memory(url, clock)
    if scheme.startswith("postgres"):
        from taskq.backends.sql.postgres.backend import PostgresBackend

        return PostgresBackend(url, schema=schema, listen=listen, lock_timeout=lock_timeout)
    return _installed(scheme, url)


def scheme_of(url: str) -> str:
    """The scheme (RFC 3986), in small letters. Raises ConfigurationError where there is none."""
    scheme, separator, _ = url.partition("://")
    if not separator or not _SCHEME.match(scheme):
        raise ConfigurationError(
            f"a database URL looks like postgresql://user@host/name, {_FILES}, or memory://;"
            " this one has no scheme"
        )
    return scheme.lower()


def sqlite_path(url: str) -> str:
    """The file of an SQLite URL, %-escapes resolved. Raises ConfigurationError."""
    host, separator, path = url.partition("://")[2].partition("/")
    if host and not host.startswith("?"):
        raise ConfigurationError(f"an SQLite URL has no host: write {_FILES}")
    path, _, query = path.partition("?")
    path = unquote(path)
    if not separator or path in ("", ":memory:"):
        raise ConfigurationError(
            "an SQLite database without a file would be another one for each connection:"
            f" use memory://, or {_FILES}"
        )
    if query or path.startswith("file:"):
        raise ConfigurationError(f"an SQLite URL takes no options: write {_FILES}")
    if "\0" in path:
        raise ConfigurationError("an SQLite URL's file name cannot hold NUL")
    return path


def _memory(url: str, clock: Clock) -> Store:
    if url.partition("://")[2]:
        raise ConfigurationError("memory:// takes nothing behind it")
    from taskq.backends.memory import MemoryBackend

    return MemoryBackend(clock)


def _installed(scheme: str, url: str) -> Store:
    found = list(entry_points(group=GROUP, name=scheme))
    if not found:
        raise ConfigurationError(
            f"no backend serves {scheme}://; there are postgresql://, sqlite:///, memory:// and"
            f" those of installed packages (entry-point group {GROUP})"
        )
    if len(found) > 1:
        packages = ", ".join(sorted(entry.value for entry in found))
        raise ConfigurationError(f"more than one installed backend serves {scheme}://: {packages}")
    try:
        make = cast("Callable[[str], Store]", found[0].load())
    except Exception as error:
        raise ConfigurationError(
            f"the backend for {scheme}:// ({found[0].value}) could not be loaded: {error}"
        ) from error
    return make(url)
