"""What text a database would refuse: every backend refuses it alike."""

from __future__ import annotations

from uuid import UUID

from taskq.errors import Unstorable
from taskq.model import Activity


def check_activity(activity: Activity[object]) -> None:
    """Raise Unstorable where a text of the activity cannot be stored."""
    check_storable(
        activity.id,
        activity.payload,
        activity.metadata,
        activity.tags,
        activity.source,
        activity.correlation_id,
        activity.user_id,
        activity.step,
    )


def check_storable(id: UUID, *texts: str | None) -> None:
    """Raise Unstorable where one of the texts holds NUL or a lone surrogate.

    Codecs refuse such values before (design 7.6); this is for what came another way.
    """
    for text in texts:
        if text is not None and not _storable(text):
            raise Unstorable(f"activity {id}: text with NUL or a lone surrogate cannot be stored")


def _storable(text: str) -> bool:
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
