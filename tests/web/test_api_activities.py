"""Lists of activities, one activity, its family: what the API tells of them. seed:O3"""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from taskq import TaskQ
from tests.web.played import BIG, Stage, played


async def test_a_list_is_newest_first_and_has_no_payloads(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    answer = await admin.get("/api/activities")
    ids = [item["id"] for item in answer.json()["items"]]
    assert ids == [str(id) for id in reversed(stage.ids.values())]
    assert "hunter2" not in answer.text
    assert str(BIG) not in answer.text


async def test_pages_follow_each_other_without_gap_or_repetition(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    ids: list[str] = []
    cursor = ""
    while cursor is not None:
        answer = await admin.get("/api/activities", params={"limit": 2, "cursor": cursor})
        ids += [item["id"] for item in answer.json()["items"]]
        cursor = answer.json()["next"]
    assert ids == [str(id) for id in reversed(stage.ids.values())]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"q": "status:failed"}, {"failed"}),
        ({"status": "failed,dead_letter"}, {"failed", "dead"}),
        ({"queue": "nobody"}, {"pending"}),
        ({"type": "sen*", "status": "completed"}, {"completed"}),
        ({"q": "status:failed,dead_letter error:boom", "type": "send"}, {"failed", "dead"}),
        ({"status": "processing", "order": "started"}, {"parent"}),
        ({"q": "tag.region:plain"}, {"completed"}),
    ],
)
async def test_a_list_has_what_matches(
    admin: httpx.AsyncClient, stage: Stage, params: dict[str, str], names: set[str]
) -> None:
    answer = await admin.get("/api/activities", params=params)
    found = {item["id"] for item in answer.json()["items"]}
    assert found == {str(stage.ids[name]) for name in names}
    counted = {name: value for name, value in params.items() if name != "order"}
    count = await admin.get("/api/activities/count", params=counted)
    assert count.json() == {"count": len(names), "exact": True}


