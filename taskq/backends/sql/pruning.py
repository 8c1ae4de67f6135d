"""Deletion inside one transaction, on SQLite and PostgreSQL alike.

What goes is kept still first, activities in the order of their ids, then keys in the order of their
hashes: as cancels, settling and calls do it. The events are deleted last, when nobody can write any
more: a call that links to an activity holds its key.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import Connection

from taskq.audit import Command
from taskq.backends import Deletion, Mark, Pruned
from taskq.backends.changes import Changes
from taskq.backends.sql import auditing
from taskq.backends.sql import pruning_statements as statements
from taskq.backends.sql.chunks import CHUNK, chunked
from taskq.backends.sql.keying import keys_kept_still, keys_of
from taskq.backends.sql.operating import recorded
from taskq.backends.sql.rows import Record, status_of
from taskq.model import Status
from taskq.retention import Node, Rules, cutoffs, ripe

Tree = dict[UUID, Node]
"""What belongs to one top, itself too, by id."""

MOST: Final = 2000
"""Activities that one batch goes on with, unless its first tree alone has more."""
GROUP: Final = 16
"""Trees that are walked at a time, at the most."""
PROBES: Final = 200
"""Queues and states that one batch looks into, at the most."""
AHEAD: Final = timedelta(days=1)
"""By so much the clocks of those who make ids are ahead at the most; ids of later times are taken
for such as do not grow with time."""
_FIRST: Final = UUID(int=0)
_DONE: Final = UUID(int=(1 << 128) - 1)
"""The id of a mark at the end of a queue and state."""


class Batch(Struct, frozen=True):
    """Trees that may go, by their tops, and where the next batch begins."""

    trees: Mapping[UUID, Tree]
    next: Mark | None


# -- by an operator --


def delete(
    connection: Connection, now: datetime, ids: Sequence[UUID], command: Command
) -> tuple[Mapping[UUID, Deletion], Changes]:
    """See ``Pruner.delete``."""
    fresh = recorded(connection, now, command, "delete", ids)
    changes = Changes()
    trees = _kept_still(connection, sorted(set(ids)))
    alive = {top: sum(map(_is_alive, tree.values())) for top, tree in trees.items()}
    going = [tree for top, tree in trees.items() if fresh and not alive[top]]
    gone = sorted({id for tree in going for id in tree})
    _remove(connection, gone, keys_kept_still(connection, gone), changes)
    if fresh:
        kept = [id for id in dict.fromkeys(ids) if id not in trees or alive[id]]
        auditing.leave(connection, fresh, kept)
    return {
        top: Deletion(status, len(tree) if fresh and not alive[top] else 0, alive[top])
        for top, tree in trees.items()
        if (status := tree[top].status) is not None
    }, changes


def _kept_still(connection: Connection, tops: Sequence[UUID]) -> dict[UUID, Tree]:
    """The trees below these as they are now; those of which nothing lives stay so.

    One that ran between the walk and the lock may have made more: then it is walked again.
    """
    held: set[UUID] = set()
    while True:
        trees = _walked(connection, tops)
        dead = [tree for tree in trees.values() if not any(map(_is_alive, tree.values()))]
        fresh = sorted({id for tree in dead for id in tree} - held)
        if not fresh:
            return trees
        for _ in chunked(connection, statements.kept_still(patient=True), "ids", fresh):
            pass
        held.update(fresh)


def _is_alive(node: Node) -> bool:
    return node.status is None or not node.status.terminal


# -- by retention --


def due(
    connection: Connection, now: datetime, rules: Rules, limit: int, after: Mark | None
) -> Batch:
    """The next trees that may go, as they are now; nothing is kept still."""
    cut = cutoffs(rules, now)
    place = after
    for _ in range(PROBES):
        place = _next_place(connection, place, sorted(cut))
        if place is None:
            return Batch({}, None)
        tops, place = _tops(connection, now, place, cut[place.status], limit)
        if tops:
            return _batch(connection, tops, cut, place)
        if place.id != _DONE:
            break
    return Batch({}, place)


def _next_place(
    connection: Connection, after: Mark | None, statuses: Sequence[Status]
) -> Mark | None:
    """Where to look: at ``after`` if its state is not done, else in the next state or queue."""
    if not statuses:
        return None
    if after is not None and after.id != _DONE:
        return after
    if after is not None:
        later = [status for status in statuses if status > after.status]
        if later:
            return Mark(after.queue, later[0], _FIRST)
    queue = "" if after is None else after.queue
    found = connection.execute(statements.next_queue(), {"queue": queue}).scalar_one()
    return None if found is None else Mark(found, statuses[0], _FIRST)


def _tops(
    connection: Connection, now: datetime, place: Mark, cutoff: datetime, limit: int
) -> tuple[list[UUID], Mark]:
    """Tops that may go by themselves, from this place on, and where to look next."""
    values = {
        "queue": place.queue,
        "status": place.status.value,
        "after": place.id,
        "cutoff": cutoff,
    }
    postgres = connection.dialect.name == "postgresql"
    found = connection.execute(statements.due_tops(postgres=postgres), {**values, "limit": limit})
    tops = [row.id for row in found]
    if len(tops) == limit:
        return tops, Mark(place.queue, place.status, tops[-1])
    end = connection.execute(statements.end_of_look(postgres=postgres), values).one()
    return tops, Mark(place.queue, place.status, _next_id(end, now))


def _next_id(end: Record, now: datetime) -> UUID:
    """Where the next look begins. Ids of version 7 grow with time: where nothing that was looked at
    is old enough, what follows is not either, up to ids that are of no such time: it goes on there.
    """
    if not end.more:
        return _DONE
    last: UUID = end.last
    if end.earlier:
        return last
    return max(last, UUID(int=round((now + AHEAD).timestamp() * 1000) << 80))


def _batch(
    connection: Connection,
    tops: Sequence[UUID],
    cut: Mapping[Status, datetime],
    place: Mark,
) -> Batch:
    """Those of these trees that may go, as many as one transaction should look at."""
    chosen: dict[UUID, Tree] = {}
    count, passed = 0, 0
    while passed < len(tops) and count < MOST:
        group = tops[passed : passed + _room(count, passed)]
        trees = _walked(connection, group)
        for top in group:
            tree = trees.get(top, {})
            if passed and count + len(tree) > MOST:
                return Batch(chosen, Mark(place.queue, place.status, tops[passed - 1]))
            count += len(tree)
            passed += 1
            if tree and ripe(tree.values(), cut):
                chosen[top] = tree
    done = passed == len(tops)
    return Batch(chosen, place if done else Mark(place.queue, place.status, tops[passed - 1]))


def _room(count: int, trees: int) -> int:
    """How many trees to walk next, when so many ``trees`` had ``count`` activities: not many more
    than one transaction has room for, as what is too much is walked once more by the next."""
    return max(1, min(GROUP, trees, (MOST - count) * trees // max(1, count)))


def prune(
    connection: Connection, now: datetime, rules: Rules, batch: Batch, command: Command | None
) -> tuple[Pruned, Changes]:
    """Delete those trees of a batch that still may go and that nobody else holds."""
    detail = {"rules": {status.value: kept for status, kept in rules.items()}}
    changes = Changes()
    if connection.dialect.name == "postgresql" and not _alone(connection):
        return Pruned(busy=True), changes
    if command and not auditing.record(connection, now, command, "prune", detail=detail):
        return Pruned(next=batch.next), changes
    cut = cutoffs(rules, now)
    ids = sorted({id for tree in batch.trees.values() for id in tree})
    found = chunked(connection, statements.kept_still(patient=False), "ids", ids)
    still = {row.id for row in found if ripe([_node(row)], cut)}
    keys = list(chunked(connection, keys_of(), "ids", sorted(still)))
    held = _still_keys(connection, keys)
    still -= {row.activity_id for row in keys if row.hash not in held}
    whole = [top for top, tree in batch.trees.items() if still.issuperset(tree)]
    # One that outlived its lease may have made more since they were looked at.
    gone = [tree for tree in _walked(connection, whole).values() if still.issuperset(tree)]
    going = {id for tree in gone for id in tree}
    hashes = [row.hash for row in keys if row.activity_id in going]
    _remove(connection, sorted(going), hashes, changes)
    pruned = Pruned(trees=len(gone), activities=sum(map(len, gone)), next=batch.next)
    return pruned, changes


def _alone(connection: Connection) -> bool:
    """Whether nobody else prunes this schema; that stays so until the transaction ends."""
    translated = connection.get_execution_options().get("schema_translate_map", {})
    schema = zlib.crc32((translated.get(None) or "").encode()) - (1 << 31)
    return bool(connection.execute(statements.alone(), {"schema": schema}).scalar_one())


def _still_keys(connection: Connection, keys: Sequence[Record]) -> set[bytes]:
    """Those of these that no other transaction holds, and that point where they did: kept still."""
    owners = sorted({row.activity_id for row in keys})
    found = chunked(connection, statements.keys_not_held(), "ids", owners)
    return {row.hash for row in found}


def any_expired_key(connection: Connection, now: datetime) -> bool:
    """Whether ``sweep_keys`` has anything to do."""
    return connection.execute(statements.any_expired(), {"now": now}).first() is not None


def sweep_keys(connection: Connection, now: datetime, limit: int) -> tuple[int, Changes]:
    """See ``Pruner.sweep_keys``."""
    found = connection.execute(statements.expired_keys(), {"now": now, "limit": limit})
    hashes = [row.hash for row in found]
    _delete_keys(connection, hashes)
    return len(hashes), Changes()


# -- parts --


def _walked(connection: Connection, tops: Sequence[UUID]) -> dict[UUID, Tree]:
    """The trees below these, in the order of the tops."""
    trees: defaultdict[UUID, Tree] = defaultdict(dict)
    for row in chunked(connection, statements.trees(), "tops", tops):
        trees[row.top][row.id] = _node(row)
    return {top: trees[top] for top in tops if top in trees}


def _node(row: Record) -> Node:
    return Node(status_of(row.status), row.since)


def _remove(
    connection: Connection, ids: Sequence[UUID], hashes: Sequence[bytes], changes: Changes
) -> None:
    """Delete activities with their keys, all of which are kept still, and their events."""
    _delete_keys(connection, hashes)
    for part in _parts(ids):
        connection.execute(statements.delete_events(), {"ids": part})
        connection.execute(statements.delete_activities(), {"ids": part})
    changes.done.update(ids)


def _delete_keys(connection: Connection, hashes: Sequence[bytes]) -> None:
    for start in range(0, len(hashes), CHUNK):
        connection.execute(statements.delete_keys(), {"hashes": hashes[start : start + CHUNK]})


def _parts(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
