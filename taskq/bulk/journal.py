"""Which chunks of a bulk command are done: the record of commands says it.

A chunk is one command in one transaction, and its id is made of the bulk command's and its number.
So whoever goes on after a crash finds it in the record or not, and two that run at the same time
cannot both do it.
"""

from __future__ import annotations

from typing import cast
from uuid import UUID, uuid5

from msgspec import Struct

from taskq.audit import AuditEntry
from taskq.backends import Inspector

AT_ONCE = 50
"""Chunks that are looked up at once."""


class Chunk(Struct, frozen=True):
    """A chunk that is on record: its ``number``, from 0, and whom it was about."""

    number: int
    ids: tuple[UUID, ...]


def command_id(bulk: UUID, number: int) -> UUID:
    """The command id of a chunk."""
    return uuid5(bulk, f"chunk {number}")


async def recorded(store: Inspector, bulk: UUID, *, first: int) -> list[Chunk]:
    """The chunks from number ``first`` on that are on record, in order; beside the store."""
    found: list[Chunk] = []
    while True:
        numbers = range(first + len(found), first + len(found) + AT_ONCE)
        part = await _some(store, bulk, numbers)
        found += part
        if len(part) < AT_ONCE:
            return found


async def chunk(store: Inspector, bulk: UUID, number: int) -> Chunk | None:
    """One chunk, if it is on record; beside the store."""
    found = await _some(store, bulk, range(number, number + 1))
    return found[0] if found else None


async def _some(store: Inspector, bulk: UUID, numbers: range) -> list[Chunk]:
    """The first of these, up to one that is not there."""
    wanted = {command_id(bulk, number): number for number in numbers}
    entries = await store.audit(limit=len(wanted), command_ids=list(wanted))
    done: dict[int, tuple[UUID, ...]] = {}
    for entry in entries:
        if entry.command_id is not None and entry.command_id in wanted:
            done[wanted[entry.command_id]] = _ids(entry)
    chunks: list[Chunk] = []
    for number in numbers:
        if number not in done:
            break
        chunks.append(Chunk(number, done[number]))
    return chunks


def _ids(entry: AuditEntry) -> tuple[UUID, ...]:
    given = entry.detail.get("ids")
    return tuple(UUID(str(id)) for id in cast("list[object]", given)) if given else ()
