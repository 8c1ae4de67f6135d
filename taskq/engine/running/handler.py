"""What the engine knows of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from taskq.engine.running.outside import Outside


class Handler(Struct, frozen=True, kw_only=True):
    """How to run the activities of one type.

    ``function`` is awaited when ``is_async``, else called in a thread. ``decode`` turns stored
    arguments into positional and keyword ones, ``encode`` a result into JSON text; both raise
    SerializationError. ``no_retry`` are exception types that end the activity as failed. With
    ``outside`` it runs in a process, arguments are decoded there, and ``encode`` gets an
    ``Encoded``, or what middleware has put in its place.
    """

    function: Callable[..., Any]
    is_async: bool
    decode: Callable[[str], tuple[tuple[object, ...], Mapping[str, object]]]
    encode: Callable[[object], str]
    no_retry: tuple[type[BaseException], ...] = ()
    outside: Outside | None = None
