"""Faults of a database that pass: a worker goes on trying, and by itself it goes on working."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any
from uuid import uuid4

import anyio
import asyncpg
import pytest

from taskq import Status, TaskQ, current, events
from taskq.backends.sql import PostgresBackend
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError, EnqueueTimeout, SchemaError
from tests.postgres_databases import Databases
from tests.postgres_server import NoServer, private_server

PATIENCE = 1.5
"""Seconds after which an enqueue gives up."""

FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$
"""
TRIGGER = (
    "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON taskq_activities"
    " EXECUTE FUNCTION full_disk()"
)

FAULTS: dict[str, tuple[str, str]] = {
    "read only": (
        "ALTER DATABASE {database} SET default_transaction_read_only = on",
        "ALTER DATABASE {database} RESET default_transaction_read_only",
    ),
    "too many connections": (
        "ALTER ROLE {role} CONNECTION LIMIT 0",
        "ALTER ROLE {role} CONNECTION LIMIT -1",
    ),
    "no login": ("ALTER ROLE {role} NOLOGIN", "ALTER ROLE {role} LOGIN"),
    "no rights": (
        "REVOKE UPDATE, INSERT ON taskq_activities FROM {role}",
        "GRANT UPDATE, INSERT ON taskq_activities TO {role}",
    ),
    "full disk": (TRIGGER, "DROP TRIGGER full_disk ON taskq_activities"),
    "tables gone": (
        "ALTER TABLE taskq_activities RENAME TO elsewhere",
        "ALTER TABLE elsewhere RENAME TO taskq_activities",
    ),
}
"""What breaks, and what mends it."""

MESSAGES = {
    "read only": "cannot be written now",
    "too many connections": "takes no more connections",
    "no login": "refuses this user or password",
    "no rights": "grant this user the rights",
    "full disk": "the disk of .* is full",
    "tables gone": "run `taskq migrate`",
}


class Place:
    """A database of one's own and a role that may use it and no more."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._admin = databases.fresh()
        self._database = self._admin.rpartition("/")[2]
        self._role = f"few_{uuid4().hex[:8]}"
        self.run(
            f"CREATE ROLE {self._role} LOGIN PASSWORD 'hunter2'",
            f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {self._role}",
            FULL,
        )

    @property
    def url(self) -> str:
        """Where the role finds it."""
        return f"postgresql://{self._role}:hunter2@{self._admin.rpartition('@')[2]}"

    def run(self, *statements: str) -> Any:
        """Run statements as the owner of everything."""
        return self._databases.run(self._admin, *statements)

    def change(self, statement: str) -> None:
        """Run one that names the role or the database, and end the role's sessions."""
        self.run("SET default_transaction_read_only = off")
        self.run(statement.format(database=self._database, role=self._role))
        self.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self._role}'"
        )

    def close(self) -> None:
        """Let nothing of the role be left."""
        self.run(f"DROP OWNED BY {self._role}", f"DROP ROLE {self._role}")


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    """One."""
    place = Place(databases)
    yield place
    place.close()


class Errors:
    """What loops of a worker have met."""

    def __init__(self) -> None:
        self.seen: list[events.BackgroundError] = []

    def on_event(self, event: events.Event) -> None:
        """Keep errors."""
        if isinstance(event, events.BackgroundError):
            self.seen.append(event)


async def until(condition: Callable[[], object]) -> None:
    """Poll; the test fails after some seconds."""
    with anyio.fail_after(15):
        while not condition():
            await anyio.sleep(0.02)


@pytest.mark.parametrize(
    ("fault", "anyio_backend"), [*zip(FAULTS, cycle(["asyncio", "trio"]), strict=False)]
)
async def test_a_worker_goes_on_when_it_is_mended(place: Place, fault: str) -> None:
    """fault:DB5, fault:DB10, fault:DB14, bug:B67: what ran meanwhile keeps its outcome, nothing is
    run again; ``delay`` says why, without the password, and not before it has tried for long."""
    errors, begun, opened = Errors(), anyio.Event(), anyio.Event()

    async def gate() -> int:
        begun.set()
        await opened.wait()
        return current().attempt

    taskq = TaskQ(
        place.url,
        listeners=[errors],
        enqueue_timeout=PATIENCE,
        lock_timeout=PATIENCE / 2,
        poll_interval=0.1,
        poll_max=0.2,
    )
    task = taskq.activity(name="gate")(gate)
    async with taskq, taskq.worker():
        future = await task.adelay()
        await begun.wait()
        place.change(FAULTS[fault][0])
        try:
            opened.set()
            await until(lambda: any(error.loop == "ledger" for error in errors.seen))
            began = time.monotonic()
            with pytest.raises(BackendError, match=MESSAGES[fault]) as caught:
                await task.adelay()
            if not isinstance(caught.value, SchemaError):
                assert isinstance(caught.value, EnqueueTimeout)
                assert PATIENCE / 2 < time.monotonic() - began < 5
        finally:
            place.change(FAULTS[fault][1])
        with anyio.fail_after(20):
            assert await future == 1
        info = await future.ainfo()
        assert (info.status, info.claim, info.crash_count) == (Status.COMPLETED, 1, 0)
        with anyio.fail_after(20):
            assert await (await task.adelay()) == 1

    texts = [str(error.error) for error in errors.seen] + [str(caught.value)]
    assert not [text for text in texts if "hunter2" in text]
    assert {type(error.error) for error in errors.seen} <= {*BackendError.__subclasses__()}


