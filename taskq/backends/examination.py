"""What a backend can find out about its own database, for ``taskq doctor``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at. ``advice`` says what to do, where something is to be done."""

    level: Level
    check: str
    message: str
    advice: str = ""


@runtime_checkable
class Examinable(Protocol):
    """A backend that can say more of its database than that it answers. Optional."""

    async def examine(self, now: Callable[[], datetime]) -> Sequence[Finding]:
        """Look at the server, its settings and what stands before it; also where ``open`` has
        refused its tables. ``now`` is this host's clock. Changes nothing, shows no password.

        Raises BackendError where the database cannot be asked.
        """
        ...
