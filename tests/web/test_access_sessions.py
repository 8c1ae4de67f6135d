"""Logging in and out, and what a session's cookie is good for."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from taskq import TaskQ
from taskq.passwords import hashed
from taskq.version import VERSION
from taskq.web import Console, ConsoleOptions
from taskq.web.api.session import kind_of
from taskq.web.application import build
from taskq.web.shell import Shell
from tests.web.asking import HOST, OWN, TOKENS, Answer, ask, bearer, cookie_of, logged_in, post

PASSWORD = "correct horse battery"
HASH = hashed(PASSWORD).text


class Hands:
    """A clock whose hands are moved."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return 1000.0 + self.passed


@pytest.fixture
def hands() -> Hands:
    return Hands()


def made(hands: Hands, **settings: object) -> Shell:
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    given = {"web_tokens": accounts, "web_users": {"ada": f"operator:{HASH}"}} | settings
    app = TaskQ("memory://", clock=hands, **given)  # type: ignore[arg-type]
    return build(Console(app, ConsoleOptions()))


@pytest.fixture
async def console(hands: Hands) -> AsyncIterator[Shell]:
    """Knows the tokens, and ada by her password."""
    yield made(hands)


async def who(console: Shell, *headers: tuple[str, str]) -> str | None:
    """The name of whoever asks so; None for nobody."""
    answer = await ask(console, "GET", "/api/session", [HOST, *headers])
    assert answer.status in (200, 401)
    return answer.json["name"] if answer.status == 200 else None


async def by_password(console: Shell, name: str, password: str) -> Answer:
    return await post(console, "/api/session", {"name": name, "password": password})


async def test_a_password_begins_a_session(console: Shell) -> None:
    answer = await by_password(console, "ada", PASSWORD)
    assert answer.json | {"now": ""} == {
        "name": "ada",
        "role": "operator",
        "session": True,
        "payloads": True,
        "read_only": False,
        "version": VERSION,
        "store": "memory",
        "now": "",
    }
    assert await who(console, cookie_of(answer)) == "ada"


async def test_a_token_begins_one_too(console: Shell) -> None:
    assert await who(console, await logged_in(console, "viewer")) == "viewer"


async def test_the_cookie_is_for_this_console_alone(console: Shell) -> None:
    """threat:T2"""
    plain = await post(console, "/api/session", {"token": TOKENS["admin"]}, root_path="/tools/q")
    name, *attributes = (plain.header("set-cookie") or "").split("; ")
    assert name.startswith("taskq_session=")
    assert attributes == ["Path=/tools/q", "HttpOnly", "SameSite=Strict"]
    origin = (HOST, ("origin", "https://127.0.0.1:8080"))
    safe = await post(console, "/api/session", {"token": TOKENS["admin"]}, origin, scheme="https")
    assert (safe.header("set-cookie") or "").endswith("Path=/; HttpOnly; SameSite=Strict; Secure")


async def test_a_proxy_that_takes_https_makes_the_cookie_secure(hands: Hands) -> None:
    """threat:T2"""
    console = made(hands, web_allowed_hosts=["https://queue.example.com"])
    headers = [("host", "queue.example.com"), ("origin", "https://queue.example.com")]
    answer = await post(console, "/api/session", {"token": TOKENS["admin"]}, headers)
    assert (answer.header("set-cookie") or "").endswith("; Secure")


WRONG = ((401, "unauthenticated"), (400, "bad_request"))
NEARLY_RIGHT: list[tuple[str, str]] = [
    ("ada", "correct horse"),
    ("ada", PASSWORD + "\n"),
    ("ada", ""),
    ("ada", PASSWORD * 99),
    ("Ada", PASSWORD),
    ("ada ", PASSWORD),
    ("ada\n", PASSWORD),
    ("аda", PASSWORD),  # noqa: RUF001 # a Cyrillic letter
    ("ada.evil", PASSWORD),
    ("", PASSWORD),
    ("viewer", TOKENS["viewer"]),
    ("ada\ud800", "\ud800"),
]


