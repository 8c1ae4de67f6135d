"""One batch of calls, worked out in order before any of it is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.backends.instants import later
from taskq.backends.links import Link, link
from taskq.codec import canonical
from taskq.errors import SerializationError
from taskq.idempotency import Holder, Resolution, resolve
from taskq.model import Activity, Idempotency, Receipt, Status


class KeyHolder(Struct, frozen=True, kw_only=True):
    """What a key points at. ``payload`` is given where there is no ``digest`` to compare by.

    ``parent_id`` has made it, None: no activity has. ``claim`` is its latest claim number.
    """

    id: UUID
    status: Status
    created_at: datetime
    digest: bytes | None
    payload: str | None = None
    parent_id: UUID | None = None
    claim: int = 0


class Submission:
    """The activities to insert, the keys to write at ``now`` and the links, for the calls so far.

    ``stored`` are those ids of keyed calls that are there already; ``holders`` the keys held now.
    """

    def __init__(
        self, now: datetime, *, stored: Collection[UUID], holders: Mapping[bytes, KeyHolder]
    ) -> None:
        self._now = now
        self._taken = set(stored)
        self._holders = dict(holders)
        self._keys: dict[bytes, dict[str, object]] = {}
        self._links: dict[Link, None] = {}
        self.activities: list[Activity[object]] = []

    @property
    def keys(self) -> list[dict[str, object]]:
        """The rows of taskq_keys to insert or overwrite, sorted by hash."""
        return [self._keys[hash] for hash in sorted(self._keys)]

    @property
    def links(self) -> list[Link]:
        """The links to write where they are new: see ``Backend.submit``."""
        return list(self._links)

    def add(self, activity: Activity[object]) -> Receipt:
        """Take one call in, after those before it. Raises IdempotencyConflict."""
        wanted = activity.idempotency
        if wanted is not None:
            if activity.id in self._taken:
                return Receipt(activity.id, True)
            holder = self._holders.get(wanted.hash)
            if holder is not None:
                known = _as_holder(holder, activity, wanted)
                if resolve(activity.id, wanted, known) is Resolution.RETURN:
                    self._link(activity, holder)
                    return Receipt(holder.id, False)
            self._point(activity, wanted)
        self._taken.add(activity.id)
        self.activities.append(activity)
        return Receipt(activity.id, True)

    def _link(self, activity: Activity[object], holder: KeyHolder) -> None:
        new = link(activity, holder.id, claim=holder.claim, made_by=holder.parent_id)
        if new is not None:
            self._links[new] = None

    def _point(self, activity: Activity[object], wanted: Idempotency) -> None:
        self._holders[wanted.hash] = KeyHolder(
            id=activity.id,
            status=Status.PENDING,
            created_at=self._now,
            digest=wanted.digest,
            parent_id=activity.parent_id,
        )
        until = None if wanted.unique_for is None else later(self._now, wanted.unique_for)
        self._keys[wanted.hash] = {
            "hash": wanted.hash,
            "queue": activity.queue,
            "type": activity.type,
            "activity_id": activity.id,
            "digest": wanted.digest,
            "created_at": self._now,
            "expires_at": until,
        }


def _as_holder(key: KeyHolder, activity: Activity[object], wanted: Idempotency) -> Holder:
    if key.digest is None:
        same = _by_value(key.payload or "") == _by_value(activity.payload)
    else:
        same = key.digest == wanted.digest
    return Holder(id=key.id, status=key.status, created_at=key.created_at, same_arguments=same)


def _by_value(payload: str) -> str:
    """A foreign client's arguments as taskq would have written them, where they can be read."""
    try:
        return canonical(payload)
    except SerializationError:
        return payload
