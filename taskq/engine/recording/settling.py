"""Settling a batch so that one bad row fails alone (rule R9)."""

from __future__ import annotations

from collections.abc import Sequence

from taskq.engine.ground import Ground
from taskq.errors import BackendUnavailable, SchemaError
from taskq.lifecycle import Settlement, Transition

BATCH = 500
"""Transitions in one call at the most."""


async def settle(ground: Ground, transitions: Sequence[Transition]) -> list[Settlement | Exception]:
    """Apply transitions; answers one to one: a settlement, or why there is none for that one.

    A batch that fails is halved until the culprit stands alone: Unstorable is the last word on it,
    any other error is not. Raises BackendUnavailable and SchemaError, which concern all of them:
    then call again, as a repeated transition does no harm.
    """
    if not transitions:
        return []
    try:
        return [*await ground.access.call(ground.backend.settle, transitions)]
    except (BackendUnavailable, SchemaError):
        raise
    except Exception as error:
        if len(transitions) == 1:
            return [error]
    middle = len(transitions) // 2
    return [
        *await settle(ground, transitions[:middle]),
        *await settle(ground, transitions[middle:]),
    ]
