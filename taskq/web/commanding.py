"""What all commands of the API share: who asks and why, and whether it still makes sense."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from litestar import Request
from msgspec import Meta, Struct

from taskq.audit import Who
from taskq.bulk.action import Action
from taskq.calling import NoSuchTask
from taskq.codec import from_json
from taskq.errors import (
    FilterError,
    IdempotencyConflict,
    QueueFull,
    SerializationError,
    Unstorable,
)
from taskq.model import Priority, Status
from taskq.snapshot import ActivityInfo
from taskq.web.console import Console, no_activity
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.version import version_of

PriorityName = Literal["LOW", "NORMAL", "HIGH", "CRITICAL"]
"""The names of ``Priority``."""
Seconds = Annotated[float, Meta(ge=0)]
JsonObject = dict[str, Any] | str
"""A JSON object, or its text: as text, numbers of any size pass through every client."""


class Asked(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every command says.

    ``reason`` is kept on record. ``command_id`` is chosen by the client and makes it safe to ask
    again where the answer was lost: what was done already is not done twice.
    """

    reason: Annotated[str, Meta(max_length=1000)] = ""
    command_id: UUID | None = None


class AskedOfOne(Asked, frozen=True, kw_only=True):
    """What a command to one activity says.

    ``version`` is the one that was seen: where the activity has moved on since, nothing is done,
    and the answer is 409 ``stale``.
    """

    version: Annotated[str, Meta(max_length=100)] | None = None


class Done(Struct, frozen=True, kw_only=True):
    """A command was carried out: ``before`` is the state that it found. ``repeated``: it had been
    carried out before under this ``command_id``, and ``before`` is the state of now, null where
    the activity is gone."""

    id: UUID
    before: Status | None
    repeated: bool = False


def who(asked: Asked, identity: Identity) -> Who:
    """For the record. Raises Problem for a reason that cannot be stored."""
    if "\0" in asked.reason:
        raise Problem(400, "bad_request", "reason: a NUL character cannot be stored")
    return Who(actor=actor(identity), reason=asked.reason, command_id=asked.command_id)


def actor(identity: Identity) -> str:
    """Who it is, on record."""
    return f"console:{identity.name}"


async def repeated(console: Console, asked: Asked) -> bool:
    """Whether a command with this id is in the record."""
    if asked.command_id is None:
        return False
    look = partial(console.reader.audit, limit=1, command_ids=[asked.command_id])
    return bool(await console.ask(look))


async def current(
    console: Console,
    id: UUID,
    asked: AskedOfOne,
    action: Action,
    *,
    again: bool,
    ended: bool = False,
) -> ActivityInfo:
    """The activity that a command is about. ``again``: the command was carried out already.
    ``ended``: it makes sense in any state.

    Raises Problem: 404 for an unknown one, 409 ``wrong_state`` where its state does not allow it,
    409 ``stale`` where it is not of the version that was asked for.
    """
    info = await console.activity(id)
    if again:
        return info
    if not ended and info.status not in action.states:
        raise wrong_state(id, info.status, action)
    if asked.version is not None and asked.version != version_of(info):
        raise Problem(
            409, "stale", f"activity {id} has changed since you saw it: it is {info.status} now"
        )
    return info


def wrong_state(id: UUID, status: Status, action: Action) -> Problem:
    """What is answered where a state does not allow a deed."""
    allowed = ", ".join(each for each in Status if each in action.states)
    return Problem(
        409,
        "wrong_state",
        f"activity {id} cannot be {action.done}: it is {status}, not {allowed}",
    )


def answered(
    id: UUID,
    action: Action,
    before: Mapping[UUID, Status],
    *,
    again: bool,
    ended: bool = False,
) -> Done:
    """What is answered. It may have moved, or gone, between the look and the deed."""
    status = before.get(id)
    if status is None:
        raise no_activity(id)
    if not (again or ended) and status not in action.states:
        raise wrong_state(id, status, action)
    return Done(id=id, before=status, repeated=again)


def given(asked: Struct, *names: str) -> dict[str, Any]:
    """Those of these members that were given, a priority's name as the priority."""
    said = {name: getattr(asked, name) for name in names}
    if said.get("priority") is not None:
        said["priority"] = Priority[said["priority"]]
    return {name: value for name, value in said.items() if value is not None}


async def exact(request: Request[Any, Any, Any], name: str) -> Mapping[str, object] | None:
    """The member ``name`` of the body, a ``JsonObject``, with its numbers as they were written;
    None where it is absent or null. Raises Problem for anything else."""
    body = from_json((await request.body()).decode(), label="the body")
    given = cast("Mapping[str, object]", body).get(name)
    if given is None:
        return None
    value = from_json(given, label=name) if isinstance(given, str) else given
    if not isinstance(value, dict):
        raise Problem(400, "bad_request", f"{name}: one JSON object of named values is needed")
    return cast("Mapping[str, object]", value)


@contextmanager
def refusals() -> Generator[None]:
    """What a call or an edit raises, as problems."""
    try:
        yield
    except NoSuchTask as error:
        raise Problem(404, "not_found", str(error)) from error
    except (IdempotencyConflict, QueueFull) as error:
        raise Problem(409, "conflict", str(error)) from error
    except (FilterError, SerializationError):
        raise
    except (TypeError, ValueError, Unstorable) as error:
        raise Problem(400, "bad_request", str(error)) from error
