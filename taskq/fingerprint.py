"""What failures have in common: the cause that groups dead letters (seed:R18).

Two failures have one cause when the same task raised the same type with messages that differ only
in what changes from call to call: ids, numbers, times, addresses, paths and quoted values.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from taskq.model import ErrorInfo

LENGTH: Final = 16
"""Hexadecimal digits of a fingerprint."""
_READ: Final = 1000
"""Characters of a message that are looked at."""
_COMPARED: Final = 200
"""Characters that count, once what varies is gone."""

_VARYING: Final = (
    (r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>]+", "<url>"),
    (r"(?<!\w)'[^'\n]*'(?!\w)", "<text>"),
    (r'(?<!\w)"[^"\n]*"(?!\w)', "<text>"),
    (r"`[^`\n]*`", "<text>"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<n>"),
    (r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "<address>"),
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"(?:\b[a-z]:)?(?:[\\/][\w.~+@-]+){2,}", "<path>"),
    (r"(?<![\w>])[-+]?\w*\d\w*(?:[.,]\d+)*", "<n>"),
    (r"\b[a-f]{8,}\b", "<n>"),
    (r"<n>(?:(?:[.:/-]|, ?)<n>)+", "<n>"),
    (r"<text>(?:, ?<text>)+", "<text>"),
)
"""What is left out, in this order: most of it would otherwise be taken for numbers. None of them
reads on from each place of a long word, which would cost the square of its length."""

_PATTERNS: Final = tuple((re.compile(each, re.IGNORECASE), put) for each, put in _VARYING)
_BLANKS: Final = re.compile(r"\s+")


def fingerprint(type: str, error: ErrorInfo) -> str:
    """The cause of a failure of a task of this type: 16 hexadecimal digits.

    The kind of the error and its traceback do not count: the same failure by timeout or by its last
    retry is one cause, and a line that moved is none.
    """
    cause = f"{type}\0{error.type}\0{_common(error.message)}"
    return hashlib.sha256(cause.encode(errors="backslashreplace")).hexdigest()[:LENGTH]


def title(error: ErrorInfo) -> str:
    """The same for people: ``ValueError: no such user <n>``. The error's type comes without its
    module; one line."""
    name = error.type.rpartition(".")[2] or error.type
    common = _common(error.message)
    return f"{name}: {common}" if common else name


def _common(message: str) -> str:
    """A message without what varies, on one line, cut."""
    text = _BLANKS.sub(" ", message[:_READ]).strip()
    for pattern, put in _PATTERNS:
        text = pattern.sub(put, text)
    return text[:_COMPARED]
