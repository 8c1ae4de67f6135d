"""Serves an ASGI application on a socket in a thread, as a host program would."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import httpx
import uvicorn

from taskq.bridge import serve_in_thread
from taskq.web.serving import WebServer, listening
from taskq.web.shell import ASGI


def client_of(url: str) -> httpx.Client:
    """One that speaks no TLS, and therefore reads no authorities: that takes longer than a test."""
    return httpx.Client(base_url=url, timeout=10, verify=False)


@contextmanager
def served(app: ASGI) -> Iterator[httpx.Client]:
    """A client of the application, which uvicorn serves with its lifespan."""
    listener = listening("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2, ws="none")
    )
    thread = serve_in_thread(serve, server, listener)
    try:
        anyio.run(started, server)
        with client_of(f"http://127.0.0.1:{port}") as client:
            yield client
    finally:
        server.should_exit = True
        thread.wait(10)


async def serve(server: uvicorn.Server, listener: socket.socket) -> None:
    await server.serve(sockets=[listener])


async def started(server: uvicorn.Server) -> None:
    with anyio.fail_after(10):
        while not server.started:
            await anyio.sleep(0.01)


@contextmanager
def running(server: WebServer) -> Iterator[httpx.Client]:
    """A client of a console's own server; it has ended afterwards."""
    thread = serve_in_thread(server.serve)
    try:
        with client_of(server.url) as client:
            yield client
    finally:
        server.stop()
        thread.wait(10)


def sign_in(client: httpx.Client, base: str, proof: dict[str, str]) -> httpx.Response:
    """Log in as the page does; the client keeps the session."""
    url = client.base_url
    origin = f"{url.scheme}://{url.netloc.decode()}"
    return client.post(f"{base}api/session", json=proof, headers={"origin": origin})
