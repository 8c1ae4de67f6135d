"""The answers of the health endpoint, without a network."""

from __future__ import annotations

import json

import pytest

from taskq.cli.health import answer
from taskq.engine import Health


def health(healthy: bool) -> Health:
    return Health(
        state="running",
        healthy=healthy,
        reasons=() if healthy else ("the event loop is stuck",),
        slots=10,
        slots_used=1,
        threads_stuck=0,
        last_progress={},
    )


def answered(head: bytes, *, healthy: bool = True) -> tuple[str, bytes]:
    response = answer(head, lambda: health(healthy))
    top, _, body = response.partition(b"\r\n\r\n")
    return top.decode().split("\r\n")[0], body


def test_a_healthy_worker_is_200_with_its_numbers() -> None:
    line, body = answered(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert line == "HTTP/1.1 200 OK"
    assert json.loads(body)["slots"] == 10


def test_an_unhealthy_worker_is_503_with_its_reasons() -> None:
    line, body = answered(b"GET /health?x=1 HTTP/1.0\r\n\r\n", healthy=False)
    assert line == "HTTP/1.1 503 Service Unavailable"
    assert json.loads(body)["reasons"] == ["the event loop is stuck"]


def test_a_head_request_gets_no_body() -> None:
    assert answered(b"HEAD /health HTTP/1.1\r\n\r\n") == ("HTTP/1.1 200 OK", b"")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /health HTTP/1.1\r\n\r\n", "405"),
        (b"GET /other HTTP/1.1\r\n\r\n", "404"),
        (b"GET /health HTTP/2\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02", "400"),
        (b"x" * 8192, "400"),
    ],
)
def test_anything_else_is_refused(head: bytes, status: str) -> None:
    assert answered(head)[0].split()[1] == status
