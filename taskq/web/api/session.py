"""``/api/session``: to log in, to log out, and to see who one is. ``/health``: that it answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Struct

from taskq.version import VERSION
from taskq.web.access.access import Known, Proof
from taskq.web.access.guard import unknown
from taskq.web.console import Console
from taskq.web.front import Front
from taskq.web.problem import Problem
from taskq.web.role import Identity


class SessionView(Struct, frozen=True, kw_only=True):
    """Who asks, and what they can do here.

    ``role`` is viewer, operator or admin. ``session``: they logged in and can log out.
    ``payloads``: they see arguments and results. ``read_only``: this console can only look.
    ``version`` is taskq's, ``store`` the kind of database (PostgreSQL, SQLite, memory, or the
    scheme of another one's URL), ``now`` the time of the console's clock.
    """

    name: str
    role: str
    session: bool
    payloads: bool
    read_only: bool
    version: str
    store: str
    now: datetime

    @classmethod
    def of(cls, console: Console, known: Known) -> SessionView:
        """What the console says of somebody whom it knows."""
        return cls(
            name=known.identity.name,
            role=known.identity.role.label,
            session=known.session is not None,
            payloads=console.shows_payloads(known.identity),
            read_only=console.options.read_only,
            version=VERSION,
            store=kind_of(console.app.client.store.location),
            now=console.app.clock.now(),
        )


class LogIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of: ``name`` and ``password``; ``token``; ``link``, what a one-time link has behind its
    ``#``."""

    name: str = ""
    password: str | None = None
    token: str | None = None
    link: str | None = None


class HealthView(Struct, frozen=True):
    """``ok``, whenever there is an answer."""

    status: str = "ok"


def kind_of(location: str) -> str:
    """The kind of database at a store's location, and nothing else of it."""
    scheme, separator, _ = location.partition("://")
    if separator:
        return "PostgreSQL" if scheme == "postgresql" else scheme
    return location if location == "memory" else "SQLite"


@get("/api/session")
async def session(
    request: Request[Any, Any, Any], console: NamedDependency[Console]
) -> SessionView:
    """Who asks; 401 for somebody who is not known."""
    known = await console.access.known(request)
    if known is None:
        raise unknown(request)
    return SessionView.of(console, known)


@post("/api/session", status_code=200)
async def log_in(
    request: Request[Any, Any, Any], console: NamedDependency[Console], data: JSONBody[LogIn]
) -> SessionView:
    """Log in: the answer sets a cookie. 401 for what is not valid, 429 after too many tries."""
    given = [way for way in (data.password, data.token, data.link) if way is not None]
    if len(given) != 1:
        raise Problem(400, "bad_request", "give a name and password, or a token, or a link")
    proof = Proof(name=data.name, password=data.password, token=data.token, link=data.link)
    known = await console.access.log_in(request, proof)
    if known.session is not None:
        Front.of(request.scope).keep(console.access.cookie_of(known.session))
    return SessionView.of(console, known)


@post("/api/session/end", status_code=204)
async def log_out(
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> None:
    """Log out: the session ends, on this server at once."""
    console.access.log_out(request)
    front = Front.of(request.scope)
    front.cookies.clear()
    front.drop()


@get("/health")
async def health() -> HealthView:
    """That the console answers, and nothing else of it."""
    return HealthView()


SESSION = (session, log_in, log_out, health)
