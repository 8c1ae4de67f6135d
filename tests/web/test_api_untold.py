"""What is redacted, or hidden from viewers, is told in no other way. threat:T14, threat:T21"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from taskq import NonRetryError, Secret, TaskQ
from taskq.bulk.handler import Standing, standing_of
from taskq.identifiers import new_id
from taskq.model import Activity
from taskq.reserved import BULK
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from tests.web.asking import TOKENS

FORGED = (
    '{"action": "retry", "actor": "a", "filter": "type:*", "size": 1000000000}',
    '{"action": "retry", "actor": "a", "filter": "type:*", "size": 0}',
    '{"action": "retry", "actor": "a", "filter": "type:*", "limit": -1}',
    '{"action": "retry", "actor": "a", "filter": "type:*", "rate": 0}',
    '{"action": "retry", "actor": "a", "filter": "type:*", "rate": 1e-300}',
    '{"action": "reschedule", "actor": "a", "filter": "type:*"}',
    '{"action": "reschedule", "actor": "a", "filter": "type:*", "when": "2040-01-01T00:00:00"}',
    '{"action": "hunter2", "actor": "a", "filter": "type:*"}',
    "[" * 5000,
    "null",
)


@pytest.fixture
async def app() -> Any:
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ("memory://", web_tokens=accounts, web_viewer_payloads=False) as taskq:

        @taskq.activity(max_retries=0)
        async def enter(user: str, pin: Secret[str]) -> None:
            raise NonRetryError(f"no {user}")

        yield taskq


def client(app: TaskQ, role: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(build(Console(app, ConsoleOptions()))),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {TOKENS[role]}"},
    )


async def test_the_record_tells_no_secret_of_a_schedule_and_viewers_no_argument(
    app: TaskQ,
) -> None:
    async with client(app, "admin") as admin, client(app, "viewer") as viewer:
        body = {"name": "daily", "type": "enter", "every": 60}
        made = await admin.post(
            "/api/schedules", json={**body, "arguments": {"user": "ada", "pin": "hunter2"}}
        )
        assert made.status_code == 201
        shown, hidden = (await admin.get("/api/audit")).text, (await viewer.get("/api/audit")).text
    assert "schedule.create" in shown
    assert "hunter2" not in shown
    assert "schedule.create" in hidden
    assert "payload" not in hidden


async def test_viewers_see_no_filter_and_no_error_of_a_bulk_command(app: TaskQ) -> None:
    enter: Any = app.tasks["enter"]
    future = await enter.adelay(user="ada", pin=Secret("hunter2"))
    async with client(app, "operator") as operator, client(app, "viewer") as viewer:
        body = {"action": "cancel", "filter": "args.user:ada"}
        id = (await operator.post("/api/bulk", json=body)).json()["id"]
        seen = (await operator.get(f"/api/bulk/{id}")).json()
        assert seen["filter"] == "args.user:ada"
        await app.run_worker(burst=True)
        edit = {"changes": {"user": "bob"}}
        assert (await operator.post(f"/api/activities/{future.id}/retry", json=edit)).is_success
        for path in ("/api/bulk", f"/api/bulk/{id}", "/api/audit"):
            text = (await viewer.get(path)).text
            assert id in text
            assert "ada" not in text
            assert "edited" not in text


async def test_hidden_tags_are_neither_suggested_nor_found(app: TaskQ) -> None:
    enter: Any = app.tasks["enter"]
    tags = {"api_key": "hunter2", "region": "eu"}
    await enter.options(tags=tags).adelay(user="ada", pin=Secret("1234"))

    async def suggested(viewer: httpx.AsyncClient, q: str) -> list[str]:
        found = (await viewer.get("/api/suggestions", params={"q": q})).json()
        return [item["label"] for item in found["items"]]

    async with client(app, "viewer") as viewer:
        assert await suggested(viewer, "tag.region:") == ["eu"]
        assert await suggested(viewer, "tag.api_key:") == []
        for q, count in (("tag.api_key:h*", 0), ("-tag.api_key:h*", 1), ("tag.region:eu", 1)):
            page = (await viewer.get("/api/activities", params={"q": q, "limit": 1})).json()
            assert (len(page["items"]), page["next"]) == (count, None), q
        causes = await viewer.get("/api/dead-letters", params={"q": "tag.api_key:h*"})
        assert causes.status_code == 400
    async with client(app, "admin") as admin:
        body = {"action": "cancel", "filter": "tag.api_key:h*"}
        assert (await admin.post("/api/bulk", json=body)).json()["code"] == "bad_filter"


@pytest.mark.parametrize("payload", FORGED)
async def test_a_forged_bulk_command_fails_and_does_no_harm(app: TaskQ, payload: str) -> None:
    """Who can write to the store can write one of these too; it is read with bounds."""
    enter: Any = app.tasks["enter"]
    bystander = await enter.aschedule(3600, user="ada", pin=Secret("1234"))
    id = new_id()
    forged = Activity[None](id=id, type=BULK, queue=BULK, payload=payload, root_id=id, origin_id=id)
    await app.client.call(app.client.store.submit, [forged])
    await app.run_worker(burst=True)
    assert (await app.client.ainfo(id)).status == "failed"
    assert (await bystander.ainfo()).status == "scheduled"
    async with client(app, "viewer") as viewer:
        view = (await viewer.get(f"/api/bulk/{id}")).json()
        assert (view["status"], view["action"], view["error"]) == ("failed", None, None)
        assert (await viewer.get("/api/bulk")).status_code == 200


@pytest.mark.parametrize(
    "note", ['{"chunk":-1}', '{"skipped":-1}', "[", '{"x":' + "[" * 5000, '{"chunk":1e999}']
)
def test_a_forged_progress_says_nothing(note: str) -> None:
    assert standing_of(7, note) == Standing()
    assert standing_of(float("inf"), "{}") == Standing()
