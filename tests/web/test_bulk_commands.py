"""Bulk commands by the console's API, carried out by a worker. threat:T22"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
import pytest

from taskq import ActivityFuture, NonRetryError, TaskQ
from taskq.model import Priority, Status
from taskq.reserved import BULK
from tests.web.asking import TOKENS


@pytest.fixture
def send(app: TaskQ) -> Any:
    @app.activity
    async def send(to: str, size: int = 0, password: str = "") -> None:
        if to == "nobody":
            raise NonRetryError("there is nobody")

    return send


async def failed(app: TaskQ, send: Any, count: int) -> list[UUID]:
    """The ids of so many that have failed for good."""
    futures = [await send.adelay(to="nobody", size=number) for number in range(count)]
    await app.run_worker(burst=True)
    return [future.id for future in futures]


async def started(browser: httpx.AsyncClient, **body: object) -> UUID:
    """The id of a bulk command that was taken."""
    answer = await browser.post("/api/bulk", json=body)
    assert answer.status_code == 202, answer.text
    return UUID(answer.json()["id"])


async def statuses(app: TaskQ, ids: Sequence[UUID]) -> set[Status]:
    return {info.status for info in (await app.client.call(app.client.store.get, ids)).values()}


async def carried_out(app: TaskQ, id: UUID) -> dict[str, Any]:
    """What a bulk command has done, once its queue alone is drained."""
    await app.queues.apause(queue="default")
    await app.run_worker(burst=True)
    await app.queues.aresume(queue="default")
    info = await app.client.ainfo(id)
    assert info.status is Status.COMPLETED, info.error
    result: dict[str, Any] = await app.future(id)
    return result


async def test_all_that_match_go_round_again(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    ids = await failed(app, send, 7)
    id = await started(browser, action="retry", filter="type:send", reason="the bank is back")
    assert await carried_out(app, id) == {"done": 7, "skipped": 0}
    assert await statuses(app, ids) == {Status.PENDING}
    view = (await browser.get(f"/api/bulk/{id}")).json()
    assert (view["action"], view["filter"], view["status"]) == ("retry", "type:send", "completed")
    assert (view["total"], view["exact"], view["done"], view["skipped"]) == (7, True, 7, 0)
    assert (view["actor"], view["reason"]) == ("console:admin", "the bank is back")


async def test_it_is_on_record_and_so_is_each_chunk(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    ids = await failed(app, send, 3)
    id = await started(browser, action="retry", filter="type:send", reason="again", rate=0.6)
    await app.queues.apause(queue="default", actor="ada")
    for _ in range(3):
        await app.operator.arun_now([id], actor="ada")
        await app.run_worker(burst=True)
    entries = [each for each in await app.operator.aaudit() if each.actor == "console:admin"]
    assert [each.action for each in entries] == ["retry", "retry", "bulk.retry"]
    assert {each.reason for each in entries} == {"again"}
    assert entries[-1].detail == {"ids": [str(id)], "filter": "type:send"}
    retried = [id for entry in entries[:-1] for id in cast("list[str]", entry.detail["ids"])]
    assert sorted(retried) == sorted(map(str, ids))


async def test_ids_may_be_named(app: TaskQ, browser: httpx.AsyncClient, send: Any) -> None:
    ids = await failed(app, send, 3)
    named = [str(ids[0]), str(ids[2]), str(uuid4())]
    id = await started(browser, action="retry", ids=named)
    assert await carried_out(app, id) == {"done": 2, "skipped": 1}
    assert await statuses(app, [ids[1]]) == {Status.FAILED}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"action": "cancel"}, Status.CANCELLED),
        ({"action": "run_now"}, Status.PENDING),
        ({"action": "reschedule", "when": "2040-01-01T00:00:00Z"}, Status.SCHEDULED),
        ({"action": "priority", "priority": "LOW"}, Status.SCHEDULED),
    ],
)
async def test_each_action_is_done_to_what_waits(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, body: dict[str, Any], expected: Status
) -> None:
    futures: list[ActivityFuture[None]] = [await send.aschedule(3600, to="a") for _ in range(3)]
    id = await started(browser, filter="type:send", **body)
    assert await carried_out(app, id) == {"done": 3, "skipped": 0}
    infos = [await future.ainfo() for future in futures]
    assert {info.status for info in infos} == {expected}
    assert {info.priority for info in infos} == {Priority[body.get("priority", "NORMAL")]}
    if "when" in body:
        assert {info.ready_at.year for info in infos} == {2040}


async def test_what_has_ended_is_deleted(app: TaskQ, browser: httpx.AsyncClient, send: Any) -> None:
    ids = await failed(app, send, 3)
    id = await started(browser, action="delete", filter="status:failed")
    assert await carried_out(app, id) == {"done": 3, "skipped": 0}
    assert await statuses(app, ids) == set()


async def test_what_came_later_is_left(app: TaskQ, browser: httpx.AsyncClient, send: Any) -> None:
    """It is about what was there when it was given, and meets each once."""
    before = await failed(app, send, 2)
    id = await started(browser, action="retry", filter="type:send", rate=0.25)
    later = await send.adelay(to="nobody")
    await app.operator.acancel(later.id)
    assert before[1] < id < later.id
    await app.queues.apause(queue="default")
    for _ in range(3):
        await app.operator.arun_now([id])
        await app.run_worker(burst=True)
    assert (await app.client.ainfo(id)).status is Status.COMPLETED
    assert await statuses(app, before) == {Status.PENDING}
    assert await statuses(app, [later.id]) == {Status.CANCELLED}


async def test_what_an_edit_does_not_fit_is_met_once(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    """Also where it gives up its slot between them, and there is no record of that one."""

    @app.activity
    async def post(letter: str) -> None:
        raise NonRetryError("there is nobody")

    other: ActivityFuture[None] = await post.adelay(letter="a")
    ids = [other.id, *await failed(app, send, 1)]
    changes = {"to": "ada"}
    id = await started(browser, action="retry", filter="status:failed", changes=changes, rate=0.25)
    await app.queues.apause(queue="default")
    for _ in range(3):
        await app.operator.arun_now([id])
        await app.run_worker(burst=True)
    view = (await browser.get(f"/api/bulk/{id}")).json()
    assert (view["status"], view["done"], view["skipped"]) == ("completed", 1, 1)
    assert await statuses(app, ids[:1]) == {Status.FAILED}
    assert await statuses(app, ids[1:]) == {Status.PENDING}


async def test_with_a_low_rate_it_gives_up_its_slot(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    ids = await failed(app, send, 2)
    id = await started(browser, action="retry", filter="type:send", rate=0.25)
    await app.queues.apause(queue="default")
    await app.run_worker(burst=True)
    info = await app.client.ainfo(id)
    assert info.status in (Status.SCHEDULED, Status.RETRYING)
    assert 1.0 < (info.ready_at - info.created_at).total_seconds() < 10
    assert await statuses(app, ids) == {Status.PENDING, Status.FAILED}
    view = (await browser.get(f"/api/bulk/{id}")).json()
    assert (view["done"], view["total"]) == (1, 2)


async def test_cancelled_half_way_it_stops_between_chunks(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    ids = await failed(app, send, 3)
    id = await started(browser, action="retry", filter="type:send", rate=0.25)
    await app.queues.apause(queue="default")
    await app.run_worker(burst=True)
    answer = await browser.post(f"/api/bulk/{id}/cancel", json={"reason": "enough"})
    assert answer.status_code == 200
    await app.run_worker(burst=True)
    view = (await browser.get(f"/api/bulk/{id}")).json()
    assert (view["status"], view["done"]) == ("cancelled", 1)
    assert sorted(await statuses(app, ids)) == [Status.FAILED, Status.PENDING]
    again = await browser.post(f"/api/bulk/{id}/cancel", json={})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")


async def test_given_twice_it_is_one(app: TaskQ, browser: httpx.AsyncClient, send: Any) -> None:
    """Also when the first one has been carried out, and nothing matches any more."""
    await failed(app, send, 2)
    body = {"action": "retry", "filter": "type:send", "command_id": str(uuid4())}
    id = await started(browser, **body)
    await carried_out(app, id)
    again = await browser.post("/api/bulk", json=body)
    assert again.json() == {"id": str(id), "repeated": True}
    assert len((await browser.get("/api/bulk")).json()["items"]) == 1


async def test_edited_arguments_that_do_not_fit_leave_an_activity_as_it_is(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    @app.activity
    async def other(to: int) -> None:
        raise NonRetryError("no")

    [one] = await failed(app, send, 1)
    two = (await other.adelay(to=3)).id
    await app.run_worker(burst=True)
    id = await started(browser, action="retry", filter="status:failed", changes={"to": "ada"})
    assert await carried_out(app, id) == {"done": 1, "skipped": 1}
    assert '"to":"ada"' in (await app.client.ainfo(one)).payload
    assert (await app.client.ainfo(two)).status is Status.FAILED
    assert str(two) in (await browser.get(f"/api/bulk/{id}")).json()["problem"]


async def test_the_preview_counts_what_the_action_is_for(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    await failed(app, send, 2)
    await send.aschedule(3600, to="ada")
    path = "/api/bulk/preview"
    for action, count, states in (("retry", 2, {"failed": 2}), ("cancel", 1, {"scheduled": 1})):
        answer = await browser.get(path, params={"action": action, "q": "type:send"})
        assert answer.json() == {
            "count": count,
            "exact": True,
            "by_status": states,
            "cap": 100_000,
        }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"action": "retry", "filter": "type:send", "limit": 2}, 409, "too_many"),
        ({"action": "retry", "filter": "type:send", "expected": 2}, 409, "stale"),
        ({"action": "run_now", "filter": "type:send"}, 409, "nothing_matches"),
        ({"action": "run_now", "filter": "status:failed"}, 409, "nothing_matches"),
        ({"action": "retry", "filter": ""}, 400, "bad_request"),
        ({"action": "retry", "filter": "timeout"}, 400, "bad_filter"),
        ({"action": "retry", "filter": "-timeout"}, 400, "bad_filter"),
        ({"action": "retry", "filter": "args.password:a*"}, 400, "bad_filter"),
        ({"action": "retry", "filter": "colour:red"}, 400, "bad_filter"),
        ({"action": "retry"}, 400, "bad_request"),
        ({"action": "retry", "filter": "type:*", "ids": [str(uuid4())]}, 400, "bad_request"),
        ({"action": "retry", "ids": []}, 400, "bad_request"),
        ({"action": "retry", "ids": [str(uuid4())] * 1001}, 400, "bad_request"),
        ({"action": "retry", "filter": "type:*", "rate": 0}, 400, "bad_request"),
        ({"action": "retry", "filter": "type:*", "rate": 1e-300}, 400, "bad_request"),
        ({"action": "retry", "filter": "type:*", "tree": True}, 400, "bad_request"),
        ({"action": "reschedule", "filter": "type:*"}, 400, "bad_request"),
        ({"action": "priority", "filter": "type:*"}, 400, "bad_request"),
        ({"action": "burn", "filter": "type:*"}, 400, "bad_request"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_stored(
    app: TaskQ, browser: httpx.AsyncClient, send: Any, body: object, status: int, code: str
) -> None:
    await failed(app, send, 3)
    answer = await browser.post("/api/bulk", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await browser.get("/api/bulk")).json()["items"] == []
    assert await app.operator.aaudit() == []


async def test_an_operator_may_not_delete(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    """Nor send somebody else's delete round again."""
    await failed(app, send, 1)
    operator = {"authorization": f"Bearer {TOKENS['operator']}"}
    body = {"action": "delete", "filter": "type:send"}
    answer = await browser.post("/api/bulk", json=body, headers=operator)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    id = await started(browser, **body)
    await app.operator.acancel(id)
    path = f"/api/activities/{id}/retry"
    assert (await browser.post(path, json={}, headers=operator)).status_code == 403
    changed = await browser.post(path, json={"changes": {"action": "retry"}})
    assert changed.status_code == 400


