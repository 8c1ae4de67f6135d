"""The shell: an ASGI application around the console's routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from taskq import logs
from taskq.web.front import Front
from taskq.web.permissions import LOOKING
from taskq.web.problem import Problem, problem_of
from taskq.web.shell.asgi import (
    ASGI,
    Message,
    Receive,
    Scope,
    Send,
    headers_of,
    send_problem,
    send_redirect,
)
from taskq.web.shell.bodies import Gone, check_type, limit_of, read_body, replayed
from taskq.web.shell.headers import Pairs, completed
from taskq.web.shell.hosts import AllowedHosts, Host, host_of
from taskq.web.shell.origin import is_own
from taskq.web.shell.prefix import base_of, inside, with_slash

_SAFE: Final = ("GET", "HEAD")
_METHODS: Final = (*_SAFE, "POST")
_OF_ANOTHER: Final = "_ls_"
"""What Litestar keeps of a request in its state; around us another one may have."""


class Shell:
    """Refuses what no route should see, and completes every answer: allowed hosts, GET, HEAD and
    POST only, commands only from the console's own page or with a token, JSON bodies of a bounded
    size, headers that forbid a browser what the page does not need. Takes the path off under which
    the console is mounted.

    ``read_only``: commands are refused here already, apart from having no routes.
    """

    def __init__(self, app: ASGI, allowed: AllowedHosts, *, read_only: bool = False) -> None:
        self._app = app
        self._allowed = allowed
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; ``lifespan`` goes to the routes."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = str(scope.get("root_path") or "")
        path, front = inside(scope["path"], root), Front(base=base_of(root))
        answer = _Answer(send, path, front, head=scope["method"] == "HEAD")
        try:
            receive = await self._admitted(scope, path, front, receive)
            if path == "":
                await send_redirect(answer.send, with_slash(root))
                return
            await self._app(_inner(scope, path, front), receive, answer.send)
        except Gone:
            return
        except Problem as problem:
            await send_problem(answer.send, problem)
        except Exception as error:
            if answer.started:
                raise
            logs.console_failed(scope["method"], path, error)
            await send_problem(answer.send, problem_of(error))

    async def _admitted(self, scope: Scope, path: str, front: Front, receive: Receive) -> Receive:
        """What the routes are to receive. Raises Problem for what they are not to see."""
        headers, method, scheme = headers_of(scope), scope["method"], scope.get("scheme", "http")
        host = self._host(headers)
        front.secure = scheme == "https" or self._allowed.is_secure(host)
        if method not in _METHODS:
            raise Problem(
                405,
                "method_not_allowed",
                f"{method[:20]} is not used here",
                headers={"allow": ", ".join(_METHODS)},
            )
        if method in _SAFE:
            return receive
        if not is_own(headers, scheme, host, self._allowed):
            raise Problem(
                403,
                "cross_origin",
                "commands come from the console's own page, or with a token and without a cookie",
            )
        if self._read_only and ("POST", path) not in LOOKING:
            raise Problem(403, "read_only", "this console can only look")
        check_type(headers)
        return replayed(await read_body(headers, receive, limit_of(path)), receive)

    def _host(self, headers: Mapping[str, list[str]]) -> Host:
        given = headers.get("host", [])
        host = host_of(given[0]) if len(given) == 1 else None
        if host is None:
            raise Problem(400, "bad_host", "the header Host must be there once, and well-formed")
        if not self._allowed.allows(host):
            raise Problem(
                400,
                "bad_host",
                f"{host.name} is no name of this console; TASKQ_WEB_ALLOWED_HOSTS names others"
                " than this machine's own",
            )
        return host


class _Answer:
    """Sends an answer on, completed; to HEAD without its body, ended as soon as it began."""

    def __init__(self, send: Send, path: str, front: Front, *, head: bool) -> None:
        self._send = send
        self._path = path
        self._front = front
        self._head = head
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] != "http.response.start":
            if not self._head:
                await self._send(message)
            return
        given = cast("Pairs", message.get("headers", ()))
        headers = completed(given, path=self._path, status=message["status"])
        headers += [(b"set-cookie", text.encode()) for text in self._front.cookies]
        self.started = True
        await self._send({**message, "headers": headers})
        if self._head:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _inner(scope: Scope, path: str, front: Front) -> Scope:
    """The request as the routes see it: at the top, and as if nobody had handled it before."""
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    around = cast("Mapping[str, object]", scope.get("state") or {})
    state = {name: value for name, value in around.items() if not name.startswith(_OF_ANOTHER)}
    inner: Scope = {**scope, "path": path, "root_path": "", "method": method, "state": state}
    front.install(inner)
    return inner
