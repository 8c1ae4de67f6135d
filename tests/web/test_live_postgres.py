"""The live stream on PostgreSQL: what other processes do, heard on one connection."""

from __future__ import annotations

import anyio
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions, Role
from taskq.web.application import application
from tests.postgres_databases import Databases
from tests.web.listening import hurried, listening, until

LISTENING = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND (query ILIKE 'listen%' OR query ILIKE '%pg_listening_channels%')"
    " AND pid <> pg_backend_pid()"
)


@pytest.fixture
def anyio_backend() -> str:
    """The store has a loop of its own: what serves the clients makes no difference to it."""
    return "trio"


async def test_all_who_listen_share_one_connection_that_listens(
    postgres_url: str, databases: Databases
) -> None:
    """seed:O4, threat:T8"""

    def connections() -> int:
        return len(databases.run(postgres_url, LISTENING))

    async with TaskQ(postgres_url) as elsewhere, TaskQ(postgres_url) as app:

        @elsewhere.activity
        async def greet() -> None: ...

        console = Console(app, ConsoleOptions(allow_anonymous=Role.ADMIN))
        hub = hurried(console)
        asgi = application(console)
        async with anyio.create_task_group() as group:
            listeners = [await listening(group, asgi) for _ in range(20)]
            assert connections() == 1
            future = await greet.adelay()
            for each in listeners:
                await each.until(lambda each=each: each.whats)
            await elsewhere.client.acancel(future.id)
            for each in listeners:
                await each.until(lambda each=each: len(each.whats) == 2)
                each.leave()
        await until(lambda: not hub.running)
        await hub.aclose()
    assert listeners[0].whats == [(str(future.id), what) for what in ("enqueued", "cancelled")]
