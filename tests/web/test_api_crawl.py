"""All GET routes, one after the other: they change nothing, and what they tell is data only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.permissions import PERMISSIONS
from tests.web.asking import TOKENS
from tests.web.ground import Ground
from tests.web.played import Stage, played

CANARY = (
    '"><img src=x onerror=alert(1)></script><svg/onload=x> javascript:alert(1) {{7*7}} ${7*7}'
    " \N{RIGHT-TO-LEFT OVERRIDE}\N{ZERO WIDTH SPACE}\x1b[31m\x07 %s ' -- \\ &lt;"
)

ASKED = {
    "/api/bulk/preview": "?action=retry&q=type:*",
    "/api/schedule-preview": "?cron=0+3+*+*+*",
}
"""What a route must be asked with."""


def addresses(stage: Stage) -> Iterator[str]:
    """Every GET route of the API, with what its path may stand for, and some queries."""
    for method, path in PERMISSIONS:
        if method != "GET" or not path.startswith("/api/") or path.endswith("/stream"):
            continue
        if "{id}" in path:
            yield from (path.replace("{id}", str(id)) for id in stage.ids.values())
        elif "{key}" in path:
            yield from (path.replace("{key}", str(id)) for id in stage.ids.values())
        else:
            yield path.replace("{name}", "nightly") + ASKED.get(path, "")
    yield from (f"/api/observability/activities/{key}" for key in ("cron", "pending", "completed"))
    yield from (f"/api/series?window={window}&by=type" for window in ("5m", "1h", "24h"))
    yield from (f"/api/suggestions?q={q}" for q in ("tag.", "user:", "source:", "tag.region:"))
    yield "/api/activities?q=status:dead_letter&order=oldest"


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value, keys too."""
    match value:
        case str():
            yield value
        case dict():
            for key, each in value.items():
                yield from (str(key), *texts(each))
        case list():
            for each in value:
                yield from texts(each)
        case _:
            pass


def dumped(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    """threat:T4: not one byte of the database, whatever is looked at, by GET or HEAD."""
    path = tmp_path / "taskq.db"
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ(f"sqlite:///{path}", web_tokens=accounts) as app:
        stage = await played(app)
        before = dumped(path)
        headers = {"authorization": f"Bearer {TOKENS['admin']}"}
        console = Console(app, ConsoleOptions())
        transport = httpx.ASGITransport(build(console))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as client:
            for address in addresses(stage):
                assert (await client.get(address)).status_code in (200, 404), address
            for address in ("/api/stats", "/api/activities", "/api/audit"):
                await client.head(address)
        await console.aclose()
        assert dumped(path) == before


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_whatever_is_stored_comes_out_as_json(ground: Ground, role: str) -> None:
    """threat:T5, threat:T6, threat:T15: no other content type, nothing to be sniffed, no control
    character; and what is told is told exactly."""
    told = 0
    async with ground.client(role) as client:
        for address in addresses(ground.stage):
            answer = await client.get(address)
            kind = answer.headers["content-type"]
            assert kind in ("application/json", "application/problem+json"), address
            assert answer.headers["x-content-type-options"] == "nosniff", address
            assert not any(byte < 0x20 and byte != 0x0A for byte in answer.content), address
            msgspec.json.decode(answer.content)
            told += any(CANARY in text for text in texts(answer.json()))
    assert told > 20


@pytest.mark.parametrize(
    "path",
    [
        f"/api/schedules/{'x' * 50}<img src=x>",
        "/api/activities?q=<script>alert(1)</script>:x",
        "/api/activities?status=<b>",
        "/api/observability/activities/<svg onload=x>",
        "/api/<script>",
    ],
)
async def test_what_is_asked_for_comes_back_as_json(ground: Ground, path: str) -> None:
    """threat:T6"""
    async with ground.client("viewer") as client:
        answer = await client.get(path)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["status"] == answer.status_code
