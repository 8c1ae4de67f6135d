"""A call by the console's API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from taskq import TaskQ
from taskq.model import Priority


@pytest.fixture
def send(app: TaskQ) -> Any:
    @app.activity
    async def send(to: str, size: int = 0) -> None: ...

    return send


async def test_a_call_is_stored_with_its_options_and_on_record(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    body = {
        "type": "send",
        "arguments": {"to": "ada", "size": 10**30},
        "priority": "HIGH",
        "delay": 60,
        "tags": {"team": "a"},
        "reason": "by hand",
    }
    answer = await browser.post("/api/enqueue", json=body)
    assert (answer.status_code, answer.json()["created"]) == (201, True)
    info = await app.future(answer.json()["id"]).ainfo()
    assert info.payload == f'{{"size":{10**30},"to":"ada"}}'
    assert (info.priority, info.status, info.tags) == (Priority.HIGH, "scheduled", {"team": "a"})
    [entry] = await app.operator.aaudit()
    assert (entry.actor, entry.action, entry.reason) == ("console:admin", "enqueue", "by hand")
    assert entry.detail == {"ids": [str(info.id)], "type": "send", "queue": "default"}


async def test_a_call_given_twice_is_stored_once(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    """threat:T22"""
    body = {"type": "send", "arguments": {"to": "ada"}, "command_id": str(uuid4())}
    first = await browser.post("/api/enqueue", json=body)
    second = await browser.post("/api/enqueue", json=body)
    assert first.json()["id"] == second.json()["id"]
    assert (first.json()["created"], second.json()["created"]) == (True, False)
    assert (await app.astats()).by_queue == {"default": 1}
    assert len(await app.operator.aaudit()) == 1


async def test_a_command_id_of_another_command_is_refused(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    id = str(uuid4())
    await browser.post("/api/queues/default/pause", json={"command_id": id})
    body = {"type": "send", "arguments": {"to": "ada"}, "command_id": id}
    answer = await browser.post("/api/enqueue", json=body)
    assert answer.status_code == 409
    assert (await app.astats()).by_queue == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"type": "send"}, "'to' is missing"),
        ({"type": "send", "arguments": {"to": 3}}, "send"),
        ({"type": "send", "arguments": {"to": "a"}, "delay": -1}, "delay"),
        ({"type": "send", "arguments": {"to": "a"}, "queue": "a b"}, "queue"),
        ({"type": "send", "arguments": {"to": "a"}, "queue": "taskq.bulk"}, "taskq.bulk"),
        ({"type": "send", "arguments": {"to": "a\0"}}, "NUL"),
        ({"type": "send", "arguments": {"to": "a"}, "source": "\0"}, "source"),
        ({"type": "send", "arguments": {"to": "a"}, "tags": {"a": "\0"}}, "tags"),
        ({"type": "send", "arguments": {"to": "a"}, "max_retries": 2**70}, "max_retries"),
    ],
)
async def test_what_does_not_fit_is_refused(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, body: object, said: str
) -> None:
    answer = await browser.post("/api/enqueue", json=body)
    assert answer.status_code == 400, answer.text
    assert said in answer.json()["detail"]
    assert (await app.astats()).by_queue == {}


async def test_an_unknown_task_is_not_found_and_guessed(
    browser: httpx.AsyncClient, send: Any
) -> None:
    answer = await browser.post("/api/enqueue", json={"type": "sned"})
    assert answer.status_code == 404
    assert "did you mean 'send'?" in answer.json()["detail"]


@pytest.mark.parametrize("arguments", ["[1]", '"a"', "{", "1e999"])
async def test_arguments_are_one_object(
    browser: httpx.AsyncClient, send: Any, arguments: str
) -> None:
    answer = await browser.post("/api/enqueue", json={"type": "send", "arguments": arguments})
    assert answer.status_code == 400
