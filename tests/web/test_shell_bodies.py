"""Bodies: JSON of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from taskq.web.content import is_deeper
from taskq.web.shell import AllowedHosts, Shell, bodies
from taskq.web.shell.bodies import LARGE, SMALL, limit_of
from tests.web.asking import HOST, OWN, Answer, ask, bearer

JSON = ("content-type", "application/json")


async def echo(scope, receive, send) -> None:
    """Answers with the body that it received."""
    message = await receive()
    assert not message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"], "more_body": False})


SHELL = Shell(echo, AllowedHosts())


async def sent(path: str = "/api/session", *headers: tuple[str, str], **rest) -> Answer:
    return await ask(SHELL, "POST", path, [*OWN, *headers], **rest)


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/api/enqueue", LARGE),
        ("/api/activities/1/retry", LARGE),
        ("/api/activities/1/cancel", SMALL),
        ("/api/bulk", SMALL),
        ("/api/enqueue/../bulk", SMALL),
        ("/api/activities/a/b/retry", SMALL),
        ("/api/session", SMALL),
    ],
)
def test_only_what_holds_arguments_may_be_long(path: str, limit: int) -> None:
    assert limit_of(path) == limit


@pytest.mark.parametrize("path", ["/api/session", "/api/enqueue"])
async def test_a_body_may_have_so_many_bytes_and_no_more(path: str) -> None:
    """threat:T24"""
    limit = limit_of(path)
    answer = await sent(path, JSON, body=[b"x" * (limit - 1), b"x"])
    assert (answer.status, len(answer.body)) == (200, limit)
    answer = await sent(path, JSON, body=[b"x" * limit, b"x"])
    assert (answer.status, answer.json["code"]) == (413, "too_large")


async def test_a_body_that_never_ends_is_refused_when_it_is_too_long() -> None:
    """threat:T24: chunked, without a length."""
    answer = await sent("/api/session", JSON, body=[b"x" * 1024] * 10_000)
    assert (answer.status, answer.read) == (413, SMALL // 1024 + 1)


@pytest.mark.parametrize("length", [str(SMALL + 1), "9" * 12, "9" * 13, "9" * 5000])
async def test_a_body_that_says_it_is_too_long_is_not_read(length: str) -> None:
    """threat:T24"""
    answer = await sent("/api/session", JSON, ("content-length", length), body=[b"x"] * 9)
    assert (answer.status, answer.read) == (413, 0)


async def test_an_upload_is_refused_unread() -> None:
    """threat:T24"""
    upload = ("content-type", "multipart/form-data; boundary=x")
    answer = await sent("/api/enqueue", upload, body=[b"x" * 65_536] * 160)
    assert (answer.status, answer.read) == (415, 0)
    assert answer.json["code"] == "unsupported_media_type"


NO_JSON = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "application/problem+json",
    "text/plain; application/json",
    "application/json, text/plain",
    "",
]


async def test_what_is_not_json_is_refused() -> None:
    """threat:T4: a form of another page can send these."""
    for kind in NO_JSON:
        answer = await sent("/api/session", ("content-type", kind), body=b"{}")
        assert answer.status == 415, kind


async def test_a_body_that_does_not_say_what_it_is_is_refused() -> None:
    """threat:T4"""
    assert (await sent(body=b"{}")).status == 415
    assert (await sent("/api/session", JSON, JSON, body=b"{}")).status == 415


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON ;x=y"]
)
async def test_json_may_have_parameters(kind: str) -> None:
    assert (await sent("/api/session", ("content-type", kind), body=b"{}")).status == 200


async def test_no_body_needs_no_type() -> None:
    assert (await sent(body=b"")).status == 200


async def test_a_body_that_does_not_come_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """threat:T8"""
    monkeypatch.setattr(bodies, "PATIENCE", 0.01)

    async def receive() -> None:
        await anyio.sleep_forever()

    started: list[int] = []

    async def send(message) -> None:
        if message["type"] == "http.response.start":
            started.append(message["status"])

    headers = [(name.encode(), value.encode()) for name, value in (*OWN, JSON)]
    scope = {"type": "http", "method": "POST", "path": "/api/session", "headers": headers}
    await SHELL(scope, receive, send)
    assert started == [408]


async def test_a_client_that_leaves_in_the_middle_gets_no_answer() -> None:
    messages: Iterator[dict[str, object]] = iter(
        [
            {"type": "http.request", "body": b"{", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive():
        return next(messages)

    async def send(message) -> None:
        raise AssertionError(message)

    headers = [(name.encode(), value.encode()) for name, value in (*OWN, JSON)]
    scope = {"type": "http", "method": "POST", "path": "/api/session", "headers": headers}
    await SHELL(scope, receive, send)


async def test_json_that_is_broken_or_too_deep_is_told_as_such(console: Shell) -> None:
    """threat:T8"""
    deep = b'{"token": ' + b"[" * 300 + b"]" * 300 + b"}"
    for body in (deep, b"{", b"\xff", b"[" * 5000, b'{"token": "\\ud800"}', b"{} {}", b"NaN"):
        answer = await ask(console, "POST", "/api/session", [*OWN, JSON], body=body)
        assert answer.status in (400, 401), body
        assert answer.header("content-type") == "application/problem+json"


async def test_a_command_without_a_body_is_told_what_to_send(console: Shell) -> None:
    headers = [HOST, bearer("admin")]
    answer = await ask(console, "POST", "/api/queues/default/pause", headers)
    assert answer.status == 400
    assert answer.json["detail"] == "the body is missing: send a JSON object, {} at least"
    ended = await ask(console, "POST", "/api/session/end", headers)
    assert ended.status == 204


async def test_what_was_sent_is_not_quoted_at_length(console: Shell) -> None:
    """threat:T8"""
    body = b'{"name": "%s", "type": "%s"}' % (b"n" * 20_000, b"t" * 20_000)
    headers = [HOST, JSON, bearer("admin")]
    answer = await ask(console, "POST", "/api/schedules", headers, body=body)
    assert answer.status == 404
    assert len(answer.body) < 2200


def test_depth_is_counted_to_the_level() -> None:
    """threat:T8"""
    assert not is_deeper([[{"a": 1}]], 3)
    assert is_deeper([[{"a": []}]], 3)
    assert not is_deeper("text", 0)


async def test_what_is_read_without_a_body_is_never_waited_for(console: Shell) -> None:
    answer = await ask(console, "GET", "/api/stats", [HOST, bearer("viewer")], body=[b"x"] * 3)
    assert (answer.status, answer.read) == (200, 0)
