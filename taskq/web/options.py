"""How a console is to be: what its owner says once, when it is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from litestar.connection import ASGIConnection
from msgspec import Struct

from taskq.web.role import Identity, Role

Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]
"""A request, as Litestar has it: ``headers``, ``cookies``, ``scope``."""

Authenticate: TypeAlias = Callable[[Connection], Identity | Awaitable[Identity | None] | None]
"""Says who asks, or None for nobody it knows. A plain function is called in a thread."""


class ConsoleOptions(Struct, frozen=True, kw_only=True):
    """Options of one console.

    ``read_only``: it can only look. ``api_only``: the API without the page.

    ``authenticate`` asks the host application who somebody is, for single sign-on.
    ``allow_anonymous`` is the role of whoever is not known; None: they may do nothing. Where it is
    given, something else must decide who can reach the console at all.
    ``allowed_hosts`` are added to the setting ``web_allowed_hosts``.
    """

    read_only: bool = False
    api_only: bool = False
    authenticate: Authenticate | None = None
    allow_anonymous: Role | None = None
    allowed_hosts: tuple[str, ...] = ()
