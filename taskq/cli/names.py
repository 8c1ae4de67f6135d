"""Names on the command line: an option given several times, or once with commas between them."""

from __future__ import annotations

from collections.abc import Sequence

from taskq.cli.failure import Refused
from taskq.model import Status


def names(flag: str, values: Sequence[str]) -> list[str]:
    """All names that an option was given. Refused for an empty one."""
    found = [name.strip() for value in values for name in value.split(",")]
    if not all(found):
        raise Refused(f"{flag} takes names with commas between them, not {','.join(values)!r}")
    return found


def statuses(flag: str, values: Sequence[str]) -> tuple[Status, ...]:
    """The same as statuses. Refused for a name that is none."""
    found = names(flag, values)
    known = [status.value for status in Status]
    for name in found:
        if name not in known:
            raise Refused(f"{flag} {name!r} is not one of {', '.join(known)}")
    return tuple(Status(name) for name in found)
