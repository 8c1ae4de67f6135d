"""The other ways in: what the host application says, anybody, and a link that works once."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from taskq import TaskQ
from taskq.errors import ConfigurationError
from taskq.web import Console, ConsoleOptions, Identity, Role
from taskq.web.access import Access, check_exposure, check_mounted
from taskq.web.application import build
from taskq.web.options import Connection
from tests.web.asking import HOST, OWN, Answer, ask, cookie_of, post

TOKEN = "0123456789-0123456789"


def access(options: ConsoleOptions | None = None, **settings: object) -> Access:
    app = TaskQ("memory://", **settings)  # type: ignore[arg-type]
    return Console(app, options or ConsoleOptions()).access


async def session(options: ConsoleOptions, *headers: tuple[str, str], **scope: object) -> Answer:
    console = build(Console(TaskQ("memory://"), options))
    return await ask(console, "GET", "/api/session", [HOST, *headers], **scope)  # type: ignore[arg-type]


def by_header(connection: Connection) -> Identity | None:
    """Knows people by a header that a proxy sets."""
    name = connection.headers.get("x-user")
    return Identity(name, Role.OPERATOR) if name else None


async def by_header_later(connection: Connection) -> Identity | None:
    return by_header(connection)


class ByHeader:
    async def __call__(self, connection: Connection) -> Identity | None:
        return by_header(connection)


@pytest.mark.parametrize(
    "authenticate", [by_header, by_header_later, ByHeader(), lambda asked: by_header_later(asked)]
)
async def test_the_host_says_who_somebody_is(authenticate) -> None:
    options = ConsoleOptions(authenticate=authenticate)
    known = await session(options, ("x-user", "ada"))
    assert (known.json["name"], known.json["role"]) == ("ada", "operator")
    assert not known.json["session"]
    assert (await session(options)).status == 401


async def test_the_host_may_know_tokens_of_its_own() -> None:
    def knows(connection: Connection) -> Identity | None:
        known = connection.headers.get("authorization") == "Bearer of-the-host"
        return Identity("robot", Role.VIEWER) if known else None

    options = ConsoleOptions(authenticate=knows, allow_anonymous=Role.ADMIN)
    known = await session(options, ("authorization", "Bearer of-the-host"))
    assert known.json["name"] == "robot"
    assert (await session(options, ("authorization", "Bearer other"))).status == 401


async def test_the_host_sees_what_it_put_into_the_request() -> None:
    def of_scope(connection: Connection) -> Identity | None:
        return Identity(connection.scope["user"], Role.VIEWER)

    answer = await session(ConsoleOptions(authenticate=of_scope), user="ada")
    assert answer.json["name"] == "ada"


@pytest.mark.parametrize(
    "found", [True, "ada", {"name": "ada"}, Identity("a\nb", Role.ADMIN), Identity("", Role.ADMIN)]
)
async def test_what_is_no_identity_lets_nobody_in(found: object) -> None:
    """threat:T2"""
    answer = await session(ConsoleOptions(authenticate=lambda _: found))  # type: ignore[arg-type,return-value]
    assert answer.status == 500


async def test_an_authenticate_that_fails_lets_nobody_in() -> None:
    """threat:T2"""

    def fails(_: Connection) -> Identity | None:
        raise RuntimeError("the directory is away")

    answer = await session(ConsoleOptions(authenticate=fails, allow_anonymous=Role.ADMIN))
    assert answer.status == 500
    assert b"directory" not in answer.body


async def test_anybody_has_the_role_that_was_said() -> None:
    answer = await session(ConsoleOptions(allow_anonymous=Role.VIEWER))
    assert (answer.json["name"], answer.json["role"]) == ("anonymous", "viewer")


async def test_a_link_lets_in_once() -> None:
    """threat:T1"""
    console = Console(TaskQ("memory://"), ConsoleOptions())
    shell, link = build(console), console.access.one_time_login()
    answer = await post(shell, "/api/session", {"link": link.token})
    assert (answer.json["name"], answer.json["role"]) == ("local", "admin")
    known = await ask(shell, "GET", "/api/session", [HOST, cookie_of(answer)])
    assert known.json["name"] == "local"
    assert (await post(shell, "/api/session", {"link": link.token})).status == 401


async def test_a_link_is_of_no_use_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """threat:T1"""
    console = Console(TaskQ("memory://"), ConsoleOptions())
    link = console.access.one_time_login()
    start = console.app.clock.monotonic()
    monkeypatch.setattr(console.app.clock, "monotonic", lambda: start + 601)
    assert not link.redeem(link.token)


async def test_a_wrong_guess_does_not_use_a_link_up() -> None:
    console = Console(TaskQ("memory://"), ConsoleOptions())
    shell, link = build(console), console.access.one_time_login()
    for guess in ("", "x", link.token[:-1], f"{link.token} "):
        assert (await post(shell, "/api/session", {"link": guess})).status == 401
    assert (await post(shell, "/api/session", {"link": link.token})).status == 200


async def test_opening_the_page_uses_no_link_up() -> None:
    """threat:T4: a GET changes nothing; the token is in the fragment, which no server sees."""
    console = Console(TaskQ("memory://"), ConsoleOptions())
    shell, link = build(console), console.access.one_time_login()
    await ask(shell, "GET", "/login", [HOST])
    assert (await post(shell, "/api/session", {"link": link.token}, OWN)).status == 200


async def test_without_a_link_nothing_is_one() -> None:
    """threat:T1"""
    shell = build(Console(TaskQ("memory://"), ConsoleOptions()))
    assert (await post(shell, "/api/session", {"link": ""})).status == 401


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.1", "queue.example.com", "", "127.0.0.1.evil"]
)
def test_an_open_address_needs_authentication(host: str) -> None:
    """threat:T1: anonymous viewers are none."""
    with pytest.raises(ConfigurationError, match="TASKQ_WEB_USERS"):
        check_exposure(host, access())
    with pytest.raises(ConfigurationError, match="TASKQ_WEB_USERS"):
        check_exposure(host, access(ConsoleOptions(allow_anonymous=Role.VIEWER)))
    check_exposure(host, access(web_tokens={"ada": f"admin:{TOKEN}"}))
    check_exposure(host, access(ConsoleOptions(authenticate=by_header)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_ones_own_machine_needs_none(host: str) -> None:
    """threat:T1"""
    check_exposure(host, access())


def test_a_mounted_console_must_be_able_to_know_somebody() -> None:
    """threat:T1"""
    with pytest.raises(ConfigurationError, match="authenticate="):
        check_mounted(access())
    check_mounted(access(web_tokens={"ada": f"admin:{TOKEN}"}))
    check_mounted(access(ConsoleOptions(authenticate=by_header)))
    check_mounted(access(ConsoleOptions(allow_anonymous=Role.VIEWER)))


def test_a_role_that_is_none_is_refused_when_the_console_is_made() -> None:
    """A name of a role in place of a Role must not wait for the first request."""
    untyped: dict[str, Any] = {"allow_anonymous": "viewer"}
    with pytest.raises(ConfigurationError, match=r"must be a Role, as Role\.VIEWER, not 'viewer'"):
        check_mounted(access(ConsoleOptions(**untyped)))


def test_what_is_kept_shows_no_secret() -> None:
    """threat:T14"""
    kept = access(web_tokens={"ada": f"admin:{TOKEN}"})
    assert TOKEN not in "".join(repr(value) for _, value in inspect.getmembers(kept))
    assert TOKEN not in repr(vars(kept))
