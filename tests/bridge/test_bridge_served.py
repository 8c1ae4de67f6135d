"""Functions served in a thread of their own."""

from __future__ import annotations

import threading

import anyio
import pytest
import sniffio

from taskq.bridge import Doorbell, serve_in_thread

backends = pytest.mark.parametrize("backend", ["asyncio", "trio"])


class Server:
    def __init__(self) -> None:
        self.began = Doorbell()
        self.ended = Doorbell()
        self.library = ""

    async def run(self, error: Exception | None = None) -> None:
        self.library = sniffio.current_async_library()
        self.began.ring()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.ring()
            if error is not None:
                raise error


@backends
def test_stop_cancels_the_function_and_waits_for_its_end(backend: str) -> None:
    server = Server()
    served = serve_in_thread(server.run, backend=backend)
    assert server.began.wait_sync(10)
    served.stop()
    assert server.ended.rung
    assert server.library == backend
    served.stop()


@backends
def test_stop_works_before_the_function_has_begun(backend: str) -> None:
    for _ in range(20):
        server = Server()
        serve_in_thread(server.run, backend=backend).stop()
        assert server.ended.rung == server.began.rung


@backends
def test_wait_returns_when_the_function_ends_by_itself(backend: str) -> None:
    server = Server()
    served = serve_in_thread(server.began.wait, backend=backend)
    with pytest.raises(TimeoutError):
        served.wait(0.01)
    server.began.ring()
    served.wait(10)
    served.stop()


@backends
def test_errors_are_raised_in_wait_and_in_stop(backend: str) -> None:
    async def fail() -> None:
        raise ValueError("no such port")

    served = serve_in_thread(fail, backend=backend)
    with pytest.raises(ValueError, match="no such port"):
        served.wait(10)
    with pytest.raises(ValueError, match="no such port"):
        served.stop()


@backends
def test_an_error_on_the_way_out_is_raised_in_stop(backend: str) -> None:
    server = Server()
    served = serve_in_thread(server.run, OSError("socket"), backend=backend)
    assert server.began.wait_sync(10)
    with pytest.raises(OSError, match="socket"):
        served.stop()


def test_stop_inside_the_thread_only_cancels() -> None:
    ready = threading.Event()

    async def stop_myself() -> None:
        assert ready.wait(10)
        served.stop()
        await anyio.sleep_forever()

    served = serve_in_thread(stop_myself)
    ready.set()
    served.wait(10)


def test_a_function_that_will_not_end_is_a_timeout() -> None:
    release, began = Doorbell(), Doorbell()

    async def refuse() -> None:
        with anyio.CancelScope(shield=True):
            began.ring()
            await release.wait()

    served = serve_in_thread(refuse)
    assert began.wait_sync(10)
    with pytest.raises(TimeoutError):
        served.stop(timeout=0.01)
    release.ring()
    served.wait(10)
