"""Queues, types, workers, schedules, causes, the record, charts and suggestions."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from taskq import TaskQ
from tests.web.played import Stage


async def items(client: httpx.AsyncClient, path: str, **params: object) -> list[dict[str, Any]]:
    answer = await client.get(path, params={name: str(each) for name, each in params.items()})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_queues_tell_what_they_hold_and_who_serves_them(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    queues = {each["name"]: each for each in await items(viewer, "/api/queues")}
    assert set(queues) == {"default", "nobody", "reports"}
    assert queues["default"]["workers"] == 1
    assert queues["default"]["by_status"]["scheduled"] == 3
    assert queues["default"]["rates"]["outcomes"] == {"completed": 4}
    assert queues["reports"]["paused"]["by"] == "plain"
    assert queues["nobody"]["unserved"] == [{"queue": "nobody", "type": "send", "waiting": 1}]
    assert [queues[name]["declared"] for name in ("nobody", "reports")] == [False, True]


async def test_types_are_the_apps_tasks_and_what_is_stored(
    viewer: httpx.AsyncClient, stage: Stage
) -> None:
    types = {each["name"]: each for each in await items(viewer, "/api/types")}
    assert set(types) == {"send", "report"}
    assert types["report"]["paused"]["reason"] == "plain"
    assert types["report"]["task"]["queue"] == "reports"
    assert types["send"]["unserved"][0]["queue"] == "nobody"
    assert types["send"]["by_status"]["processing"] == 1
    parameters = types["send"]["task"]["parameters"]
    assert [(each["name"], each["annotation"], each["required"]) for each in parameters] == [
        ("to", "str", True),
        ("password", "str", False),
        ("n", "int", False),
        ("note", "str", False),
    ]


async def test_a_type_of_which_nothing_waits_is_served_all_the_same(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    @app.activity
    async def idle() -> None: ...

    @app.activity(queue="elsewhere")
    async def nowhere() -> None: ...

    async with app.worker(queues=["default"], concurrency=1):
        await (await idle.adelay())
        types = {each["name"]: each["workers"] for each in await items(browser, "/api/types")}
    assert types == {"idle": 1, "nowhere": 0}


async def test_workers_tell_how_they_are(viewer: httpx.AsyncClient, stage: Stage) -> None:
    [worker] = await items(viewer, "/api/workers")
    assert (worker["name"], worker["slots_used"], worker["concurrency"]) == ("plain", 1, 10)
    assert worker["lost"] is False
    [running] = worker["running"]
    assert running["id"] == str(stage.ids["parent"])
    assert (running["progress"]["done"], running["progress"]["note"]) == (1, "plain")


async def test_what_needs_attention_is_told(viewer: httpx.AsyncClient, stage: Stage) -> None:
    told = await items(viewer, "/api/attention")
    assert [(each["kind"], each["title"], each["count"]) for each in told] == [
        ("unserved", "send", 1),
        ("cause", "ValueError: boom plain", 1),
    ]


async def test_schedules_tell_their_next_times(viewer: httpx.AsyncClient, stage: Stage) -> None:
    nightly, often = await items(viewer, "/api/schedules")
    assert nightly["cron"] == "0 3 * * *"
    assert "03:00" in nightly["when"]
    assert len(nightly["upcoming"]) == 5
    assert nightly["upcoming"][0] == nightly["next_at"]
    assert all(at.endswith("T03:00:00Z") for at in nightly["upcoming"])
    assert (often["every"], often["when"]) == (300.0, "every 5m")
    one = await viewer.get("/api/schedules/nightly")
    assert one.json() == nightly
    assert (await viewer.get("/api/schedules/none")).status_code == 404


async def test_causes_are_counted(viewer: httpx.AsyncClient, stage: Stage) -> None:
    [cause] = await items(viewer, "/api/dead-letters")
    assert (cause["count"], cause["dead"], cause["capped"]) == (2, 1, False)
    found = await items(viewer, "/api/activities", q=f"cause:{cause['fingerprint']}")
    assert {each["status"] for each in found} == {"failed", "dead_letter"}
    assert await items(viewer, "/api/dead-letters", q="error:other") == []


async def test_causes_are_not_searched_by_arguments(viewer: httpx.AsyncClient) -> None:
    answer = await viewer.get("/api/dead-letters", params={"q": "args.password:h*"})
    assert answer.status_code == 400


async def test_the_record_is_read_page_by_page(viewer: httpx.AsyncClient, stage: Stage) -> None:
    every = await items(viewer, "/api/audit")
    assert [each["action"] for each in every[:2]] == ["retry", "queue.pause"]
    assert every[0]["actor"] == every[0]["reason"] == "plain"
    first = (await viewer.get("/api/audit", params={"limit": 1})).json()
    rest = await items(viewer, "/api/audit", before=first["next"])
    assert [*first["items"], *rest] == every


@pytest.mark.parametrize("window", ["5m", "1h", "24h"])
async def test_series_come_from_the_rollup(
    viewer: httpx.AsyncClient, stage: Stage, window: str
) -> None:
    answer = await viewer.get("/api/series", params={"window": window, "by": "type"})
    [line] = answer.json()["lines"]
    assert (line["name"], line["total"]) == ("send", {"completed": 4})
    assert len(line["outcomes"]["completed"]) == len(answer.json()["at"]) == len(line["run"]["p50"])
    assert 0 < line["run_total"]["p95"] <= 0.005


async def test_series_of_another_type_are_empty(viewer: httpx.AsyncClient, stage: Stage) -> None:
    answer = await viewer.get("/api/series", params={"type": "repo*", "by": "queue"})
    assert answer.json()["lines"] == []
    assert (await viewer.get("/api/series", params={"window": "10000d"})).status_code == 400


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("sta", "status:"),
        ("status:fa", "failed"),
        ("priority>=h", "high"),
        ("type:rep", "report"),
        ("queue:nob", "nobody"),
        ("tag.re", "tag.region:"),
        ("tag.region:pl", "plain"),
        ("user:", "plain"),
        ("source:c", "cron"),
        ("args", "args."),
    ],
)
async def test_suggestions_know_fields_and_values(
    viewer: httpx.AsyncClient, stage: Stage, q: str, first: str
) -> None:
    params = {"q": f"x {q}", "at": str(len(q) + 2)}
    answer = (await viewer.get("/api/suggestions", params=params)).json()
    assert answer["items"][0]["text"] == first
    assert answer["end"] == len(q) + 2


async def test_every_field_of_the_language_is_explained(viewer: httpx.AsyncClient) -> None:
    every = await items(viewer, "/api/suggestions", q="")
    assert all(each["detail"] for each in every)