async def test_what_is_nearly_right_is_wrong(console: Shell, hands: Hands) -> None:
    """threat:T2"""
    for name, password in NEARLY_RIGHT:
        hands.passed += 1000
        answer = await by_password(console, name, password)
        assert (answer.status, answer.json["code"]) in WRONG, (name, password)
        assert answer.header("set-cookie") is None


NEARLY_TOKENS = [
    TOKENS["admin"],
    f"Basic {TOKENS['admin']}",
    f"Bearer{TOKENS['admin']}",
    f"Bearer {TOKENS['admin']}x",
    f"Bearer {TOKENS['admin'][:-1]}",
    f"Bearer {TOKENS['admin'].upper()}",
    "Bearer ",
    "Bearer \xff",
]


async def test_a_token_that_is_nearly_right_is_wrong(console: Shell) -> None:
    """threat:T2"""
    for value in NEARLY_TOKENS:
        assert await who(console, ("authorization", value)) is None, value


async def test_two_tokens_are_none(console: Shell) -> None:
    """threat:T2"""
    assert await who(console, bearer("admin"), bearer("admin")) is None


async def test_a_wrong_token_is_not_mended_by_a_cookie(console: Shell) -> None:
    cookie = await logged_in(console, "admin")
    assert await who(console, cookie, ("authorization", "Bearer nobody")) is None


def changed(cookie: tuple[str, str], **fields: object) -> tuple[str, str]:
    """The cookie with other content under the same signature."""
    content, _, signature = cookie[1].partition("=")[2].partition(".")
    id, name, link, began, seen = json.loads(base64.urlsafe_b64decode(content + "=="))
    old = {"id": id, "name": name, "link": link, "began": began, "seen": seen}
    new = base64.urlsafe_b64encode(json.dumps([*(old | fields).values()]).encode()).decode()
    return ("cookie", f"taskq_session={new.rstrip('=')}.{signature}")


REWRITTEN: list[dict[str, object]] = [
    {"name": "admin"},
    {"link": True},
    {"began": 2e9},
    {"seen": 2e9},
    {"id": "another"},
    {"name": None},
    {"began": "now"},
]


async def test_a_cookie_cannot_be_rewritten(console: Shell) -> None:
    """threat:T2"""
    cookie = await logged_in(console, "viewer")
    for fields in REWRITTEN:
        assert await who(console, changed(cookie, **fields)) is None, fields
    assert await who(console, cookie) == "viewer"


async def test_a_cookie_that_is_none_is_nobody(console: Shell) -> None:
    """threat:T2"""
    for value in ["", ".", "a.b", "e30.x", "!!!", "x" * 5000, "\xff\xfe.", "W10."]:
        assert await who(console, ("cookie", f"taskq_session={value}")) is None


async def test_the_cookie_of_another_console_on_the_same_host_is_no_hindrance(
    console: Shell, hands: Hands
) -> None:
    """Both lie under one path, and browsers send both."""
    mine = (await logged_in(console, "viewer"))[1]
    other = (await logged_in(made(hands), "admin"))[1]
    for cookie in (f"{mine}; {other}", f"a=b; {other}; {mine}", f"taskq_session=x;{mine}"):
        assert await who(console, ("cookie", cookie)) == "viewer", cookie


async def test_logging_out_ends_the_session_at_once(console: Shell) -> None:
    """threat:T3"""
    cookie = await logged_in(console, "viewer")
    other = await logged_in(console, "viewer")
    answer = await post(console, "/api/session/end", {}, [*OWN, cookie])
    assert answer.status == 204
    assert (answer.header("set-cookie") or "").startswith("taskq_session=; ")
    assert "Max-Age=0" in (answer.header("set-cookie") or "")
    assert await who(console, cookie) is None
    assert await who(console, other) == "viewer"


async def test_logging_in_makes_a_new_session_and_ends_the_old(console: Shell) -> None:
    """threat:T23: a session that somebody else planted is not taken over."""
    planted = await logged_in(console, "viewer")
    answer = await post(console, "/api/session", {"token": TOKENS["admin"]}, [*OWN, planted])
    assert cookie_of(answer) != planted
    assert await who(console, planted) is None
    assert await who(console, cookie_of(answer)) == "admin"


