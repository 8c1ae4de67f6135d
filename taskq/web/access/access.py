"""Finds out who asks, and lets people log in and out."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Awaitable
from typing import Final, Literal, cast

from msgspec import Struct

from taskq.bridge import run_in_thread
from taskq.clock import Clock
from taskq.settings import Settings
from taskq.web.access.accounts import Account, Accounts
from taskq.web.access.once import OneTimeLogin
from taskq.web.access.sessions import Session, Sessions
from taskq.web.access.throttle import ACCOUNT, ADDRESS, Throttle, address_key
from taskq.web.front import COOKIE
from taskq.web.options import Connection, ConsoleOptions
from taskq.web.problem import Problem
from taskq.web.role import Identity, Role

LINK_NAME: Final = "local"
"""The name of whoever came by the link that works once."""
MOST_CHECKS: Final = 4
"""Passwords that are checked at once: each takes 16 MiB and a core."""


class Known(Struct, frozen=True):
    """Somebody who is known, and the session by which they are, if it is one."""

    identity: Identity
    session: Session | None = None


class Proof(Struct, frozen=True, kw_only=True):
    """What somebody logs in with: a name and its password, or a token, or what a link holds."""

    name: str = ""
    password: str | None = None
    token: str | None = None
    link: str | None = None

    def __repr__(self) -> str:
        return f"Proof({self.name!r}, …)"


class Access:
    """Who may come in, by the settings ``web_*`` and the options of one console.

    A token in the header ``Authorization: Bearer`` is asked first, then a session's cookie, then
    ``authenticate``, then ``allow_anonymous``. A token that fits nothing is nobody, unless
    ``authenticate`` knows it. Roles are looked up at each request.
    """

    def __init__(self, settings: Settings, options: ConsoleOptions, clock: Clock) -> None:
        self._accounts = Accounts(settings)
        self._sessions = Sessions(settings.web_secret, clock)
        self._throttle = Throttle(clock)
        self._authenticate = options.authenticate
        self._anonymous = options.allow_anonymous
        self._clock = clock
        self._link: OneTimeLogin | None = None
        self._link_stamp = secrets.token_urlsafe(18)
        self._checks = 0

    @property
    def configured(self) -> bool:
        """Whether anybody can prove who they are: by accounts or by what the host says."""
        return bool(self._accounts) or self._authenticate is not None

    @property
    def way(self) -> Literal["accounts", "host", "link"]:
        """How somebody comes in who is not known yet: by an account, as the host application says,
        or by the link that works once."""
        if self._accounts:
            return "accounts"
        known_elsewhere = self._authenticate is not None or self._anonymous is not None
        return "host" if known_elsewhere else "link"

    @property
    def anonymous(self) -> Role | None:
        """The role of whoever is not known."""
        return self._anonymous

    @property
    def link(self) -> OneTimeLogin | None:
        """The latest link, used or not; None before there was one."""
        return self._link

    def one_time_login(self) -> OneTimeLogin:
        """A new link, as admin; the one before it works no more."""
        self._link = OneTimeLogin(self._clock)
        return self._link

    async def identify(self, connection: Connection) -> Identity | None:
        """Who asks; None: nobody who is known. Can be asked again for a connection that lasts."""
        known = await self.known(connection)
        return None if known is None else known.identity

    async def known(self, connection: Connection) -> Known | None:
        """Who asks, and by which session."""
        token = token_of(connection)
        if token is not None:
            account = self._accounts.of_token(token)
            return Known(account.identity) if account else await self._of_host(connection)
        return (
            self._of_session(connection)
            or await self._of_host(connection)
            or (Known(Identity("anonymous", self._anonymous)) if self._anonymous else None)
        )

    async def log_in(self, connection: Connection, proof: Proof) -> Known:
        """Begin a session, under a new id; one that the browser had ends. Raises Problem: 401 for
        what proves nothing, 429 where too many tries failed."""
        address = address_key(_client(connection))
        keys = [(address, ADDRESS)]
        if proof.password is not None:
            if self._checks >= MOST_CHECKS:
                raise _too_many(1.0)
            keys.append((f"account:{proof.name[:100]}", ACCOUNT))
        wait = self._throttle.begin(keys)
        if wait > 0:
            raise _too_many(wait)
        known = await self._proved(proof)
        if known is None:
            raise Problem(401, "unauthenticated", "this name, password, token or link is not valid")
        for key, limit in keys:
            self._throttle.succeeded(key, forget=limit is ACCOUNT)
        self.log_out(connection)
        return known

    def log_out(self, connection: Connection) -> None:
        """End the session by which somebody asks, if it is one."""
        known = self._of_session(connection)
        if known is not None and known.session is not None:
            self._sessions.end(known.session)

    def cookie_of(self, session: Session) -> str:
        """The value of the cookie that carries this session."""
        stamp = self._stamp(session)
        return self._sessions.written(session, stamp or "")

    def renewed(self, session: Session) -> Session | None:
        """The session with this request noted; None where that needs no new cookie."""
        return self._sessions.renewed(session)

    async def _proved(self, proof: Proof) -> Known | None:
        if proof.link is not None:
            if self._link is None or not self._link.redeem(proof.link):
                return None
            return Known(_LINKED, self._sessions.begin(LINK_NAME, link=True))
        if proof.token is not None:
            account = self._accounts.of_token(proof.token)
        else:
            account = await self._of_password(proof.name, proof.password or "")
        if account is None:
            return None
        return Known(account.identity, self._sessions.begin(account.identity.name))

    async def _of_password(self, name: str, password: str) -> Account | None:
        self._checks += 1
        return await run_in_thread(
            lambda: self._accounts.of_password(name, password), on_end=self._checked
        )

    def _checked(self) -> None:
        self._checks -= 1

    def _of_session(self, connection: Connection) -> Known | None:
        """By the first cookie that holds: another console on the same host may have its own."""
        for text in _cookies(connection):
            session = self._sessions.claimed(text)
            stamp = None if session is None else self._stamp(session)
            if session is None or stamp is None or not self._sessions.holds(session, text, stamp):
                continue
            account = None if session.link else self._accounts.named(session.name)
            return Known(account.identity if account else _LINKED, session)
        return None

    def _stamp(self, session: Session) -> str | None:
        """What proved the account that this session is of; None where there is none now."""
        if session.link:
            return self._link_stamp
        account = self._accounts.named(session.name)
        return None if account is None else account.kept

    async def _of_host(self, connection: Connection) -> Known | None:
        if self._authenticate is None:
            return None
        authenticate = self._authenticate
        if any(map(inspect.iscoroutinefunction, (authenticate, type(authenticate).__call__))):
            found = await cast("Awaitable[object]", authenticate(connection))
        else:
            (found,) = await run_in_thread(lambda: (authenticate(connection),), on_end=_nothing)
            if inspect.isawaitable(found):
                found = await found
        return None if found is None else Known(_checked_identity(found))


_LINKED: Final = Identity(LINK_NAME, Role.ADMIN)


def _checked_identity(found: object) -> Identity:
    """What ``authenticate`` answered, if it is what it must be: ``True`` is no identity."""
    if not isinstance(found, Identity):
        raise TypeError(f"authenticate must return an Identity or None, not {found!r}")
    if not found.name.isprintable() or not 1 <= len(found.name) <= 200:
        raise ValueError("authenticate must return a name of 1 to 200 printable characters")
    return found


def token_of(connection: Connection) -> str | None:
    """The token of the header; None where it has none, or another scheme."""
    given = connection.headers.getall("authorization", [])
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else None


def _cookies(connection: Connection) -> list[str]:
    """All values of the session's cookie, that of the longest path first; a few at most."""
    pairs = ";".join(connection.headers.getall("cookie", [])).split(";")
    found = [pair.strip().partition("=") for pair in pairs]
    return [value for name, _, value in found if name == COOKIE][:4]


def _client(connection: Connection) -> tuple[str, int] | None:
    client = connection.client
    return None if client is None else (client.host, client.port)


def _too_many(wait: float) -> Problem:
    seconds = max(1, -int(-wait // 1))
    return Problem(
        429,
        "too_many_attempts",
        f"too many tries failed: try again in {seconds} s",
        headers={"retry-after": str(seconds)},
    )


def _nothing() -> None:
    """Nobody waits for the thread's end."""
