"""Names that are taskq's own: of what every worker runs besides the tasks of its app."""

from __future__ import annotations

from typing import Final

BULK: Final = "taskq.bulk"
"""The type, and the queue, of bulk commands."""
RESERVED: Final = frozenset({BULK})
"""Task and queue names that no app may use."""


def reserved_name(what: str, name: str) -> str:
    """The sentence for a task or queue name that is reserved."""
    return f"{what} name {name!r} is taskq's own, for bulk commands; choose another name"
