"""Dead-letter and failure hooks: activities of their own (design 7.14).

They are inserted in the transaction that settles the failed activity, so they are as durable as it
is, retried, visible, and run wherever the type is registered. They have no hooks themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import msgspec

from taskq.lifecycle import Transition
from taskq.model import COUNTED_TO, Activity, Attempt, DeadLetter, Hook

HOOKS: tuple[Hook, ...] = ("on_dead_letter", "on_failure")


def hook_type(type: str, hook: Hook) -> str:
    """The activity type under which a task's hook runs, for example ``send_email:on_failure``."""
    return f"{type}:{hook}"


def hook_types(type: str) -> tuple[str, ...]:
    """The types of all hooks that a task of this type may have."""
    return tuple(hook_type(type, hook) for hook in HOOKS)


def with_hooks(
    transition: Transition, attempt: Attempt, *, now: datetime, new_id: Callable[[], UUID]
) -> Transition:
    """The same transition carrying one activity per hook that it calls for.

    The hook's one argument is named ``dead`` and is a ``DeadLetter``. ``now`` (aware UTC) becomes
    its ``failed_at``.
    """
    if not transition.hook_names or transition.error is None:
        return transition
    dead = DeadLetter(
        id=attempt.id,
        type=attempt.type,
        queue=attempt.queue,
        arguments=_object(attempt.payload),
        error=transition.error,
        failed_at=now,
        retry_count=transition.retry_count,
        crash_count=transition.crash_count,
        metadata=_object(attempt.metadata),
    )
    payload = msgspec.json.encode({"dead": dead}, order="sorted").decode()
    activities = tuple(
        Activity[object](
            id=new_id(),
            type=hook_type(attempt.type, hook),
            queue=attempt.queue,
            payload=payload,
            parent_id=attempt.id,
            root_id=attempt.root_id,
            origin_id=attempt.origin_id,
            depth=min(attempt.depth + 1, COUNTED_TO),
            generation=attempt.generation,
            priority=attempt.priority,
            source=attempt.source,
            correlation_id=attempt.correlation_id,
            user_id=attempt.user_id,
        )
        for hook in transition.hook_names
    )
    return msgspec.structs.replace(transition, hooks=activities)


def _object(text: str | None) -> dict[str, object]:
    """A stored JSON object; what a foreign client wrote that is none is kept as text."""
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return {"text": text}
