"""How calls and their keys are stored on PostgreSQL: statements, as in ``statements``.

Each is one whole transaction, or a part of a longer one, which may be a caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    Executable,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.types import TypeEngine

from taskq.backends.instants import LAST
from taskq.backends.sql.postgres.parts import (
    ARRIVAL,
    INSTANT,
    SECOND,
    lasting,
    patient,
    spread,
    telling,
)
from taskq.backends.sql.tables import activities, keys, spelled
from taskq.model import Status

_activity = activities.c
_last: ColumnElement[Any] = literal_column(f"'{LAST.isoformat()}'", INSTANT)
_ids = bindparam("ids", type_=ARRAY(Uuid()))

GIVEN: Final[dict[str, TypeEngine[Any]]] = {
    "id": Uuid(),
    "queue": Text(),
    "type": Text(),
    "priority": SmallInteger(),
    "payload": Text(),
    "max_retries": Integer(),
    "max_crashes": Integer(),
    "timeout_ms": BigInteger(),
    "policy": Text(),
    "metadata": Text(),
    "tags": Text(),
    "source": Text(),
    "correlation_id": Text(),
    "user_id": Text(),
    "idempotency_key": Text(),
    "isolate": Boolean(),
    "parent_id": Uuid(),
    "root_id": Uuid(),
    "origin_id": Uuid(),
    "depth": Integer(),
}
"""The columns of an activity that its caller gives, all but the times."""

RARE: Final[dict[str, TypeEngine[Any]]] = {
    "step": Text(),
    "generation": Integer(),
    "expires_at": INSTANT,
    "expires_in": Double(),
    "deadline_at": INSTANT,
    "deadline_in": Double(),
}
"""What few calls say besides: other statements are for these, so that the others send less."""

_KEY: Final[dict[str, TypeEngine[Any]]] = {
    "hash": LargeBinary(),
    "queue": Text(),
    "type": Text(),
    "activity_id": Uuid(),
    "digest": LargeBinary(),
    "unique_for": Double(),
}


@cache
def submit(*, rare: bool = False) -> Executable:
    """Insert the given activities; those whose id is there already are left as they are.

    The columns of ``GIVEN`` as arrays, ``run_at`` and ``delay`` (seconds), with ``rare`` those of
    ``RARE``. Answers how many.
    """
    stored = _insert_activities(_many(rare)).returning(_activity.id).cte("stored")
    return select(func.count()).select_from(stored).where(patient(), lasting(), telling())


@cache
def submit_one(*, rare: bool = False) -> Executable:
    """The same for one, whose values come as they are: arrays cost both sides more. No answer."""
    return _insert_activities(_one(rare), patient(), lasting(), telling())


@cache
def insert_activities(*, rare: bool = False) -> Executable:
    """As ``submit``, inside of a longer transaction."""
    stored = _insert_activities(_many(rare)).returning(_activity.id).cte("stored")
    return select(func.count()).select_from(stored).where(telling())


@cache
def submit_keyed(*, rare: bool = False) -> Executable:
    """As ``submit_one``, with a key, if that is free: answers 0, with nothing done, else.

    ``hash``, ``digest`` and ``unique_for`` (seconds) besides.
    """
    key = insert(keys).from_select(
        ["hash", "queue", "type", "activity_id", "digest", "created_at", "expires_at"],
        select(
            bindparam("hash", type_=LargeBinary()),
            bindparam("key_queue", type_=Text()),
            bindparam("key_type", type_=Text()),
            bindparam("key_id", type_=Uuid()),
            bindparam("digest", type_=LargeBinary()),
            ARRIVAL,
            _until(bindparam("unique_for", type_=Double())),
        ),
    )
    taken = key.on_conflict_do_nothing(index_elements=["hash"]).returning(keys.c.hash).cte("taken")
    there = exists().select_from(taken)
    stored = _insert_activities(_one(rare), there).returning(_activity.id).cte("stored")
    free = select(func.count()).select_from(taken).where(patient(), lasting(), telling())
    return free.add_cte(stored)


_ARRIVING: Final[dict[str, TypeEngine[Any]]] = {**GIVEN, "run_at": INSTANT, "delay": Double()}


def _many(rare: bool) -> Mapping[str, ColumnElement[Any]]:
    columns = _arriving(rare)
    given = spread("given", columns, hidden=False)
    return {name: given.c[name] for name in columns}


def _one(rare: bool) -> Mapping[str, ColumnElement[Any]]:
    return {name: bindparam(name, type_=kind) for name, kind in _arriving(rare).items()}


def _arriving(rare: bool) -> Mapping[str, TypeEngine[Any]]:
    return _ARRIVING | RARE if rare else _ARRIVING


def _insert_activities(
    given: Mapping[str, ColumnElement[Any]], *conditions: ColumnElement[bool]
) -> Insert:
    run_at, delay = given["run_at"], given["delay"]
    later = func.least(ARRIVAL + delay * SECOND, _last)
    ready_at = func.coalesce(run_at, case((delay.is_(None), ARRIVAL), else_=later))
    status = case((ready_at > ARRIVAL, spelled(Status.SCHEDULED)), else_=spelled(Status.PENDING))
    values: dict[str, ColumnElement[Any]] = {name: given[name] for name in GIVEN}
    values |= {"status": status, "created_at": ARRIVAL, "ready_at": ready_at}
    if "step" in given:
        values |= {"step": given["step"], "generation": given["generation"]}
        values |= {f"{name}_at": _limit(given, name) for name in ("expires", "deadline")}
    rows = select(*(value.label(name) for name, value in values.items())).where(*conditions)
    return (
        insert(activities)
        .from_select(list(values), rows)
        .on_conflict_do_nothing(index_elements=["id"])
    )


def _limit(given: Mapping[str, ColumnElement[Any]], name: str) -> ColumnElement[Any]:
    """An instant, or so many seconds from the call, whichever is earlier: of NULLs it is the
    other."""
    within = func.least(ARRIVAL + given[f"{name}_in"] * SECOND, _last)
    return func.least(given[f"{name}_at"], case((given[f"{name}_in"].is_not(None), within)))


@cache
def take_keys() -> Executable:
    """Insert the given keys, in their order, where they are free; answers which were.

    Waits for whoever is just inserting the same one.
    """
    key = spread("key", _KEY, hidden=False)
    given = [each for each in key.c if each.name != "unique_for"]
    names = [*(each.name for each in given), "created_at", "expires_at"]
    rows = select(*given, ARRIVAL, _until(key.c.unique_for)).order_by(key.c.hash)
    taken = insert(keys).from_select(names, rows)
    return taken.on_conflict_do_nothing(index_elements=["hash"]).returning(keys.c.hash)


@cache
def lock_keys() -> Executable:
    """Keep the keys among ``hashes`` still, in order; answers which are there."""
    held = select(keys.c.hash).where(keys.c.hash == any_(_hashes()))
    return held.order_by(keys.c.hash).with_for_update()


@cache
def key_holders() -> Executable:
    """The keys among ``hashes`` that are held: not expired, their activity still there.

    A statement of its own after ``lock_keys``: it sees what was committed until then.
    """
    payload = case((keys.c.digest.is_(None), _activity.payload))
    return (
        select(
            keys.c.hash,
            keys.c.digest,
            _activity.id,
            _activity.status,
            _activity.created_at,
            payload,
            _activity.parent_id,
            _activity.claim,
        )
        .join_from(keys, activities, keys.c.activity_id == _activity.id)
        .where(keys.c.hash == any_(_hashes()))
        .where(or_(keys.c.expires_at.is_(None), keys.c.expires_at > ARRIVAL))
    )


@cache
def point_keys() -> Executable:
    """Point the given keys, which are kept still, at other activities."""
    names = ("hash", "activity_id", "digest", "unique_for")
    key = spread("key", {name: _KEY[name] for name in names})
    return (
        update(keys)
        .where(keys.c.hash == key.c.hash)
        .values(
            activity_id=key.c.activity_id,
            digest=key.c.digest,
            created_at=ARRIVAL,
            expires_at=_until(key.c.unique_for),
        )
    )


@cache
def free_keys() -> Executable:
    """Take back keys that were inserted in vain."""
    return delete(keys).where(keys.c.hash == any_(_hashes()))


@cache
def existing() -> Executable:
    """Which of ``ids`` are there."""
    return select(_activity.id).where(_activity.id == any_(_ids))


def _until(unique_for: ColumnElement[Any]) -> ColumnElement[Any]:
    """When a key is free again; NULL where that is never said."""
    return case((unique_for.is_not(None), func.least(ARRIVAL + unique_for * SECOND, _last)))


def _hashes() -> ColumnElement[Any]:
    return bindparam("hashes", type_=ARRAY(LargeBinary()))
