"""The keys of activities, kept still in the order in which everybody keeps keys still."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Connection, Executable, bindparam, select

from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.tables import keys


def keys_kept_still(connection: Connection, ids: Collection[UUID]) -> list[bytes]:
    """The hashes of the keys that point at these; they do so until the transaction ends.

    They are locked in the order of their hashes over all of them, as by calls with keys: another
    order would deadlock with these.
    """
    wanted = sorted(row.hash for row in chunked(connection, keys_of(), "ids", sorted(ids)))
    meant = frozenset(ids)
    found = chunked(connection, kept_still(), "hashes", wanted)
    return [row.hash for row in found if row.activity_id in meant]


@cache
def keys_of() -> Executable:
    """The keys that point at ``ids``."""
    wanted: BindParameter[Any] = bindparam("ids", expanding=True)
    return select(keys.c.hash, keys.c.activity_id).where(keys.c.activity_id.in_(wanted))


@cache
def kept_still() -> Executable:
    """The keys ``hashes`` in their order, kept still."""
    found = select(keys.c.hash, keys.c.activity_id)
    found = found.where(keys.c.hash.in_(bindparam("hashes", expanding=True)))
    return found.order_by(keys.c.hash).with_for_update()
