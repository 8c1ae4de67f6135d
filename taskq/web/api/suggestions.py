"""``/api/suggestions``: what may come next in a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Struct

from taskq.backends import Inspector
from taskq.filtering.completing import Place, beginning, name_text, place, value_text
from taskq.filtering.fields import FIELDS
from taskq.model import Priority, Status
from taskq.redaction import MASK
from taskq.snapshot import ActivityInfo, Filter, Page
from taskq.web.api.asking import veil_of
from taskq.web.api.parameters import Query
from taskq.web.console import Console
from taskq.web.role import Identity
from taskq.web.views.veil import Veil

SHOWN: Final = 20
SAMPLE: Final = 500
"""The newest activities whose values are offered."""

_HELP: Final[Mapping[str, str]] = {
    "status": "its state",
    "type": "the task's name; send_* is a prefix",
    "queue": "the queue's name",
    "priority": "priority>=high",
    "tag": "tag.region:eu",
    "user": "the user's id",
    "corr": "the correlation id",
    "source": "where the call came from",
    "key": "the idempotency key",
    "step": "its name among its parent's children",
    "error": "text in the error's type or message",
    "cause": "the fingerprint of what it failed of",
    "args": "args.order.id:17",
    "age": "age>1h",
    "id": "its id, or the first 8 digits",
    "parent": "its parent's id",
    "root": "its root's id",
    "worker": "who holds it or had it last: its id, or the first 8 digits",
}
_DOTTED: Final = frozenset({"tag", "args"})


class SuggestionView(Struct, frozen=True, kw_only=True):
    """``text`` to put in place of what is typed; ``label`` to show, ``detail`` to explain it."""

    text: str
    label: str
    kind: Literal["field", "value"]
    detail: str


class SuggestionList(Struct, frozen=True, kw_only=True):
    """What may stand at the caret: each replaces the text from column ``start`` to ``end``."""

    start: int
    end: int
    items: list[SuggestionView]


@get("/api/suggestions")
async def suggestions(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    q: Query = "",
    at: Annotated[int, QueryParameter(ge=0, le=2000, description="The caret's column.")] = 2000,
) -> SuggestionList:
    """Fields of the filter language, and values that are known: states, priorities, types, queues,
    and the tags, users and sources of the newest 500 activities."""
    here = place(q, at)
    name, _, part = (here.typed if here.field is None else here.field).partition(".")
    if here.field is None and not (name == "tag" and "." in here.typed):
        items = _fields(here.typed)
    elif here.field is None:
        seen = await console.ask(newest, console.reader)
        items = _tags(seen, part)
    else:
        items = await _values(console, veil_of(console, identity), here, name, part)
    return SuggestionList(start=here.start, end=here.end, items=items)


async def newest(reader: Inspector) -> tuple[ActivityInfo, ...]:
    """Beside the store: the newest activities."""
    return (await reader.list(Filter(), Page(limit=SAMPLE))).items


async def _values(
    console: Console, veil: Veil, here: Place, name: str, part: str
) -> list[SuggestionView]:
    known: Iterable[str]
    match name:
        case "status":
            known = [status.value for status in Status]
        case "priority":
            known = [level.name.lower() for level in reversed(Priority)]
        case "age":
            known = ["1m", "10m", "1h", "1d", "7d"]
        case "type" | "queue" | "user" | "corr" | "source" | "step" | "tag":
            seen = await console.ask(newest, console.reader)
            known = _seen(console, veil, name, part, seen)
        case _:
            known = ()
    return [
        SuggestionView(text=value_text(value), label=value, kind="value", detail="")
        for value in beginning(known, here.typed, limit=SHOWN)
    ]


_TEXTS: Final[Mapping[str, str]] = {"user": "user_id", "corr": "correlation_id"}


def _seen(
    console: Console, veil: Veil, name: str, part: str, newest: Iterable[ActivityInfo]
) -> Iterable[str]:
    """The values of a field, those of the app first; none that is hidden."""
    match name:
        case "type":
            return [*sorted(console.app.tasks), *(info.type for info in newest)]
        case "queue":
            return [*console.app.registry.queues(), *(info.queue for info in newest)]
        case "tag" if console.app.redaction.hides(part):
            return ()
        case "tag":
            values = (veil.tags(info).get(part, MASK) for info in newest)
            return [value for value in values if value != MASK]
        case _:
            found = (getattr(info, _TEXTS.get(name, name)) for info in newest)
            return [value for value in found if value]


def _fields(typed: str) -> list[SuggestionView]:
    return [
        SuggestionView(
            text=f"{name}." if name in _DOTTED else f"{name}:",
            label=name,
            kind="field",
            detail=_HELP.get(name, ""),
        )
        for name in beginning(FIELDS, typed, limit=SHOWN)
    ]


def _tags(newest: Iterable[ActivityInfo], typed: str) -> list[SuggestionView]:
    keys = sorted({key for info in newest for key in info.tags})
    return [
        SuggestionView(
            text=f"tag.{name_text(key)}:", label=f"tag.{key}", kind="field", detail="a tag"
        )
        for key in beginning(keys, typed, limit=SHOWN)
    ]


SUGGESTIONS = (suggestions,)
