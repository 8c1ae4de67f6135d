"""Every route asks who it is, and lets in those whom the table names."""

from __future__ import annotations

import re
from uuid import uuid4

import anyio
import pytest
from litestar import Litestar, get

from taskq import TaskQ
from taskq.errors import ConfigurationError
from taskq.settings.accounts import ROLES
from taskq.web import Console, ConsoleOptions, Identity, Role
from taskq.web import application as rooms
from taskq.web.access import guard
from taskq.web.application import application, build, handlers_of, routes_of, routing
from taskq.web.permissions import LOOKING, PERMISSIONS
from taskq.web.shell import Shell
from tests.web.asking import HOST, OWN, TOKENS, Answer, ask, bearer

VISITORS = (None, "viewer", "operator", "admin")


def routes(**options: bool) -> list[tuple[str, str]]:
    return sorted(routes_of(routing(tuple(handlers_of(ConsoleOptions(**options))))))


def filled(path: str) -> str:
    """The path with something for each of its parameters."""
    return re.sub(r"{[^}]*}", str(uuid4()), path)


async def tried(console: Shell, method: str, path: str, role: str | None) -> Answer:
    headers = [*(OWN if method == "POST" else (HOST,)), *([bearer(role)] if role else [])]
    if method == "POST":
        headers.append(("content-type", "application/json"))
    body = b"{}" if method == "POST" else b""
    return await ask(console, method, filled(path), headers, body=body, only_status=True)


async def test_each_route_lets_in_whom_the_table_names_and_nobody_else(app: TaskQ) -> None:
    """threat:T1, T3: all routes × nobody, viewer, operator, admin."""
    console = build(Console(app, ConsoleOptions()))
    for method, path in routes():
        least = PERMISSIONS[method, path]
        for role in VISITORS:
            status = (await tried(console, method, path, role)).status
            allowed = least is None or (role is not None and Role.of(role) >= least)
            if not allowed:
                assert status == (401 if role is None else 403), (method, path, role)
            elif path != "/api/session":  # which answers 401 to nobody by itself
                assert status not in (401, 403, 405, 500), (method, path, role)
    for method, path in routes():  # again, now that each was asked for: none has let go
        if PERMISSIONS[method, path] is not None:
            assert (await tried(console, method, path, None)).status == 401, (method, path)


def test_no_line_of_the_table_is_for_a_route_that_is_not_there() -> None:
    """threat:T1"""
    assert set(PERMISSIONS) == set(routes())


