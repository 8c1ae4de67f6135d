"""Who asks the console for something, and what they may do."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct


class Role(IntEnum):
    """What somebody may do; each role may do what those below it may.

    ``VIEWER`` looks. ``OPERATOR`` steers what is there: retry, cancel, run now, reschedule,
    priority, pause, trigger, enqueue. ``ADMIN`` deletes, and makes and changes schedules.
    """

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        """As settings and answers write it: ``viewer``."""
        return self.name.lower()

    @classmethod
    def of(cls, label: str) -> Role:
        """The role that is written so. Raises KeyError."""
        return cls[label.upper()]


class Identity(Struct, frozen=True):
    """Somebody who is known. ``name`` is what audit rows have as ``actor``, behind ``console:``;
    1 to 200 printable characters."""

    name: str
    role: Role
