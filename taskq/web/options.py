"""How a console is to be: what its owner says once, when it is made."""

from __future__ import annotations

from msgspec import Struct


class ConsoleOptions(Struct, frozen=True, kw_only=True):
    """Options of one console.

    ``read_only``: it can only look. ``api_only``: the API without the page. Durations are seconds.
    """

    read_only: bool = False
    api_only: bool = False
