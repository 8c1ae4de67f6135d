"""Other arguments for what is to be retried: checked where the task is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast
from uuid import UUID

from msgspec import Struct

from taskq.codec import from_json, to_json
from taskq.errors import SerializationError
from taskq.lifecycle import RETRYABLE_BY_OPERATOR
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


def edited(infos: Iterable[ActivityInfo], edit: Edit, task_of: FindTask) -> dict[UUID, str]:
    """The canonical payloads of those that can be retried, by id.

    Raises TypeError for a name that the task's signature does not have, SerializationError for a
    value that does not fit it; both name the activity. Where the task is not known, only that they
    are JSON is checked.
    """
    return {
        info.id: _payload(info, edit, task_of(info.type))
        for info in infos
        if info.status in RETRYABLE_BY_OPERATOR
    }


def _payload(info: ActivityInfo, edit: Edit, task: Task[..., Any] | None) -> str:
    try:
        text = to_json({**_before(info, edit), **(edit.changes or {})}, label="the arguments")
        return text if task is None else task.canonical(text)
    except TypeError as error:
        raise TypeError(f"activity {info.id}: {error}") from error
    except SerializationError as error:
        raise SerializationError(f"activity {info.id}: {error}") from error


def _before(info: ActivityInfo, edit: Edit) -> Mapping[str, object]:
    if edit.arguments is not None:
        return edit.arguments
    given = from_json(info.payload, label="the stored arguments")
    if not isinstance(given, dict):
        raise SerializationError("its stored arguments are no JSON object, so none can be changed")
    return cast("dict[str, object]", given)
