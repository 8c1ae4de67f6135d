"""The numbers of the console. seed:O2"""

from __future__ import annotations

import httpx

from taskq import TaskQ


async def test_stats_count_what_is_stored(app: TaskQ, browser: httpx.AsyncClient) -> None:
    @app.activity
    async def send(to: str) -> None: ...

    await send.adelay(to="ada@example.com")
    answer = await browser.get("/api/stats")
    assert answer.status_code == 200
    assert answer.json()["by_status"]["pending"] == 1
    assert answer.json()["by_queue"] == {"default": 1}


async def test_what_is_not_there_is_json_with_a_code(browser: httpx.AsyncClient) -> None:
    answer = await browser.get("/api/nothing")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"
    assert answer.headers["content-type"] == "application/problem+json"
