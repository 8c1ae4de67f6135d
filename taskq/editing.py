"""Other arguments for what is to be retried: checked where the task is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast
from uuid import UUID

from msgspec import Struct

from taskq.codec import from_json, to_json
from taskq.errors import SerializationError
from taskq.lifecycle import RETRYABLE_BY_OPERATOR
from taskq.showing import Showing
from taskq.snapshot import ActivityInfo
from taskq.task import Task

FindTask: TypeAlias = Callable[[str], Task[..., Any] | None]
"""The task whose calls have this type, None where it is not known here."""


class Edit(Struct, frozen=True, kw_only=True):
    """``arguments``: all named arguments anew; None: as they are. ``changes``: single ones, over
    these."""

    arguments: Mapping[str, object] | None = None
    changes: Mapping[str, object] | None = None

    def __bool__(self) -> bool:
        return self.arguments is not None or bool(self.changes)


class Edits(Struct, frozen=True):
    """By id, ``arguments`` are new payloads, and ``kept`` what the timeline keeps of the old."""

    arguments: Mapping[UUID, str] = {}
    kept: Mapping[UUID, str] = {}


def edited(infos: Iterable[ActivityInfo], edit: Edit, task_of: FindTask, showing: Showing) -> Edits:
    """The canonical payloads of those that can be retried, and of those before what is shown.

    Where ``[redacted]`` comes back in the place of a secret, that stays as it was. Raises TypeError
    for a name that the task's signature does not have, SerializationError for a value that does not
    fit it; both name the activity. Where the task is not known, only that they are JSON is checked.
    """
    again = [info for info in infos if info.status in RETRYABLE_BY_OPERATOR]
    return Edits(
        {info.id: _payload(info, edit, task_of(info.type), showing) for info in again},
        {info.id: showing.arguments(info.type, info.payload) for info in again},
    )


def _payload(info: ActivityInfo, edit: Edit, task: Task[..., Any] | None, showing: Showing) -> str:
    try:
        text = to_json(_arguments(info, edit, showing), label="the arguments")
        return text if task is None else task.canonical(text)
    except TypeError as error:
        raise TypeError(f"activity {info.id}: {error}") from error
    except SerializationError as error:
        raise SerializationError(f"activity {info.id}: {error}") from error


def _arguments(info: ActivityInfo, edit: Edit, showing: Showing) -> Mapping[str, object]:
    """The arguments to run with."""
    before = _stored(info.payload)
    if before is None and edit.arguments is None:
        raise SerializationError("its stored arguments are no JSON object, so none can be changed")
    given = before if edit.arguments is None else edit.arguments
    new = {**(given or {}), **(edit.changes or {})}
    return showing.restored(info.type, new, before or {})


def _stored(payload: str) -> Mapping[str, object] | None:
    """None for what is no JSON object."""
    try:
        given = from_json(payload, label="the stored arguments")
    except SerializationError:
        return None
    return cast("dict[str, object]", given) if isinstance(given, dict) else None
