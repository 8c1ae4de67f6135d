"""The routes of RunnerQ's console, with their parameters and shapes. seed:O2, seed:O3"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.web.stage import Stage

PREFIX = "/api/observability"


async def seen(client: httpx.AsyncClient, path: str, **params: object) -> Any:
    given = {name: str(each) for name, each in params.items()}
    answer = await client.get(f"{PREFIX}{path}", params=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_stats_count_by_state_priority_and_root(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    stats = await seen(viewer, "/stats")
    assert stats == {
        "pending_activities": 2,
        "processing_activities": 1,
        "critical_priority": 0,
        "high_priority": 1,
        "normal_priority": 1,
        "low_priority": 0,
        "scheduled_activities": 3,
        "retrying_activities": 1,
        "failed_activities": 1,
        "dead_letter_activities": 1,
        "max_workers": 10,
        "active_workers": 1,
        "roots": {
            "pending": 2,
            "processing": 1,
            "scheduled": 1,
            "retrying": 1,
            "completed": 1,
            "failed": 1,
            "dead_letter": 1,
        },
    }


async def test_a_snapshot_has_the_fields_of_the_seeds(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    found = await seen(viewer, f"/activities/{stage.ids['dead']}")
    assert set(found) == {
        "id",
        "activity_type",
        "payload",
        "priority",
        "status",
        "created_at",
        "started_at",
        "last_worker_id",
        "retry_count",
        "max_retries",
        "timeout_seconds",
        "retry_delay_seconds",
        "metadata",
        "last_error",
        "last_error_at",
        "status_updated_at",
        "depth",
        "root_activity_id",
    }
    assert found["payload"]["password"] == "[redacted]"
    assert found["last_error"] == "ValueError: boom plain"
    assert found["priority"] == 2


async def test_roots_have_no_children_unless_flattened(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    roots = await seen(viewer, "/roots")
    assert len(roots) == len(stage.ids) - 2
    for flatten in ("1", "true"):
        assert len(await seen(viewer, "/roots", flatten=flatten)) == len(stage.ids)
    assert [each["id"] for each in roots] == sorted((each["id"] for each in roots), reverse=True)


async def test_roots_are_filtered_by_state(viewer: httpx.AsyncClient, stage: Stage) -> None:
    [failed] = await seen(viewer, "/roots", status="failed")
    assert failed["id"] == str(stage.ids["failed"])
    answer = await viewer.get(f"{PREFIX}/roots", params={"status": "running"})
    assert answer.status_code == 400


async def test_what_schedules_made_has_a_list(viewer: httpx.AsyncClient, stage: Stage) -> None:
    for path in ("/cron", "/activities/cron"):
        [made] = await seen(viewer, path)
        assert made["id"] == str(stage.ids["scheduled"])
        assert "scheduled_at" in made


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("pending", ["pending", "again"]),
        ("processing", ["parent"]),
        ("scheduled", ["scheduled", "other child", "child"]),
        ("completed", ["completed"]),
        ("dead_letter", ["dead"]),
    ],
)
async def test_lists_by_state_are_newest_first(
    viewer: httpx.AsyncClient, stage: Stage, key: str, names: list[str]
) -> None:
    found = [each["id"] for each in await seen(viewer, f"/activities/{key}")]
    assert found == [str(stage.ids[name]) for name in names]
    assert (
        await seen(viewer, f"/activities/{key}", offset=1, limit=1)
        == (await seen(viewer, f"/activities/{key}"))[1:2]
    )


@pytest.mark.parametrize("key", ["retrying", "0", "%00", "a'b"])
async def test_what_is_neither_an_id_nor_a_list_is_refused(
    viewer: httpx.AsyncClient, key: str
) -> None:
    for path in ("", "/events", "/subtree", "/children", "/result"):
        answer = await viewer.get(f"{PREFIX}/activities/{key}{path}")
        assert answer.status_code == 400


async def test_an_unknown_id_is_not_found(viewer: httpx.AsyncClient) -> None:
    for path in ("", "/events", "/subtree", "/children", "/result"):
        answer = await viewer.get(f"{PREFIX}/activities/{uuid4()}{path}")
        assert answer.status_code == 404


async def test_events_have_the_names_of_the_seeds(viewer: httpx.AsyncClient, stage: Stage) -> None:
    names = {
        name: [
            each["event_type"]
            for each in await seen(viewer, f"/activities/{stage.ids[name]}/events")
        ]
        for name in ("completed", "dead", "failed", "retrying", "again", "scheduled")
    }
    assert names == {
        "completed": ["Enqueued", "Dequeued", "Completed"],
        "dead": ["Enqueued", "Dequeued", "DeadLetter"],
        "failed": ["Enqueued", "Dequeued", "Failed"],
        "retrying": ["Enqueued", "Dequeued", "Retrying"],
        "again": ["Enqueued", "Dequeued", "Requeued"],
        "scheduled": ["Enqueued", "Scheduled"],
    }


async def test_a_subtree_is_by_depth_then_age_whoever_is_asked_for(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    ids = [str(stage.ids[name]) for name in ("parent", "child", "other child")]
    for member in ids:
        found = await seen(viewer, f"/activities/{member}/subtree")
        assert [each["id"] for each in found] == ids
    children = await seen(viewer, f"/activities/{ids[0]}/children")
    assert [each["id"] for each in children] == ids[1:]
    assert await seen(viewer, f"/activities/{ids[0]}/children", offset=1) == children[1:]


async def test_dead_letters_tell_of_what_and_when(viewer: httpx.AsyncClient, stage: Stage) -> None:
    [record] = await seen(viewer, "/dead-letter")
    assert record["activity"]["id"] == str(stage.ids["dead"])
    assert record["error"] == "ValueError: boom plain"
    assert record["failed_at"] == record["activity"]["last_error_at"]


async def test_offsets_end_and_tell_of_the_cursor(viewer: httpx.AsyncClient, stage: Stage) -> None:
    """threat:T7"""
    for path in ("/roots", "/cron", "/activities/pending", "/dead-letter"):
        assert await seen(viewer, path, offset=1000) == []
        answer = await viewer.get(f"{PREFIX}{path}", params={"offset": "1001"})
        assert answer.status_code == 400
        assert "cursor of /api/activities" in answer.json()["detail"]
        for wrong in ({"limit": "1001"}, {"limit": "-1"}, {"offset": "NaN"}):
            assert (await viewer.get(f"{PREFIX}{path}", params=wrong)).status_code == 400
