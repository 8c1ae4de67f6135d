"""The console in other applications: the examples, each served on a socket. seed:O6, seed:O9"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import httpx
import pytest

from taskq import TaskQ
from tests.web.socket_server import served, sign_in

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {"console_litestar": "litestar", "console_fastapi": "fastapi", "console_django": "django"}


@pytest.fixture(params=NEEDS)
def example(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An example's module, on a database of its own."""
    name = str(request.param)
    pytest.importorskip(NEEDS[name])
    monkeypatch.setenv("TASKQ_DATABASE_URL", f"sqlite:///{tmp_path}/example.db")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(importlib.import_module("sys").modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_console_is_there_below_the_hosts_own_routes(example: Any) -> None:
    """Somebody logs in by a token, sees what the host's route has stored, follows the stream."""
    taskq: TaskQ = example.taskq
    with served(example.app) as client:
        stored = client.post("/greetings/Ada")
        assert stored.status_code in (200, 201)

        assert client.get("/taskq/api/stats").status_code == 401
        assert sign_in(client, "/taskq/", {"token": example.TOKEN}).status_code == 200
        stats = client.get("/taskq/api/stats")
        assert stats.status_code == 200
        assert sum(stats.json()["by_status"].values()) == 1

        with client.stream("GET", "/taskq/api/stream") as stream:
            assert stream.status_code == 200
            assert any(line == "event: hello" for line in stream.iter_lines())

        location = client.get("/taskq").headers["location"]
        assert client.base_url.join(location).path == "/taskq/"
        assert client.get("/taskq/").headers["content-type"].startswith("text/html")
        assert client.get("/taskqs/api/stats").status_code == 404
        assert not is_of_the_console(client.get("/nothing"))
    taskq.close()


def is_of_the_console(answer: httpx.Response) -> bool:
    return "frame-ancestors 'none'" in answer.headers.get("content-security-policy", "")