async def test_bulk_commands_are_not_about_bulk_commands(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    await failed(app, send, 2)
    first = await started(browser, action="delete", filter="type:send")
    await app.operator.acancel(first)
    id = await started(browser, action="retry", filter="type:*")
    assert await carried_out(app, id) == {"done": 2, "skipped": 0}
    assert (await app.client.ainfo(first)).status is Status.CANCELLED
    answer = await browser.post("/api/bulk", json={"action": "retry", "ids": [str(first)]})
    assert answer.status_code == 400


async def test_an_activity_that_is_no_bulk_command_is_not_found_here(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    future = await send.adelay(to="ada")
    assert (await browser.get(f"/api/bulk/{future.id}")).status_code == 404
    answer = await browser.post(f"/api/bulk/{future.id}/cancel", json={})
    assert answer.status_code == 404
    assert (await future.ainfo()).status is Status.PENDING


async def test_pages_of_bulk_commands_come_newest_first(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    await send.aschedule(3600, to="ada")
    ids = [await started(browser, action="cancel", filter="type:send") for _ in range(3)]
    first = (await browser.get("/api/bulk", params={"limit": 2})).json()
    assert [each["id"] for each in first["items"]] == [str(ids[2]), str(ids[1])]
    rest = (await browser.get("/api/bulk", params={"cursor": first["next"]})).json()
    assert [each["id"] for each in rest["items"]] == [str(ids[0])]
    assert (await app.client.ainfo(ids[0])).queue == BULK


async def test_what_is_retried_at_a_rate_is_spread_over_its_time(
    app: TaskQ, browser: httpx.AsyncClient, send: Any
) -> None:
    """Three seconds' worth at a time, and the slot is free meanwhile."""
    ids = await failed(app, send, 6)
    id = await started(browser, action="retry", filter="type:send", rate=2)
    await app.queues.apause(queue="default")
    await app.run_worker(burst=True)
    infos = await app.client.call(app.client.store.get, [*ids, id])
    ready = [infos[each].ready_at for each in ids]
    gaps = [(after - before).total_seconds() for before, after in pairwise(ready)]
    assert gaps == pytest.approx([0.5] * 5, abs=0.01)
    assert infos[id].status in (Status.SCHEDULED, Status.RETRYING)
