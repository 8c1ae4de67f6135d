"""Viewers from whom payloads are hidden: no route tells them."""

from __future__ import annotations

import httpx
import pytest

from tests.web.stage import Stage

SETTINGS = {"web_viewer_payloads": False}


async def test_they_see_no_payload(viewer: httpx.AsyncClient, stage: Stage) -> None:
    found = (await viewer.get(f"/api/activities/{stage.ids['completed']}")).json()
    assert found["hidden"] is True
    assert [found[name] for name in ("arguments", "result", "metadata")] == [None] * 3
    for name in ("dead", "failed", "retrying", "parent", "again"):
        for path in ("", "/timeline"):
            answer = await viewer.get(f"/api/activities/{stage.ids[name]}{path}")
            assert "boom" not in answer.text
            assert "ada@" not in answer.text
    dead = (await viewer.get(f"/api/activities/{stage.ids['dead']}")).json()
    assert dead["error"]["type"] == "ValueError"
    causes = (await viewer.get("/api/dead-letters")).json()["items"]
    assert [cause["title"] for cause in causes] == [None]


async def test_they_get_no_result(viewer: httpx.AsyncClient, stage: Stage) -> None:
    for prefix in ("/api/activities", "/api/observability/activities"):
        answer = await viewer.get(f"{prefix}/{stage.ids['completed']}/result")
        assert answer.status_code == 403


@pytest.mark.parametrize("q", ["args.to:a*", "boom", "error:boom", "-error:boom"])
async def test_they_cannot_search_for_it(viewer: httpx.AsyncClient, q: str) -> None:
    for path in ("/api/activities", "/api/activities/count", "/api/dead-letters"):
        answer = await viewer.get(path, params={"q": q})
        assert answer.status_code == 403


async def test_the_seeds_routes_hide_it_too(viewer: httpx.AsyncClient, stage: Stage) -> None:
    answer = await viewer.get("/api/observability/roots")
    assert answer.status_code == 200
    assert "ada@" not in answer.text
    assert "boom" not in answer.text