async def test_a_session_ends_an_hour_after_its_last_request(console: Shell, hands: Hands) -> None:
    """threat:T2"""
    cookie = await logged_in(console, "viewer")
    hands.passed = 3599
    assert await who(console, cookie) == "viewer"
    hands.passed = 3600
    assert await who(console, cookie) is None


async def test_requests_keep_a_session_alive_for_half_a_day(console: Shell, hands: Hands) -> None:
    """threat:T2"""
    cookie = await logged_in(console, "viewer")
    while hands.passed < 12 * 3600 - 1800:
        hands.passed += 1800
        answer = await ask(console, "GET", "/api/stats", [HOST, cookie])
        assert answer.status == 200
        cookie = cookie_of(answer)
    hands.passed = 12 * 3600
    assert await who(console, cookie) is None


async def test_the_cookie_is_renewed_once_a_minute_at_most(console: Shell, hands: Hands) -> None:
    cookie = await logged_in(console, "viewer")
    hands.passed = 59
    answer = await ask(console, "GET", "/api/stats", [HOST, cookie])
    assert answer.header("set-cookie") is None
    hands.passed = 60
    answer = await ask(console, "GET", "/api/stats", [HOST, cookie])
    assert cookie_of(answer) != cookie


async def test_a_session_outlives_the_process_only_with_a_secret(hands: Hands) -> None:
    cookie = await logged_in(made(hands), "viewer")
    assert await who(made(hands), cookie) is None
    secret = {"web_secret": "s" * 32}
    cookie = await logged_in(made(hands, **secret), "viewer")
    assert await who(made(hands, **secret), cookie) == "viewer"
    assert await who(made(hands, web_secret="t" * 32), cookie) is None


async def test_a_removed_or_changed_account_ends_its_sessions(hands: Hands) -> None:
    """threat:T2"""
    secret = {"web_secret": "s" * 32}
    cookie = await logged_in(made(hands, **secret), "viewer")
    gone = made(hands, **secret, web_tokens={})
    other = made(hands, **secret, web_tokens={"viewer": f"viewer:{'x' * 20}"})
    assert [await who(each, cookie) for each in (gone, other)] == [None, None]


async def test_a_changed_role_counts_at_once(hands: Hands) -> None:
    """threat:T2"""
    secret = {"web_secret": "s" * 32}
    cookie = await logged_in(made(hands, **secret), "admin")
    lower = made(hands, **secret, web_tokens={"admin": f"viewer:{TOKENS['admin']}"})
    answer = await ask(lower, "GET", "/api/session", [HOST, cookie])
    assert answer.json["role"] == "viewer"


OTHERWISE: list[object] = [
    {},
    {"name": "ada"},
    {"token": TOKENS["admin"], "link": "x"},
    {"token": TOKENS["admin"], "next": "//evil.example"},
    {"token": 3},
    [],
    None,
]


async def test_a_login_that_says_something_else_is_refused(console: Shell) -> None:
    """threat:T17: there is no ``next`` to go to."""
    for body in OTHERWISE:
        answer = await post(console, "/api/session", body)
        assert (answer.status, answer.json["code"]) == (400, "bad_request"), body
        assert answer.header("set-cookie") is None


async def test_the_answer_and_its_errors_hold_no_secret(console: Shell) -> None:
    """threat:T14"""
    answer = await post(console, "/api/session", {"token": "canary-0123456789", "name": 3})
    assert b"canary" not in answer.body
    answer = await post(console, "/api/session", {"token": "canary-0123456789"})
    assert b"canary" not in answer.body


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("memory", "memory"),
        ("/home/ada/taskq.db", "SQLite"),
        ("postgresql://ada@db.internal/shop", "PostgreSQL"),
        ("redis://db.internal/0", "redis"),
    ],
)
def test_of_the_database_only_its_kind_is_told(location: str, kind: str) -> None:
    """threat:T14"""
    assert kind_of(location) == kind