def test_a_wrong_password_is_told_without_it(bridge: ResidentBridge) -> None:
    """Against a server that asks for one, by SCRAM."""
    try:
        with private_server() as server:
            url = server.url.replace("postgres@", "postgres:{}@")
            rules = server.folder / "data" / "pg_hba.conf"
            rules.write_text("host all all 127.0.0.1/32 scram-sha-256\n")
            bridge.call_sync(protect, server.url)

            with pytest.raises(BackendError, match="refuses this user or password") as caught:
                bridge.call_sync(PostgresBackend(url.format("hunter3")).open)
            with pytest.raises(SchemaError, match="run `taskq migrate`"):
                bridge.call_sync(PostgresBackend(url.format("hunter2")).open)
    except NoServer as reason:
        pytest.skip(str(reason))

    assert type(caught.value) is BackendError
    assert "hunter3" not in str(caught.value)


async def protect(url: str) -> None:
    """Give the user a password, and let the server read its rules anew."""
    connection = await asyncpg.connect(url)
    await connection.execute("ALTER ROLE postgres PASSWORD 'hunter2'")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


NONSENSE = {
    "no JSON": {"payload": "no JSON"},
    "a list": {"payload": "[1]"},
    "other names": {"payload": '{"nobody": 1}'},
    "a wrong type": {"payload": '{"number": "one"}'},
    "too deep": {"payload": '{"number": ' + 5000 * "[" + 5000 * "]" + "}"},
}
PARKED = {
    "metadata": {"metadata": "[1, 2"},
    "tags": {"tags": '{"a": 1}'},
    "policy": {"policy": '{"retry": {"initial_delay": -1}}'},
    "error": {"error": "oops", "error_kind": "odd"},
}
REFUSED = {
    "priority": "77",
    "ready_at": "'infinity'",
    "created_at": "'20000-01-01T00:00:00Z'",
    "started_at": "'-infinity'",
    "status": "'done'",
    "max_crashes": "0",
    "timeout_ms": "0",
    "claim": "-1",
    "queue": "''",
}


@pytest.mark.parametrize("column", list(REFUSED))
def test_what_would_break_a_batch_is_refused_when_it_is_written(
    databases: Databases, postgres_url: str, column: str
) -> None:
    """fault:H7, fault:DB26: a date in the year 20000 cannot even be read here."""
    with pytest.raises(asyncpg.CheckViolationError):
        databases.run(postgres_url, inserted(column, REFUSED[column]))


async def test_nonsense_of_others_fails_alone_and_the_worker_goes_on(
    databases: Databases, postgres_url: str
) -> None:
    """fault:L10, fault:H7: each bad row ends alone, what nobody runs waits, the rest completes."""

    async def work(number: int = 0) -> int:
        return number

    for columns in (*NONSENSE.values(), *PARKED.values(), {"type": "nobodys"}, {}):
        texts = {name: f"$text${value}$text$" for name, value in columns.items()}
        databases.run(postgres_url, inserted(*texts, *texts.values()))
    taskq = TaskQ(postgres_url, poll_interval=0.05, poll_max=0.1)
    task = taskq.activity(name="work")(work)
    count = (
        "SELECT type, status, error_kind, count(*) AS count FROM taskq_activities GROUP BY 1, 2, 3"
    )

    def counted() -> dict[tuple[str, str, str | None], int]:
        rows = databases.run(postgres_url, count)
        return {(row["type"], row["status"], row["error_kind"]): row["count"] for row in rows}

    async with taskq, taskq.worker(concurrency=20):
        with anyio.fail_after(10):
            assert await (await task.adelay(7)) == 7
        await until(lambda: not [each for each in counted() if "processing" in each])

    found = counted()
    assert found.pop(("nobodys", "pending", None)) == 1
    assert found.pop(("work", "completed", None)) == len(PARKED) + 2
    assert sum(found.values()) == len(NONSENSE)
    assert {(type, status) for type, status, _ in found} == {("work", "failed")}


def inserted(*columns: str) -> str:
    """The SQL that inserts a row with these columns, and then their values."""
    half = len(columns) // 2
    given = {"type": "'work'", "payload": "'{}'"} | dict(
        zip(columns[:half], columns[half:], strict=True)
    )
    names, values = ", ".join(given), ", ".join(given.values())
    return f"INSERT INTO taskq_activities (id, {names}) VALUES (gen_random_uuid(), {values})"
