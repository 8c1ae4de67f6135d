"""What text a database would refuse: the reference backend refuses it too."""

from __future__ import annotations

from uuid import UUID

from taskq.errors import BackendError


def check_storable(id: UUID, *texts: str | None) -> None:
    """Raise BackendError where one of the texts holds NUL or a lone surrogate.

    Codecs refuse such values before (design 7.6); this is for what came another way.
    """
    for text in texts:
        if text is not None and not _storable(text):
            raise BackendError(f"activity {id}: text with NUL or a lone surrogate cannot be stored")


def _storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
