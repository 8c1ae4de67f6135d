"""Commands come from the console's own page, or from a program with a token."""

from __future__ import annotations

from itertools import product

import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.shell import AllowedHosts, Shell
from taskq.web.shell.hosts import Host
from taskq.web.shell.origin import is_own
from tests.web.asking import HOST, TOKENS, Answer, ask, bearer, logged_in

SITES = (None, "same-origin", "same-site", "cross-site", "none", "same-origin, cross-site", "")
ORIGINS = {
    None: False,
    "http://127.0.0.1:8080": True,
    "http://127.0.0.1": False,
    "https://127.0.0.1:8080": False,
    "http://127.0.0.1:8081": False,
    "http://localhost:8080": False,
    "http://evil.example": False,
    "http://127.0.0.1:8080.evil.example": False,
    "http://127.0.0.1:8080/": False,
    "http://x@127.0.0.1:8080": False,
    "null": False,
    "": False,
}
"""Origins that an unsafe request may have, and whether they are the console's."""
VISITORS = ("nobody", "cookie", "token", "token and cookie")


def test_every_mixture_of_headers_is_judged() -> None:
    """threat:T4: what the browser says of the site, else the origin, else a token alone."""
    for site, origin, visitor in product(SITES, ORIGINS, VISITORS):
        headers: dict[str, list[str]] = {}
        if site is not None:
            headers["sec-fetch-site"] = [site]
        if origin is not None:
            headers["origin"] = [origin]
        if "token" in visitor:
            headers["authorization"] = ["Bearer x"]
        if "cookie" in visitor:
            headers["cookie"] = ["taskq_session=x"]
        if site is not None:
            expected = site == "same-origin"
        elif origin is not None:
            expected = ORIGINS[origin]
        else:
            expected = visitor == "token"
        found = is_own(headers, "http", Host("127.0.0.1", 8080), AllowedHosts())
        assert found is expected, (site, origin, visitor)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": ["same-origin", "same-origin"]},
        {"sec-fetch-site": ["same-origin", "cross-site"]},
        {"origin": ["http://127.0.0.1:8080", "http://127.0.0.1:8080"]},
        {"authorization": ["Bearer x", "Bearer y"]},
        {"authorization": ["Basic eDp5"]},
        {"authorization": [""]},
        {"authorization": ["Bearer x"], "cookie": [""]},
    ],
)
def test_what_is_doubled_or_otherwise_is_refused(headers: dict[str, list[str]]) -> None:
    """threat:T4: browsers send Basic by themselves, also for another page."""
    assert not is_own(headers, "http", Host("127.0.0.1", 8080), AllowedHosts())


def test_behind_a_proxy_the_origin_that_is_allowed_counts() -> None:
    """threat:T4, T20"""
    allowed = AllowedHosts(["https://queue.example.com"])
    inside, outside = Host("127.0.0.1", 8080), Host("queue.example.com")
    for host in (inside, outside):
        assert is_own({"origin": ["https://queue.example.com"]}, "http", host, allowed)
        assert not is_own({"origin": ["https://evil.example"]}, "http", host, allowed)
    assert not is_own({"origin": ["https://queue.example.com:444"]}, "http", inside, allowed)
    forwarded = {"origin": ["https://evil.example"], "x-forwarded-proto": ["https"]}
    assert not is_own(forwarded, "http", Host("evil.example"), allowed)


async def command(console: Shell, *headers: tuple[str, str]) -> Answer:
    return await ask(console, "POST", "/api/session/end", [HOST, *headers])


async def test_a_command_from_another_page_is_refused_before_anything_else(console: Shell) -> None:
    """threat:T4"""
    cookie = await logged_in(console, "admin")
    for headers in (
        [cookie],
        [cookie, ("origin", "http://evil.example")],
        [cookie, ("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8080")],
        [bearer("admin"), ("sec-fetch-site", "same-site")],
    ):
        answer = await command(console, *headers)
        assert (answer.status, answer.json["code"]) == (403, "cross_origin"), headers
    known = await ask(console, "GET", "/api/session", [HOST, cookie])
    assert known.status == 200


async def test_a_command_of_the_page_and_of_a_program_is_done(console: Shell) -> None:
    """threat:T4: the other way round."""
    for headers in (
        [await logged_in(console, "admin"), ("sec-fetch-site", "same-origin")],
        [await logged_in(console, "admin"), ("origin", "http://127.0.0.1:8080")],
        [bearer("admin")],
    ):
        assert (await command(console, *headers)).status == 204


async def test_another_page_cannot_log_somebody_in(console: Shell) -> None:
    """threat:T4: into the account of whoever made that page."""
    headers = [HOST, ("content-type", "text/plain"), ("origin", "http://evil.example")]
    body = b'{"token":"' + TOKENS["viewer"].encode() + b'"}'
    answer = await ask(console, "POST", "/api/session", headers, body=body)
    assert (answer.status, answer.header("set-cookie")) == (403, None)


async def test_reading_needs_no_origin_and_gives_no_other_page_anything(console: Shell) -> None:
    """threat:T4: there is no CORS header, ever."""
    headers = [
        HOST,
        bearer("viewer"),
        ("origin", "http://evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("access-control-request-method", "POST"),
    ]
    for method in ("GET", "OPTIONS"):
        answer = await ask(console, method, "/api/stats", headers)
        assert not [name for name, _ in answer.headers if name.startswith("access-control")]
    assert answer.status == 405


async def test_a_host_application_may_let_its_own_cors_be() -> None:
    """threat:T4: what the routes say of other origins does not leave the shell."""

    async def generous(scope, receive, send) -> None:
        pairs = [(b"Access-Control-Allow-Origin", b"*")]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    answer = await ask(Shell(generous, AllowedHosts()), "GET", "/", [HOST])
    assert answer.header("access-control-allow-origin") is None


async def test_a_mounted_console_compares_with_its_own_host_too() -> None:
    """threat:T4"""
    app = TaskQ("memory://", web_allowed_hosts=["shop.example.com"])
    shell = build(Console(app, ConsoleOptions()))
    headers = [("host", "shop.example.com"), ("origin", "https://shop.example.com")]
    answer = await ask(
        shell, "POST", "/tools/api/session", headers, scheme="https", root_path="/tools"
    )
    assert answer.json["code"] != "cross_origin"
    answer = await ask(shell, "POST", "/tools/api/session", headers, root_path="/tools")
    assert answer.json["code"] == "cross_origin"
