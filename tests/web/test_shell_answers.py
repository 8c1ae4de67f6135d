"""What every answer has, where the console lies, and the files of its page."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions, assets
from taskq.web.application import build
from taskq.web.query import wrong
from taskq.web.shell import AllowedHosts, Shell
from taskq.web.shell.headers import CSP
from taskq.web.shell.prefix import base_of, inside, with_slash
from tests.web.asking import HOST, OWN, Answer, ask, bearer, post

STATIC = Path(assets.__file__).parent / "static"
FILES_OF_THE_PAGE = [path for path in STATIC.rglob("*") if path.is_file()]
EXPECTED = {
    "content-security-policy": CSP,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def broken(scope, receive, send) -> None:
    raise RuntimeError("canary")


async def answers(console: Shell) -> dict[str, Answer]:
    """One of each kind."""
    known = bearer("admin")
    return {
        "page": await ask(console, "GET", "/login"),
        "data": await ask(console, "GET", "/api/stats", [HOST, known]),
        "health": await ask(console, "GET", "/health"),
        "400": await ask(console, "GET", "/api/stats", [HOST, known], query="x=1"),
        "bad host": await ask(console, "GET", "/", [("host", "evil.example")]),
        "401": await ask(console, "GET", "/api/stats"),
        "403": await ask(console, "POST", "/api/session", [HOST]),
        "404": await ask(console, "GET", "/nothing"),
        "404 of files": await ask(console, "GET", "/static/x/console.css"),
        "405": await ask(console, "DELETE", "/api/stats"),
        "405 of a route": await ask(console, "POST", "/api/stats", OWN),
        "413": await ask(console, "POST", "/api/session", [*OWN, ("content-length", "999999")]),
        "415": await ask(console, "POST", "/api/session", [*OWN, ("content-type", "text/xml")]),
        "redirect": await ask(console, "GET", "/x", root_path="/x"),
        "head": await ask(console, "HEAD", "/login"),
        "login": await post(console, "/api/session", {"token": "wrong"}),
        "500": await ask(Shell(broken, AllowedHosts()), "GET", "/"),
    }


async def test_every_answer_forbids_what_the_page_does_not_need(console: Shell) -> None:
    """threat:T18: data, pages, redirects and errors of every kind."""
    for kind, answer in (await answers(console)).items():
        found = {name: answer.header(name) for name in EXPECTED}
        assert found == EXPECTED, kind
        assert answer.header("permissions-policy"), kind


async def test_every_error_is_json_with_a_code(console: Shell) -> None:
    for kind, answer in (await answers(console)).items():
        if answer.status >= 400:
            assert answer.header("content-type") == "application/problem+json", kind
            assert answer.json["status"] == answer.status, kind
            assert answer.json["code"] and answer.json["detail"], kind


async def test_an_error_of_the_program_is_in_the_log_and_not_in_the_answer(
    console: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    """threat:T14"""
    answer = await ask(Shell(broken, AllowedHosts()), "GET", "/api/stats")
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert b"canary" not in answer.body
    assert "console: GET /api/stats failed: RuntimeError('canary')" in caplog.text


async def test_an_answer_that_breaks_off_is_the_servers_to_end() -> None:
    async def breaks_off(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("canary")

    with pytest.raises(BaseExceptionGroup) as caught:
        await ask(Shell(breaks_off, AllowedHosts()), "GET", "/")
    assert caught.group_contains(RuntimeError, match="canary")


async def test_a_stream_keeps_what_it_says_about_storing() -> None:
    """threat:T18"""

    async def stream(scope, receive, send) -> None:
        pairs = [(b"cache-control", b"no-store, no-transform"), (b"x-frame-options", b"ALLOW")]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    answer = await ask(Shell(stream, AllowedHosts()), "GET", "/api/stream")
    assert answer.header("cache-control") == "no-store, no-transform"
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("content-security-policy") == CSP


async def test_data_cannot_say_that_it_may_be_stored() -> None:
    """threat:T18"""

    async def careless(scope, receive, send) -> None:
        pairs = [(b"Cache-Control", b"public, max-age=99")]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    answer = await ask(Shell(careless, AllowedHosts()), "GET", "/api/stats")
    assert answer.header("cache-control") == "no-store"


async def test_head_is_get_without_its_body(console: Shell) -> None:
    known = [HOST, bearer("viewer")]
    full = await ask(console, "GET", "/api/stats", known)
    head = await ask(console, "HEAD", "/api/stats", known)
    assert (head.status, head.headers, head.body) == (full.status, full.headers, b"")
    assert (await ask(console, "HEAD", "/api/stats")).status == 401


async def test_head_of_a_stream_ends_at_once() -> None:
    async def stream(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.body", "body": b"late", "more_body": True})

    answer = await ask(Shell(stream, AllowedHosts()), "HEAD", "/api/stream")
    assert (answer.status, answer.body, answer.ended) == (200, b"", True)


async def test_websockets_are_refused() -> None:
    sent: list[dict[str, object]] = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message) -> None:
        sent.append(message)

    await Shell(broken, AllowedHosts())({"type": "websocket", "path": "/"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("/api/stats", "", "/api/stats"),
        ("/tools/api/stats", "/tools", "/api/stats"),
        ("/tools/api/stats", "/tools/", "/api/stats"),
        ("/api/stats", "/tools", "/api/stats"),
        ("/toolshed", "/tools", "/toolshed"),
        ("/tools", "/tools", ""),
        ("/tools/", "/tools", "/"),
        ("/api/api/stats", "/api", "/api/stats"),
        ("", "", "/"),
    ],
)
def test_the_path_of_the_mount_is_taken_off(path: str, root: str, found: str) -> None:
    assert inside(path, root) == found


def test_a_path_cannot_put_anything_into_a_header() -> None:
    """threat:T17"""
    assert base_of("/a;b\r\nset-cookie: x/") == "/a%3Bb%0D%0Aset-cookie:%20x"
    assert with_slash("/a/\r\nb") == "%0D%0Ab/"


async def test_all_routes_work_at_any_path(console: Shell) -> None:
    for root in ("", "/tools", "/api", "/a/b c"):
        answer = await ask(
            console, "GET", f"{root}/api/stats", [HOST, bearer("viewer")], root_path=root
        )
        assert answer.status == 200, root


async def test_the_page_without_its_slash_goes_to_the_one_with_it(console: Shell) -> None:
    """threat:T17, T19: by a relative link, so that no Host is in it."""
    answer = await ask(console, "GET", "/tools/queue", root_path="/tools/queue")
    assert (answer.status, answer.header("location")) == (307, "queue/")


async def test_what_another_litestar_keeps_of_a_request_is_not_taken_over(console: Shell) -> None:
    from litestar.utils.scope.state import ScopeState

    around: dict[str, object] = {"state": {"mine": 1}}
    kept = ScopeState.from_scope(around)  # type: ignore[arg-type]
    kept.cookies = {"taskq_session": "x"}
    kept.parsed_query = (("x", "1"),)
    answer = await ask(console, "GET", "/api/stats", [HOST, bearer("viewer")], **around)
    assert answer.status == 200


FILES = [
    "../assets.py",
    "..%2fassets.py",
    "/etc/passwd",
    "%2e%2e/assets.py",
    "....//assets.py",
    "console.css/",
    "console.css/..",
    "console.css\x00",
    "Console.css",
    "index.html",
    "login.html",
    "",
    ".",
    "..",
]


async def test_no_path_reaches_another_file(console: Shell) -> None:
    """threat:T25"""
    version = assets.load().version
    for name in FILES:
        answer = await ask(console, "GET", f"/static/{version}/{name}")
        listed = name.strip("/") in assets.load().files  # a slash at the end is none
        assert answer.status == (200 if listed else 404), name
        assert b"def load" not in answer.body, name


async def test_a_file_of_this_version_may_be_kept_for_ever(console: Shell) -> None:
    files = assets.load()
    for name, file in files.files.items():
        answer = await ask(console, "GET", f"/static/{files.version}/{name}")
        assert (answer.status, answer.body) == (200, file.content)
        assert answer.header("content-type") == f"{file.media_type}; charset=utf-8"
        assert answer.header("cache-control") == "public, max-age=31536000, immutable"


async def test_a_file_of_the_page_travels_packed_to_whoever_can_unpack_it(console: Shell) -> None:
    files = assets.load()
    [name, file] = ["app.js", files.files["app.js"]]
    takes = [HOST, ("accept-encoding", "br, GZip;q=0.5")]
    answer = await ask(console, "GET", f"/static/{files.version}/{name}", takes)
    assert answer.header("content-encoding") == "gzip"
    assert gzip.decompress(answer.body) == file.content
    assert answer.header("content-length") == str(len(answer.body))
    for refused in ("", "br", "gzip;q=0", "gzip; q=0.00", "xgzip"):
        plain = await ask(
            console, "GET", f"/static/{files.version}/{name}", [HOST, ("accept-encoding", refused)]
        )
        assert plain.header("content-encoding") is None and plain.body == file.content, refused
        assert plain.header("vary") == "accept-encoding"


async def test_what_the_frame_imports_is_named_where_the_browser_begins(console: Shell) -> None:
    files = assets.load()
    page = (await ask(console, "GET", "/")).body.decode()
    named = re.findall(rf'modulepreload" href="static/{files.version}/([^"]+)"', page)
    assert {"core/dom.js", "core/live.js", "parts/toast.js"} <= {*named} <= {*files.files}
    assert "{" not in page


def test_all_files_are_on_the_list() -> None:
    """threat:T25"""
    found = {str(path.relative_to(STATIC)) for path in FILES_OF_THE_PAGE}
    assert found == {*assets.load().files, *assets.PAGES}


def test_pages_hold_nothing_inline_and_name_no_other_place() -> None:
    """threat:T5, T18, T28"""
    for path in FILES_OF_THE_PAGE:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|[\"'(]//", text), path
        if path.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! type)", text), (
                path
            )
            assert not re.search(r"(?:href|src|action)=\"/", text), path
            assert re.search(r"<script[^>]*></script>", text), path


@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"],
)
def test_no_script_writes_html(word: str) -> None:
    """threat:T5"""
    for path in STATIC.glob("*.js"):
        assert word not in path.read_text(encoding="utf-8"), path


def test_after_logging_in_there_is_one_place_to_go_to() -> None:
    """threat:T17: no parameter says which."""
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        places = re.findall(
            r"location\.(?:replace|assign)\(([^)]*)\)|location(?:\.href)? = (.*)", text
        )
        assert {place for pair in places for place in pair if place} <= {'"./"', '"login"'}
        assert "location.search" not in text


async def test_a_query_parameter_that_no_route_has_is_refused(console: Shell) -> None:
    """threat:T6"""
    answer = await ask(console, "GET", "/api/stats", [HOST, bearer("viewer")], query="limit=1")
    assert answer.json["detail"] == "there is no query parameter 'limit'; this route has none"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["limit"], None),
        (["limit", "tag", "tag"], None),
        (["limt"], "there is no query parameter 'limt'; there are: limit, tag"),
        (["limit", "limit"], "limit: given more than once"),
        (["Limit"], "there is no query parameter 'Limit'; there are: limit, tag"),
        ([""], "there is no query parameter ''; there are: limit, tag"),
    ],
)
def test_names_of_parameters_are_compared(given: list[str], sentence: str | None) -> None:
    """threat:T6"""
    assert wrong(given, {"limit": False, "tag": True}) == sentence


async def test_a_mounted_console_and_one_alone_are_the_same(app: TaskQ) -> None:
    shell = build(Console(app, ConsoleOptions()))
    alone = await ask(shell, "GET", "/login")
    mounted = await ask(shell, "GET", "/x/login", root_path="/x")
    assert (alone.status, alone.headers, alone.body) == (200, mounted.headers, mounted.body)
