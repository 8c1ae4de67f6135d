"""What a task declares a ``Secret`` no route tells, wherever a command has put it. threat:T14"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from taskq import Secret, TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from tests.web.asking import TOKENS

CANARY = "canary-81"


@pytest.fixture
def pay(app: TaskQ) -> Any:
    @app.activity(max_retries=0)
    async def pay(pin: Secret[str], to: str = "") -> None:
        raise ValueError("no")

    return pay


async def test_no_default_of_what_is_hidden_by_its_name_is_told(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    @app.activity
    async def sign_in(user: str = "plain-82", api_key: str = CANARY) -> None: ...

    text = (await browser.get("/api/types")).text
    assert "plain-82" in text
    assert "canary" not in text


async def test_no_value_of_a_hidden_tag_is_suggested(
    app: TaskQ, browser: httpx.AsyncClient, pay: Any
) -> None:
    tags = {"api-key": CANARY, "region": "plain-82"}
    await pay.options(tags=tags).adelay(pin=Secret("x"))
    told = [
        (await browser.get("/api/suggestions", params={"q": q})).text
        for q in ("tag.region:", "tag.api-key:", "tag.", "tag.api-key:can")
    ]
    assert "plain-82" in told[0]
    assert not any("canary" in text for text in told)


async def test_a_bulk_command_hides_the_secrets_among_its_changes(
    app: TaskQ, browser: httpx.AsyncClient, pay: Any
) -> None:
    await pay.adelay(pin=Secret("canary-80"))
    await app.run_worker(burst=True)
    body = {"action": "retry", "filter": "type:pay", "changes": {"pin": CANARY, "to": "plain-82"}}
    id = (await browser.post("/api/bulk", json=body)).json()["id"]
    for path in (f"/api/activities/{id}", f"/api/observability/activities/{id}"):
        text = (await browser.get(path)).text
        assert "plain-82" in text
        assert "canary" not in text
    for path in ("/timeline", "/tree"):
        assert "canary" not in (await browser.get(f"/api/activities/{id}{path}")).text
    assert "canary" not in (await browser.get("/api/audit")).text


async def test_the_record_of_a_schedule_holds_no_secrets_of_its_call(
    app: TaskQ, browser: httpx.AsyncClient, pay: Any
) -> None:
    body = {"name": "nightly", "type": "pay", "arguments": {"pin": CANARY}, "every": 60}
    assert (await browser.post("/api/schedules", json=body)).status_code == 201
    text = (await browser.get("/api/audit")).text
    assert "schedule.create" in text
    assert "canary" not in text
    edit = {"revision": 1, "arguments": {"pin": "canary-84"}}
    assert (await browser.post("/api/schedules/nightly/edit", json=edit)).status_code == 200
    stored = await app.client.call(app.client.store.audit)
    assert [entry.action for entry in stored] == ["schedule.edit", "schedule.create"]
    assert "canary" not in str([entry.detail for entry in stored])
    template = (await app.schedules.aget("nightly")).schedule.template
    assert template.payload == '{"pin":"canary-84","to":""}'


async def test_the_record_tells_no_payload_to_whom_payloads_are_hidden_from() -> None:
    tokens = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ("memory://", web_tokens=tokens, web_viewer_payloads=False) as app:

        @app.activity
        async def send(to: str) -> None: ...

        await app.schedules.acreate("nightly", send.build(to="ada-83"), every=60)
        shell = build(Console(app, ConsoleOptions()))
        for role, seen in (("viewer", False), ("operator", True)):
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(shell),
                base_url="http://127.0.0.1",
                headers={"authorization": f"Bearer {TOKENS[role]}"},
            ) as client:
                text = (await client.get("/api/audit")).text
                assert "schedule.create" in text
                assert ("ada-83" in text) is seen