async def test_a_route_that_the_table_does_not_name_keeps_the_console_from_starting(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T1"""

    @get("/api/forgotten")
    async def forgotten() -> None: ...

    monkeypatch.setattr(rooms, "ROUTES", (forgotten,))
    with pytest.raises(ConfigurationError, match="no permission is declared for GET /api/forgotte"):
        application(Console(app, ConsoleOptions()))


async def test_a_route_that_comes_later_is_for_nobody(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T1: also past the check at the start, the guard asks the table."""

    @get("/api/late")
    async def late() -> str:
        return "data"

    own: Litestar = routing.__wrapped__(tuple(handlers_of(ConsoleOptions())))
    own.register(late)
    monkeypatch.setattr(rooms, "routing", lambda _: own)  # what consoles share stays as it is
    console = application(Console(app, ConsoleOptions()))
    answer = await ask(console, "GET", "/api/late", [HOST, bearer("admin")])
    assert (answer.status, b"data" in answer.body) == (403, False)


async def test_consoles_of_two_apps_share_their_routes_and_nothing_else(console: Shell) -> None:
    """threat:T1: also while both are asked at once."""
    token = "another-0123456789-0123456789"
    other = build(
        Console(TaskQ("memory://", web_tokens={"eve": f"admin:{token}"}), ConsoleOptions())
    )
    theirs = ("authorization", f"Bearer {token}")
    statuses: dict[tuple[bool, bool], list[int]] = {}

    async def asked(own: bool, known: bool) -> None:
        for _ in range(3):
            headers = [HOST, bearer("admin") if own is known else theirs]
            answer = await ask(console if own else other, "GET", "/api/session", headers)
            statuses.setdefault((own, known), []).append(answer.status)

    async with anyio.create_task_group() as group:
        for own in (True, False):
            for known in (True, False):
                group.start_soon(asked, own, known)
    assert statuses == {
        (own, known): [200 if known else 401] * 3
        for own in (True, False)
        for known in (True, False)
    }


async def test_an_answer_to_somebody_unknown_says_how_to_be_known(console: Shell) -> None:
    answer = await ask(console, "GET", "/api/stats")
    assert answer.status == 401
    assert answer.header("www-authenticate") == "Bearer"
    assert answer.json["code"] == "unauthenticated"
    assert answer.json["detail"] == "log in first, or send a token: Authorization: Bearer TOKEN"


@pytest.mark.parametrize("path", ["/api/stats", "/api/session"])
async def test_a_token_that_is_wrong_is_told_apart_from_none(console: Shell, path: str) -> None:
    answer = await ask(console, "GET", path, [HOST, ("authorization", "Bearer nobody")])
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert answer.json["detail"] == (
        "the token that was sent is not valid: send another one, or log in"
    )


async def test_a_role_that_is_too_low_is_told_which_one_it_takes(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    @get("/api/stats")
    async def stats() -> None: ...

    monkeypatch.setattr(rooms, "ROUTES", (stats,))
    monkeypatch.setattr(guard, "PERMISSIONS", {("GET", "/api/stats"): Role.ADMIN})
    console = build(Console(app, ConsoleOptions()))
    answer = await ask(console, "GET", "/api/stats", [HOST, bearer("operator")])
    assert answer.json["detail"] == "this needs the role admin; yours is operator"


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "get", "G" * 99])
async def test_other_methods_are_not_used(console: Shell, method: str) -> None:
    answer = await ask(console, method, "/api/stats", [HOST, bearer("admin")])
    assert answer.status == 405
    assert answer.header("allow") == "GET, HEAD, POST"


def test_a_console_that_can_only_look_has_no_route_that_commands() -> None:
    """promise:G17, threat:T21"""
    commands = {route for route in routes(read_only=True) if route[0] != "GET"}
    assert commands == LOOKING


async def test_a_console_that_can_only_look_says_so_to_a_command(app: TaskQ) -> None:
    """promise:G17, threat:T21"""
    console = build(Console(app, ConsoleOptions(read_only=True)))
    for method, path in routes():
        if method == "POST" and (method, path) not in LOOKING:
            answer = await tried(console, method, path, "admin")
            assert answer.status == 403, path
    headers = [*OWN, bearer("admin")]
    answer = await ask(console, "POST", "/api/anything", headers)
    assert (answer.status, answer.json["code"]) == (403, "read_only")


def test_an_api_alone_has_no_page() -> None:
    paths = {path for _, path in routes(api_only=True)}
    assert not paths & {"/", "/login", "/static/{version}/{name}"}
    assert "/api/stats" in paths


async def test_health_says_nothing_but_that_it_answers(console: Shell) -> None:
    """threat:T26"""
    answer = await ask(console, "GET", "/health")
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


def test_roles_have_the_same_names_everywhere() -> None:
    assert tuple(role.label for role in Role) == ROLES == tuple(TOKENS)


def test_viewers_see_payloads_unless_the_setting_hides_them() -> None:
    hiding = Console(TaskQ("memory://", web_viewer_payloads=False), ConsoleOptions())
    showing = Console(TaskQ("memory://"), ConsoleOptions())
    viewer, operator = Identity("ada", Role.VIEWER), Identity("ada", Role.OPERATOR)
    assert [each.shows_payloads(viewer) for each in (showing, hiding)] == [True, False]
    assert hiding.shows_payloads(operator)
