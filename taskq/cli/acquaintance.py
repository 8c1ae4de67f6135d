"""Whether anything knows the name of a queue or type, for commands that take any name."""

from __future__ import annotations

from difflib import get_close_matches

from taskq.app import TaskQ
from taskq.errors import BackendError
from taskq.pausing import Kind
from taskq.reserved import RESERVED
from taskq.snapshot import Filter

_NOBODY = {
    Kind.QUEUE: "no activity and no worker knows this queue yet",
    Kind.TYPE: "no activity has this type yet",
}


def stranger(found: TaskQ, kind: Kind, name: str) -> str | None:
    """A sentence where no activity, worker or task of this app has the name, with the one that was
    maybe meant; None where something has it, or where a short look does not tell. Raises nothing:
    what was asked for is done when this is asked."""
    try:
        return _stranger(found, kind, name)
    except BackendError:
        return None


def _stranger(found: TaskQ, kind: Kind, name: str) -> str | None:
    known = _known(found, kind)
    if name in known or name in RESERVED or _stored(found, kind, name):
        return None
    pauses = found.client.call_sync(found.client.store.pauses)
    paused = {each.name for each in pauses if each.kind is kind}
    close = get_close_matches(name, sorted((known | paused) - {name}), n=1)
    return _NOBODY[kind] + (f"; did you mean {close[0]}?" if close else "")


def _known(found: TaskQ, kind: Kind) -> set[str]:
    """The names of this kind of which there is more than a pause."""
    loads = found.client.call_sync(lambda: found.client.store.loads(kind, cap=1))
    held = {load.name for load in loads if load.workers or any(load.by_status.values())}
    if kind is Kind.QUEUE:
        return held.union(found.registry.queues())
    workers = found.client.call_sync(found.client.store.workers)
    return held.union(found.registry.handlers(), *(worker.types for worker in workers))


def _stored(found: TaskQ, kind: Kind, name: str) -> bool:
    """Whether there may be an activity of this type that has ended. Queues count those as well."""
    if kind is Kind.QUEUE:
        return False
    typed = Filter(types=(name,))
    count = found.client.call_sync(lambda: found.client.store.count(typed, cap=1))
    return count.number > 0 or not count.exact
