"""A console that can only look, on a role of PostgreSQL that may only look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions, MountedConsole
from taskq.web.serving import WebServer, listening
from tests.postgres_databases import Databases
from tests.web.conftest import TOKENS
from tests.web.socket_server import running

ADMIN = {"authorization": f"Bearer {TOKENS['admin']}"}


@pytest.fixture
def onlooker(databases: Databases) -> Iterator[TaskQ]:
    """An app whose role has no right but SELECT. One activity is stored."""
    url = databases.fresh()
    databases.run(
        url,
        "CREATE ROLE onlooker LOGIN",
        "GRANT USAGE ON SCHEMA public TO onlooker",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker",
    )
    writer = TaskQ(url)
    greet = writer.activity(name="greet")(lambda name: name)
    greet.delay(name="Ada")
    writer.close()
    taskq = TaskQ(
        url.replace("postgres@", "onlooker@"), web_tokens={"admin": f"admin:{TOKENS['admin']}"}
    )
    yield taskq
    taskq.close()
    databases.run(url, "DROP OWNED BY onlooker", "DROP ROLE onlooker")


def test_a_read_only_console_works_for_a_role_that_can_only_select(onlooker: TaskQ) -> None:
    """promise:G17, threat:T21"""
    console = Console(onlooker, ConsoleOptions(read_only=True))
    server = WebServer(MountedConsole(console), listening("127.0.0.1", 0))
    with running(server) as client:
        client.headers.update(ADMIN)
        assert client.get("api/stats").json()["by_status"]["pending"] == 1
        with client.stream("GET", "api/stream") as stream:
            assert any(line == "event: hello" for line in stream.iter_lines())
        refused = client.post("api/enqueue", json={})
        assert (refused.status_code, refused.json()["code"]) == (403, "read_only")
    assert server
