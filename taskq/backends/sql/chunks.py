"""Many ids, asked for as many at a time as one statement should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Executable

from taskq.backends.sql.rows import Record

CHUNK = 500


def chunked(
    connection: Connection,
    query: Executable,
    name: str,
    values: Sequence[object],
    **others: object,
) -> Iterator[Record]:
    """The rows of ``query`` for all ``values``, which it binds as the list ``name``."""
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK]
        yield from connection.execute(query, {name: chunk, **others})