async def test_only_roots_and_only_children_can_be_asked_for(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    roots = await admin.get("/api/activities", params={"roots": "true"})
    assert str(stage.ids["child"]) not in roots.text
    parent = str(stage.ids["parent"])
    below = await admin.get("/api/activities", params={"parent": parent})
    assert len(below.json()["items"]) == 2


@pytest.mark.parametrize(
    ("params", "code", "says"),
    [
        ({"q": "nothing:x"}, "bad_filter", "there are: status"),
        ({"q": 'status:"'}, "bad_filter", "no end"),
        ({"status": "done"}, "bad_request", "status: 'done'"),
        ({"queue": "a b"}, "bad_request", "queue: 'a b'"),
        ({"limit": "0"}, "bad_request", "limit: "),
        ({"limit": "201"}, "bad_request", "limit: "),
        ({"limit": "NaN"}, "bad_request", "limit: "),
        ({"limit": "1000000000"}, "bad_request", "limit: "),
        ({"order": "random"}, "bad_request", "order: "),
        ({"order": "due"}, "bad_request", "status:"),
        ({"cursor": "'; drop table"}, "bad_request", "cursor"),
        ({"parent": "7"}, "bad_request", "parent: "),
        ({"page": "1"}, "bad_request", "page"),
    ],
)
async def test_a_wrong_parameter_is_named(
    admin: httpx.AsyncClient, params: dict[str, str], code: str, says: str
) -> None:
    """threat:T6, threat:T7"""
    answer = await admin.get("/api/activities", params=params)
    assert answer.status_code == 400
    assert answer.json()["code"] == code
    assert says in answer.json()["detail"]


async def test_a_filter_that_is_wrong_says_where(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/api/activities", params={"q": "type:a nothing:x"})
    assert answer.json()["column"] == 7


async def test_one_activity_has_everything_exactly_but_its_secrets(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    found = (await admin.get(f"/api/activities/{stage.ids['completed']}")).json()
    payload = f'{{"n":{BIG},"note":"plain","password":"[redacted]","to":"ada@example.com"}}'
    assert found["arguments"] == payload
    assert found["result"] == f'{{"said": "plain", "token": "[redacted]","n":{BIG}}}'
    assert found["metadata"] == '{"note":"plain","api_key":"[redacted]"}'
    assert found["status"] == "completed"
    assert found["known"] is True
    assert found["attempts"] == found["max_attempts"] == 1
    assert len(found["version"]) == 12


async def test_a_parent_tells_which_children_it_waits_for(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    found = (await admin.get(f"/api/activities/{stage.ids['parent']}")).json()
    assert {child["id"] for child in found["blocked_on"]} == {
        str(stage.ids["child"]),
        str(stage.ids["other child"]),
    }
    assert found["children"] == 2
    assert found["worker_name"] == "plain"
    assert found["progress"]["note"] == "plain"


async def test_the_version_changes_with_the_state(app: TaskQ, browser: httpx.AsyncClient) -> None:
    """threat:T22"""
    ids = (await played(app)).ids
    address = f"/api/activities/{ids['pending']}"
    before = (await browser.get(address)).json()["version"]
    assert (await browser.get(address)).json()["version"] == before
    await app.operator.acancel([ids["pending"]])
    assert (await browser.get(address)).json()["version"] != before


@pytest.mark.parametrize("path", ["", "/timeline", "/tree", "/children", "/result"])
async def test_an_unknown_id_is_not_found(admin: httpx.AsyncClient, path: str) -> None:
    answer = await admin.get(f"/api/activities/{uuid4()}{path}")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


async def test_a_timeline_tells_what_happened_in_order(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    found = (await admin.get(f"/api/activities/{stage.ids['again']}/timeline")).json()
    assert [entry["kind"] for entry in found["items"]] == ["enqueued", "started", "retried"]
    assert found["items"][-1]["detail"]["actor"] == "plain"
    assert found["cut"] is False


async def test_a_tree_has_levels(admin: httpx.AsyncClient, stage: Stage) -> None:
    found = (await admin.get(f"/api/activities/{stage.ids['child']}/tree")).json()
    assert found["root_id"] == str(stage.ids["parent"])
    assert [node["level"] for node in found["nodes"]] == [0, 1, 1]


async def test_children_are_oldest_first_page_by_page(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    address = f"/api/activities/{stage.ids['parent']}/children"
    first = (await admin.get(address, params={"limit": 1})).json()
    assert [item["id"] for item in first["items"]] == [str(stage.ids["child"])]
    second = (await admin.get(address, params={"limit": 1, "cursor": first["next"]})).json()
    assert [item["id"] for item in second["items"]] == [str(stage.ids["other child"])]


async def test_a_result_is_json_as_it_is_stored(admin: httpx.AsyncClient, stage: Stage) -> None:
    answer = await admin.get(f"/api/activities/{stage.ids['completed']}/result")
    assert answer.headers["content-type"] == "application/json"
    assert answer.text == f'{{"said": "plain", "token": "[redacted]","n":{BIG}}}'
    none = await admin.get(f"/api/activities/{stage.ids['pending']}/result")
    assert none.text == "null"


async def test_a_search_does_not_tell_what_is_redacted(
    admin: httpx.AsyncClient, stage: Stage
) -> None:
    """threat:T14: a secret cannot be guessed letter by letter."""
    for q in ("hunter", "args.password:hunter2", "args.password:h*"):
        params = {"q": q}
        listed = (await admin.get("/api/activities", params={**params, "limit": "1"})).json()
        assert listed == {"items": [], "next": None, "searched_to": None}, q
        count = (await admin.get("/api/activities/count", params=params)).json()
        assert count["count"] == 0, q
    for q in ("-hunter", "-args.password:hunter2"):
        left = (await admin.get("/api/activities", params={"q": q})).json()
        assert len(left["items"]) == len(stage.ids), q
    seen = (await admin.get("/api/activities", params={"q": "args.to:ada*"})).json()
    assert len(seen["items"]) == len(stage.ids)
