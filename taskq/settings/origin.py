"""Where the value of a setting came from: a closed union."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct


class Argument(Struct, frozen=True, tag_field="kind", tag="argument"):
    """A keyword of TaskQ: ``lease``, ``url``, ``retry``, or ``settings`` for a whole object."""

    name: str


class Variable(Struct, frozen=True, tag_field="kind", tag="variable"):
    """An environment variable, for example ``TASKQ_LEASE``."""

    name: str


class FileKey(Struct, frozen=True, tag_field="kind", tag="file"):
    """A key of a file: its absolute path, and the key with dots, ``tool.taskq.lease``."""

    path: str
    key: str


class Default(Struct, frozen=True, tag_field="kind", tag="default"):
    """Nothing gave it."""


Origin = Argument | Variable | FileKey | Default


def told(origin: Origin) -> str:
    """An origin in words."""
    match origin:
        case Argument():
            return f"TaskQ({origin.name}=…)"
        case Variable():
            return origin.name
        case FileKey():
            return f"{origin.key} in {origin.path}"
        case Default():
            return "default"
        case _:
            assert_never(origin)
