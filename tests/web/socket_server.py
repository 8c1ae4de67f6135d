"""Serves an ASGI application on a socket in a thread, as a host program would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import httpx
import uvicorn

from taskq.bridge import serve_in_thread
from taskq.web.serving import listening
from taskq.web.shell import ASGI


class Host(uvicorn.Server):
    """uvicorn's, in a thread: it takes no signals there."""

    async def serve_briefly(self, listener: object) -> None:
        await self.serve(sockets=[listener])  # type: ignore[list-item]


@contextmanager
def served(app: ASGI, *, lifespan: str = "auto") -> Iterator[httpx.Client]:
    """A client of the application."""
    listener = listening("127.0.0.1", 0)
    config = uvicorn.Config(
        app, log_config=None, lifespan=lifespan, timeout_graceful_shutdown=2, ws="none"
    )  # type: ignore[arg-type]
    server = Host(config)
    port = listener.getsockname()[1]
    thread = serve_in_thread(server.serve_briefly, listener)
    try:
        anyio.run(_started, server)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            yield client
    finally:
        server.should_exit = True
        thread.wait(10)


async def _started(server: Host) -> None:
    with anyio.fail_after(10):
        while not server.started:
            await anyio.sleep(0.01)


def sign_in(client: httpx.Client, base: str, proof: dict[str, str]) -> httpx.Response:
    """Log in as the page does; the client keeps the session."""
    origin = str(client.base_url).rstrip("/")
    return client.post(f"{base}/api/session", json=proof, headers={"origin": origin})
