"""What a request may ask for and see: its filter, and the veil before what is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar
from uuid import UUID

from msgspec import Struct

from taskq.filtering.matching import matches
from taskq.filtering.reading import narrowed, parsed
from taskq.filtering.terms import (
    AnywhereHas,
    ArgumentIs,
    Condition,
    ErrorHas,
    Not,
    TagIn,
    Term,
    plain,
)
from taskq.model import Status
from taskq.settings import NAME
from taskq.snapshot import ActivityInfo, Bucket, Filter
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.veil import Veil

T = TypeVar("T")
Read: TypeAlias = Callable[[str], T]


def veil_of(console: Console, identity: Identity) -> Veil:
    """What this one may see."""
    return Veil(console.app.showing, shown=console.shows_payloads(identity))


class Wanted(Struct, frozen=True):
    """What a request asks for. ``inside`` are the terms that look into what may be redacted: those
    must hold for the activity as it is shown, so that no search tells what is redacted. The store
    is asked for those of them alone that are not negated: what it leaves out cannot be found."""

    filter: Filter
    inside: tuple[Term, ...] = ()

    def holds(self, info: ActivityInfo, veil: Veil) -> bool:
        """Whether what was found may be shown as found."""
        return not self.inside or matches(veil.seen(info), self.inside, info.created_at)


def wanted(
    veil: Veil,
    *,
    q: str = "",
    status: str = "",
    queue: str = "",
    type: str = "",
    roots: bool = False,
    parent: UUID | None = None,
) -> Wanted:
    """The filter that these parameters make; all of them must hold.

    Raises FilterError, or Problem 400 that names the parameter; 403 for words that look into what
    is hidden from this one.
    """
    terms = parsed(q)
    if not veil.shown and any(isinstance(plain(term), _PROBES) for term in terms):
        raise Problem(
            403,
            "forbidden",
            "payloads are hidden from you, so that you cannot search for arguments, errors or text",
        )
    given = Filter(
        statuses=named("status", status, _status),
        queues=named("queue", queue, _name),
        types=named("type", type, _type),
        roots_only=roots,
        parent_id=parent,
    )
    inside = tuple(term for term in terms if _is_inside(plain(term), veil))
    stored = [term for term in terms if not (isinstance(term, Not) and term in inside)]
    return Wanted(narrowed(given, stored), inside)


def named(parameter: str, text: str, read: Read[T | None]) -> tuple[T, ...]:
    """What is listed with commas between. Raises Problem 400 that names the parameter."""
    found: list[T] = []
    for part in text.split(",") if text else ():
        value = read(part.strip())
        if value is None:
            raise Problem(400, "bad_request", f"{parameter}: {part.strip()!r} is no {parameter}")
        found.append(value)
    return tuple(found)


def only_named(*, type: str, queue: str) -> Callable[[Bucket], bool]:
    """Whether a bucket of the rollup is of these types and queues. Raises as ``named``."""
    types = named("type", type, _type)
    queues = named("queue", queue, _name)

    def is_meant(bucket: Bucket) -> bool:
        return (not queues or bucket.queue in queues) and (
            not types or any(fits(each, bucket.type) for each in types)
        )

    return is_meant


def fits(wanted: str, type: str) -> bool:
    """Whether a type is this one, or begins so where a ``*`` ends it."""
    return type.startswith(wanted[:-1]) if wanted.endswith("*") else type == wanted


def _is_inside(condition: Condition, veil: Veil) -> bool:
    if isinstance(condition, TagIn):
        return veil.hides_tag(condition.key)
    return isinstance(condition, (ArgumentIs, AnywhereHas))


def _status(text: str) -> Status | None:
    return Status(text) if text in _STATUSES else None


def _name(text: str) -> str | None:
    return text if NAME.match(text) else None


def _type(text: str) -> str | None:
    return text if NAME.match(text.removesuffix("*") or "any") else None


_PROBES = (ArgumentIs, AnywhereHas, ErrorHas)
_STATUSES = frozenset(status.value for status in Status)
