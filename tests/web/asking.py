"""Requests to a console as an ASGI application, to the byte: what an HTTP client would not send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import anyio
from msgspec import Struct

from taskq.web.shell import ASGI

TOKENS = {role: f"{role}-0123456789-0123456789" for role in ("viewer", "operator", "admin")}
"""A token of each role; each account has the name of its role."""
HOST = ("host", "127.0.0.1:8080")
OWN = (HOST, ("origin", "http://127.0.0.1:8080"))
"""What the console's own page sends."""

Headers = Iterable[tuple[str, str]]


class Answer(Struct):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""
    ended: bool = False
    read: int = 0
    """Messages of the request's body that were asked for."""

    def header(self, name: str) -> str | None:
        """The only header of this name."""
        found = [value for key, value in self.headers if key.lower() == name]
        assert len(found) < 2, found
        return found[0] if found else None

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


def bearer(role: str) -> tuple[str, str]:
    """The header of an account of this role."""
    return ("authorization", f"Bearer {TOKENS[role]}")


async def ask(
    console: ASGI,
    method: str,
    path: str,
    headers: Headers = (HOST,),
    *,
    body: bytes | Iterable[bytes] = b"",
    query: str = "",
    only_status: bool = False,
    client: tuple[str, int] | None = ("127.0.0.1", 4321),
    **scope: object,
) -> Answer:
    """One request. ``only_status``: leave as soon as the answer begins, as from a stream."""
    chunks = [body] if isinstance(body, bytes) else list(body)
    answer = Answer(0, [])
    done = anyio.Event()

    async def receive() -> Mapping[str, Any]:
        answer.read += 1
        if chunks:
            chunk = chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = [(key.decode(), value.decode()) for key, value in message["headers"]]
        else:
            answer.body += message["body"]
        if only_status or (message["type"] != "http.response.start" and not message["more_body"]):
            answer.ended = True
            done.set()
            if only_status:
                group.cancel_scope.cancel()

    whole = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(key.encode("latin-1"), value.encode("latin-1")) for key, value in headers],
        "client": client,
        "server": ("127.0.0.1", 8080),
        **scope,
    }
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await console(whole, receive, send)
    return answer


async def post(
    console: ASGI, path: str, content: object, headers: Headers = OWN, **scope: Any
) -> Answer:
    """A command, with JSON."""
    sent = [*headers, ("content-type", "application/json")]
    return await ask(console, "POST", path, sent, body=json.dumps(content).encode(), **scope)


async def logged_in(console: ASGI, role: str) -> tuple[str, str]:
    """The header with the cookie of a new session, by the token of this role."""
    answer = await post(console, "/api/session", {"token": TOKENS[role]})
    assert answer.status == 200, answer.body
    return cookie_of(answer)


def cookie_of(answer: Answer) -> tuple[str, str]:
    """The header that a browser would send from now on."""
    return ("cookie", (answer.header("set-cookie") or "").partition(";")[0])
