"""What an operator does to one activity by the console's API. threat:T22"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from taskq import NonRetryError, TaskQ
from taskq.identifiers import new_id
from taskq.model import Priority, Status
from taskq.web.views.version import version_of


@pytest.fixture
def send(app: TaskQ) -> Any:
    @app.activity
    async def send(to: str, size: int = 0, password: str = "") -> None:
        if to == "nobody":
            raise NonRetryError("there is nobody")

    return send


async def post(browser: httpx.AsyncClient, path: str, body: object = None) -> httpx.Response:
    return await browser.post(path, json={} if body is None else body)


async def failed(app: TaskQ, send: Any, **arguments: object) -> UUID:
    """The id of an activity that has failed for good."""
    future = await send.adelay(to="nobody", **arguments)
    await app.run_worker(burst=True)
    return future.id


async def test_a_failed_activity_goes_round_again(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    id = await failed(app, send)
    answer = await post(browser, f"/api/activities/{id}/retry", {"reason": "the bank is back"})
    assert answer.status_code == 200
    assert answer.json() == {"id": str(id), "before": "failed", "repeated": False}
    assert (await app.client.ainfo(id)).status is Status.PENDING
    [entry] = await app.operator.aaudit()
    assert (entry.actor, entry.action, entry.reason) == (
        "console:admin",
        "retry",
        "the bank is back",
    )


async def test_a_retry_takes_other_arguments_exactly(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    """Numbers beyond 64 bits stay what they are."""
    id = await failed(app, send)
    body = {"changes": {"to": "ada", "size": 10**30}}
    assert (await post(browser, f"/api/activities/{id}/retry", body)).status_code == 200
    assert f'"size":{10**30},"to":"ada"' in (await app.client.ainfo(id)).payload


async def test_arguments_may_be_given_as_text(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    id = await failed(app, send, size=3)
    body = {"arguments": '{"to": "ada"}'}
    assert (await post(browser, f"/api/activities/{id}/retry", body)).status_code == 200
    assert '"size":0,"to":"ada"' in (await app.client.ainfo(id)).payload


async def test_a_redacted_argument_that_comes_back_keeps_what_is_stored(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    id = await failed(app, send, password="hunter22")
    body = {"arguments": {"to": "ada", "password": "[redacted]"}}
    assert (await post(browser, f"/api/activities/{id}/retry", body)).status_code == 200
    assert '"password":"hunter22"' in (await app.client.ainfo(id)).payload


@pytest.mark.parametrize(
    "body",
    [
        {"changes": {"size": "large"}},
        {"changes": {"colour": 1}},
        {"changes": {"to": "a"}, "arguments": {"to": "b"}},
        {"arguments": "[1]"},
        {"arguments": "{"},
        {"changes": {"to": "[redacted]"}},
        {"reason": "\0"},
        {"reason": "x" * 1001},
        {"colour": "red"},
        {"version": 3},
        [],
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_changes(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, body: object
) -> None:
    id = await failed(app, send)
    answer = await post(browser, f"/api/activities/{id}/retry", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert (await app.client.ainfo(id)).status is Status.FAILED
    assert await app.operator.aaudit() == []


ACTIONS: dict[str, dict[str, object]] = {
    "retry": {},
    "cancel": {},
    "run-now": {},
    "reschedule": {"when": "2040-01-01T00:00:00+01:00"},
    "priority": {"priority": "HIGH"},
    "delete": {},
}


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_unknown_id_is_not_found(browser: httpx.AsyncClient, action: str) -> None:
    answer = await post(browser, f"/api/activities/{uuid4()}/{action}", ACTIONS[action])
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_wrong_state_is_named_and_nothing_is_recorded(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, action: str
) -> None:
    future = await send.adelay(to="ada")
    if action not in ("retry", "delete", "run-now"):
        await app.run_worker(burst=True)
    body = ACTIONS[action] | {"command_id": str(uuid4())}
    answer = await post(browser, f"/api/activities/{future.id}/{action}", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")
    assert await app.operator.aaudit() == []


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_activity_that_has_moved_on_is_left_as_it_is(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, action: str
) -> None:
    """Two operators who see the same page: the second one is told."""
    future = await send.aschedule(3600, to="ada")
    seen = version_of(await future.ainfo())
    if action in ("retry", "delete"):
        await app.operator.acancel(future.id)
    else:
        await app.operator.areschedule(future.id, (await future.ainfo()).created_at.replace(2039))
    body = ACTIONS[action] | {"version": seen}
    before = await future.ainfo()
    answer = await post(browser, f"/api/activities/{future.id}/{action}", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale")
    assert await future.ainfo() == before


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_command_given_twice_is_carried_out_once(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, action: str
) -> None:
    """A double click, or an answer that was lost."""
    future = await send.aschedule(3600, to="ada")
    if action in ("retry", "delete"):
        await app.operator.acancel(future.id)
    seen = version_of(await future.ainfo())
    body = ACTIONS[action] | {"command_id": str(new_id()), "version": seen}
    first = await post(browser, f"/api/activities/{future.id}/{action}", body)
    recorded = len(await app.operator.aaudit())
    second = await post(browser, f"/api/activities/{future.id}/{action}", body)
    assert (first.status_code, second.status_code) == (200, 200)
    assert (first.json()["repeated"], second.json()["repeated"]) == (False, True)
    assert len(await app.operator.aaudit()) == recorded


async def test_times_and_priorities_change(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    future = await send.aschedule(3600, to="ada")
    path = f"/api/activities/{future.id}"
    await post(browser, f"{path}/reschedule", ACTIONS["reschedule"])
    assert (await future.ainfo()).ready_at.isoformat() == "2039-12-31T23:00:00+00:00"
    await post(browser, f"{path}/priority", ACTIONS["priority"])
    assert (await future.ainfo()).priority is Priority.HIGH
    await post(browser, f"{path}/run-now")
    assert (await future.ainfo()).status is Status.PENDING


async def test_a_time_without_zone_is_refused(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    future = await send.aschedule(3600, to="ada")
    path = f"/api/activities/{future.id}/reschedule"
    answer = await post(browser, path, {"when": "2040-01-01T00:00:00"})
    assert answer.status_code == 400
    assert "when" in answer.json()["detail"]


async def test_a_deleted_activity_is_gone(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    id = await failed(app, send)
    answer = await post(browser, f"/api/activities/{id}/delete")
    assert answer.json()["before"] == "failed"
    assert await app.client.call(app.client.store.get, [id]) == {}
