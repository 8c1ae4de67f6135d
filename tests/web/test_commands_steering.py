"""Queues, types and schedules, steered by the console's API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from taskq import InvalidState, TaskQ


@pytest.fixture
def report(app: TaskQ) -> Any:
    @app.activity
    async def report(region: str = "eu") -> None: ...

    return report


async def created(browser: httpx.AsyncClient, **more: object) -> httpx.Response:
    body = {"name": "nightly", "type": "report", "cron": "0 3 * * *", **more}
    return await browser.post("/api/schedules", json=body)


@pytest.mark.parametrize(("kind", "name"), [("queues", "default"), ("types", "send")])
async def test_a_pause_holds_until_it_is_lifted(
    app: TaskQ, browser: httpx.AsyncClient, kind: str, name: str
) -> None:
    path = f"/api/{kind}/{name}"
    body = {"reason": "the bank is down"}
    for changed in (True, False):
        answer = await browser.post(f"{path}/pause", json=body)
        assert answer.json() == {"name": name, "paused": True, "changed": changed}
    [pause] = await app.client.call(app.client.store.pauses)
    assert (pause.name, pause.by, pause.reason) == (name, "console:admin", "the bank is down")
    answer = await browser.post(f"{path}/resume", json={})
    assert answer.json() == {"name": name, "paused": False, "changed": True}
    assert await app.client.call(app.client.store.pauses) == []


@pytest.mark.parametrize("name", ["a b", "x" * 101, "%00", "é"])
async def test_what_is_no_name_cannot_be_paused(browser: httpx.AsyncClient, name: str) -> None:
    answer = await browser.post(f"/api/queues/{name}/pause", json={})
    assert answer.status_code == 400


async def test_a_schedule_is_made_and_on_record(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    answer = await created(browser, arguments={"region": "us"}, tz="Europe/Lisbon", reason="new")
    assert answer.status_code == 201, answer.text
    info = await app.schedules.aget("nightly")
    assert info.schedule.template.payload == '{"region":"us"}'
    assert info.schedule.timing.timezone == "Europe/Lisbon"
    assert answer.json()["revision"] == info.revision
    [entry] = await app.operator.aaudit()
    assert (entry.actor, entry.action, entry.reason) == ("console:admin", "schedule.create", "new")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"type": "nothing"}, 404),
        ({"arguments": {"colour": 1}}, 400),
        ({"cron": "every day"}, 400),
        ({"every": 60}, 400),
        ({"cron": None}, 400),
        ({"tz": "Mars/Olympus"}, 400),
        ({"catch_up": "some"}, 400),
        ({"name": ""}, 400),
        ({"name": "a\0"}, 400),
        ({"every": 1e400, "cron": None}, 400),
    ],
)
async def test_a_schedule_that_makes_no_sense_is_refused(
    app: TaskQ, browser: httpx.AsyncClient, report: Any, more: dict[str, object], status: int
) -> None:
    if more.get("every") == float("inf"):
        body = '{"name":"nightly","type":"report","every":1e400}'
        headers = {"content-type": "application/json"}
        answer = await browser.post("/api/schedules", content=body, headers=headers)
    else:
        answer = await created(browser, **more)
    assert answer.status_code == status, answer.text
    assert await app.schedules.alist() == []


async def test_a_name_that_is_taken_is_a_conflict(browser: httpx.AsyncClient, report: Any) -> None:
    assert (await created(browser)).status_code == 201
    answer = await created(browser)
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")


async def test_made_twice_by_the_same_command_it_is_one(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    """threat:T22"""
    id = str(uuid4())
    answers = [await created(browser, command_id=id) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert len(await app.operator.aaudit()) == 1


async def test_an_edit_changes_what_is_given(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    revision = (await created(browser)).json()["revision"]
    body = {"revision": revision, "cron": "0 4 * * *", "arguments": {"region": "us"}}
    answer = await browser.post("/api/schedules/nightly/edit", json=body)
    assert answer.status_code == 200
    info = await app.schedules.aget("nightly")
    assert (info.schedule.timing.cron, info.schedule.template.payload) == (
        "0 4 * * *",
        '{"region":"us"}',
    )
    assert answer.json()["revision"] == info.revision > revision


@pytest.mark.parametrize(
    ("change", "call"),
    [
        ({"priority": "HIGH"}, ("slow", "HIGH", '{"region":"us"}')),
        ({"arguments": {"region": "eu"}}, ("slow", "LOW", '{"region":"eu"}')),
        ({"type": "report"}, ("default", "NORMAL", '{"region":"eu"}')),
    ],
    ids=["priority", "arguments", "type"],
)
async def test_an_edit_keeps_what_is_not_given_unless_it_calls_another_type(
    app: TaskQ,
    browser: httpx.AsyncClient,
    report: Any,
    change: dict[str, object],
    call: tuple[str, str, str],
) -> None:
    await created(browser, queue="slow", priority="LOW", arguments={"region": "us"})
    body = {"revision": 1, **change}
    answer = await browser.post("/api/schedules/nightly/edit", json=body)
    assert answer.status_code == 200, answer.text
    template = (await app.schedules.aget("nightly")).schedule.template
    assert (template.queue, template.priority.name, template.payload) == call


async def test_an_edit_of_a_revision_never_changes_another(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    """threat:T22: also where it moves on after the look."""
    await created(browser)
    await app.schedules.aupdate("nightly", cron="0 5 * * *")
    with pytest.raises(InvalidState, match="somebody else"):
        await app.schedules.aupdate("nightly", revision=1, cron="0 4 * * *")
    await app.schedules.aupdate("nightly", revision=2, cron="0 6 * * *")
    assert (await app.schedules.aget("nightly")).schedule.timing.cron == "0 6 * * *"


async def test_an_edit_of_what_has_moved_is_stale(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    """threat:T22"""
    revision = (await created(browser)).json()["revision"]
    await app.schedules.aupdate("nightly", cron="0 5 * * *")
    body = {"revision": revision, "cron": "0 4 * * *"}
    answer = await browser.post("/api/schedules/nightly/edit", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale")
    assert (await app.schedules.aget("nightly")).schedule.timing.cron == "0 5 * * *"


async def test_an_edit_given_twice_is_made_once(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    revision = (await created(browser)).json()["revision"]
    body = {"revision": revision, "cron": "0 4 * * *", "command_id": str(uuid4())}
    answers = [await browser.post("/api/schedules/nightly/edit", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert len(await app.operator.aaudit()) == 2


async def test_a_schedule_is_paused_resumed_and_triggered(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    await created(browser)
    path = "/api/schedules/nightly"
    assert (await browser.post(f"{path}/pause", json={})).json()["paused"] is True
    assert (await browser.post(f"{path}/resume", json={})).json()["paused"] is False
    body = {"command_id": str(uuid4())}
    ids = {(await browser.post(f"{path}/trigger", json=body)).json()["id"] for _ in range(2)}
    assert ids == {body["command_id"]}
    assert (await app.astats()).by_queue == {"default": 1}


async def test_a_deleted_schedule_is_gone(
    app: TaskQ, browser: httpx.AsyncClient, report: Any
) -> None:
    await created(browser)
    body = {"command_id": str(uuid4())}
    first = await browser.post("/api/schedules/nightly/delete", json=body)
    second = await browser.post("/api/schedules/nightly/delete", json=body)
    assert first.json() == {"name": "nightly", "declared": False, "repeated": False}
    assert second.json() == {"name": "nightly", "declared": False, "repeated": True}
    assert await app.schedules.alist() == []


@pytest.mark.parametrize("action", ["pause", "resume", "trigger", "delete", "edit"])
async def test_a_schedule_that_is_not_there_is_not_found(
    browser: httpx.AsyncClient, action: str
) -> None:
    body = {"revision": 1} if action == "edit" else {}
    answer = await browser.post(f"/api/schedules/nothing/{action}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
