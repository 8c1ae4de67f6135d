"""``taskq_enqueue``: any language stores calls in its own transaction (seed:Q18)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import anyio
import asyncpg
import pytest

from taskq import migrations
from taskq.backends import ClaimRequest, Hint, Topic
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.migrating import on_database
from taskq.bridge import ResidentBridge
from taskq.codec import canonical, digest
from taskq.errors import IdempotencyConflict
from taskq.idempotency import key_hash
from taskq.identifiers import new_id
from taskq.model import Activity, Attempt, Idempotency, OnDuplicate, Policy, Priority, Status
from taskq.snapshot import ActivityInfo, Filter, Page
from tests.postgres_databases import Databases

Sql = Callable[..., Sequence[Any]]
FUNCTION = "taskq_enqueue"


class Stored:
    """The store as taskq sees it, beside the SQL of another program."""

    def __init__(self, url: str, bridge: ResidentBridge) -> None:
        self.bridge = bridge
        self.backend = PostgresBackend(url)
        bridge.call_sync(self.backend.open)

    def all(self) -> Sequence[ActivityInfo]:
        """Every activity, newest first."""
        page = self.bridge.call_sync(self.backend.list, Filter(), Page(limit=100))
        return page.items

    def info(self, id: UUID) -> ActivityInfo:
        """A snapshot."""
        return self.bridge.call_sync(self.backend.get, [id])[id]

    def claim(self) -> list[Attempt]:
        """All that is ready in the default queue."""
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0
        )
        return self.bridge.call_sync(self.backend.claim, request)

    def close(self) -> None:
        """End it."""
        self.bridge.call_sync(self.backend.close)


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """asyncpg is the other program here, and runs on nothing else."""
    return str(request.param)


@pytest.fixture
def bridge() -> Iterator[ResidentBridge]:
    """The storage loop."""
    bridge = ResidentBridge()
    yield bridge
    bridge.close()


@pytest.fixture
def stored(postgres_url: str, bridge: ResidentBridge) -> Iterator[Stored]:
    """The store, empty."""
    stored = Stored(postgres_url, bridge)
    yield stored
    stored.close()


@pytest.fixture
def sql(databases: Databases, postgres_url: str) -> Sql:
    """Runs SQL as another program, in one session."""
    return partial(databases.run, postgres_url)


@pytest.fixture
def enqueue(sql: Sql) -> Callable[[str], UUID]:
    """Calls the function with these arguments, as SQL."""

    def enqueue(arguments: str) -> UUID:
        [[id]] = sql(f"SELECT {FUNCTION}({arguments})")
        assert isinstance(id, UUID)
        return UUID(int=id.int)

    return enqueue


Enqueue = Callable[[str], UUID]


def keyed(key: str, payload: str, on_duplicate: OnDuplicate) -> Activity[object]:
    """A call with a key, as taskq makes it."""
    id = new_id()
    return Activity(
        id=id,
        type="send_email",
        queue="default",
        payload=canonical(payload),
        root_id=id,
        origin_id=id,
        idempotency=Idempotency(
            key=key,
            hash=key_hash("default", "send_email", key),
            digest=digest(canonical(payload)),
            on_duplicate=on_duplicate,
        ),
    )


def test_type_and_arguments_are_enough(stored: Stored, enqueue: Enqueue) -> None:
    """seed:Q18"""
    id = enqueue("""'send_email', '{"to": "ada@example.com", "number": 12345678901234567890}'""")

    [attempt] = stored.claim()

    assert (attempt.id, attempt.type, attempt.queue) == (id, "send_email", "default")
    assert attempt.payload == '{"to": "ada@example.com", "number": 12345678901234567890}'
    assert (attempt.priority, attempt.max_retries, attempt.timeout) == (Priority.NORMAL, 3, 300.0)
    assert (attempt.root_id, attempt.parent_id, attempt.number) == (id, None, 1)
    assert id.version == 7


def test_everything_that_a_call_can_say(stored: Stored, enqueue: Enqueue) -> None:
    """seed:Q18: source, user, correlation, tags."""
    id = enqueue(
        """'mail.send', '{}', queue => 'mail', priority => 4, delay => '1 hour',
        max_retries => NULL, timeout => NULL, expires_at => now() + interval '2 hours',
        metadata => '{"a": [1]}', tags => '{"region": "eu"}', source => 'node',
        correlation_id => 'not-a-uuid', user_id => 'u1',
        policy => '{"hooks": ["on_failure"]}'"""
    )

    info = stored.info(id)

    assert (info.queue, info.priority, info.status) == ("mail", Priority.CRITICAL, Status.SCHEDULED)
    assert info.ready_at - info.created_at == timedelta(hours=1)
    assert (info.max_retries, info.timeout, info.deadline_at) == (None, None, None)
    assert info.expires_at is not None
    assert (info.metadata, info.tags) == ({"a": [1]}, {"region": "eu"})
    assert (info.source, info.correlation_id, info.user_id) == ("node", "not-a-uuid", "u1")


async def test_it_is_stored_if_and_only_if_the_transaction_commits(
    stored: Stored, postgres_url: str
) -> None:
    """promise:G2"""
    session = await asyncpg.connect(postgres_url)
    for end in ("ROLLBACK", "COMMIT"):
        await session.execute("BEGIN")
        await session.fetchval(f"SELECT {FUNCTION}('work')")
        assert stored.all() == ()
        await session.execute(end)
    await session.close()

    [info] = stored.all()
    assert info.status is Status.PENDING


def test_workers_are_told_by_the_commit(
    stored: Stored, bridge: ResidentBridge, enqueue: Enqueue
) -> None:
    heard = listening(bridge, stored.backend)
    enqueue("'work', notify => false")
    enqueue("'work'")
    bridge.call_sync(something, heard)


def listening(bridge: ResidentBridge, backend: PostgresBackend) -> list[Hint]:
    """The hints that come from now on."""
    heard: list[Hint] = []

    async def listen() -> None:
        await backend.watch([Topic.READY], heard.append)
        heard.clear()

    bridge.call_sync(listen)
    return heard


async def something(heard: list[Hint]) -> None:
    """Wait until a hint has come."""
    with anyio.fail_after(10):
        while not heard:
            await anyio.sleep(0.01)


KEYED = """'send_email', '{"to": "ada"}', idempotency_key => 'order-42'"""


def test_a_key_gives_the_same_activity_again(stored: Stored, enqueue: Enqueue) -> None:
    """seed:I2"""
    assert enqueue(KEYED) == enqueue(f"{KEYED}, on_mismatch => 'error'")
    [info] = stored.all()
    assert info.idempotency_key == "order-42"


def test_the_key_is_the_one_that_python_uses(
    stored: Stored, bridge: ResidentBridge, enqueue: Enqueue
) -> None:
    """Either side finds what the other has made."""
    call = keyed("order-42", '{"to":"ada"}', OnDuplicate.RETURN_EXISTING)
    [receipt] = bridge.call_sync(stored.backend.submit, [call])
    assert enqueue(KEYED) == receipt.id

    id = enqueue(KEYED.replace("42", "43"))
    again = keyed("order-43", '{"to":"ada"}', OnDuplicate.RETURN_EXISTING)
    [receipt] = bridge.call_sync(stored.backend.submit, [again])
    assert (receipt.id, receipt.created) == (id, False)
    other = keyed("order-43", '{"to":"eve"}', OnDuplicate.RETURN_EXISTING)
    with pytest.raises(IdempotencyConflict, match="other arguments"):
        bridge.call_sync(stored.backend.submit, [other])


def test_other_arguments_under_one_key_are_refused(enqueue: Enqueue, stored: Stored) -> None:
    """seed:I3"""
    id = enqueue(KEYED)
    with pytest.raises(asyncpg.UniqueViolationError, match="other arguments"):
        enqueue(KEYED.replace("ada", "eve"))
    assert enqueue(KEYED.replace("ada", "eve") + ", on_mismatch => 'ignore'") == id
    assert len(stored.all()) == 1


def test_each_answer_to_a_taken_key(enqueue: Enqueue, sql: Sql, stored: Stored) -> None:
    """seed:I4, seed:I5"""
    first = enqueue(KEYED)
    with pytest.raises(asyncpg.UniqueViolationError, match="no_reuse"):
        enqueue(f"{KEYED}, on_duplicate => 'no_reuse'")
    assert enqueue(f"{KEYED}, on_duplicate => 'allow_reuse_on_failure'") == first
    sql("UPDATE taskq_activities SET status = 'cancelled', finished_at = now()")
    second = enqueue(f"{KEYED}, on_duplicate => 'allow_reuse_on_failure'")
    third = enqueue(f"{KEYED}, on_duplicate => 'allow_reuse'")
    assert len({first, second, third}) == 3
    assert enqueue(KEYED) == third
    assert len(stored.all()) == 3


def test_a_key_is_free_again_after_its_time(enqueue: Enqueue, sql: Sql, stored: Stored) -> None:
    first = enqueue(f"{KEYED}, unique_for => '1 hour'")
    assert enqueue(KEYED) == first
    sql("UPDATE taskq_keys SET expires_at = now() - interval '1 second'")
    assert enqueue(KEYED) != first
    [[expires_at]] = sql("SELECT expires_at FROM taskq_keys")
    assert expires_at is None


async def test_of_two_that_take_one_key_at_once_the_second_waits(
    stored: Stored, postgres_url: str
) -> None:
    """seed:I6: as in one transaction after the other, at READ COMMITTED too."""
    one, other = [await asyncpg.connect(postgres_url) for _ in range(2)]
    await one.execute("BEGIN")
    first = await one.fetchval(f"SELECT {FUNCTION}({KEYED})")

    async def second() -> None:
        answers.append(await other.fetchval(f"SELECT {FUNCTION}({KEYED})"))

    answers: list[object] = []
    async with anyio.create_task_group() as group:
        group.start_soon(second)
        await waits_for_a_lock(stored, postgres_url)
        await one.execute("COMMIT")
    await one.close()
    await other.close()
    assert answers == [first]
    assert len(stored.all()) == 1


async def waits_for_a_lock(stored: Stored, url: str) -> None:
    """Until somebody waits there."""
    session = await asyncpg.connect(url)
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with anyio.fail_after(10):
        while not await session.fetchval(query):
            await anyio.sleep(0.01)
    await session.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("'no name'", "must match"),
        ("NULL", "must match"),
        ("'work', queue => ''", "must match"),
        ("'work', '[1]'", "payload, metadata, tags and policy must be JSON objects"),
        ("'work', NULL", "payload, metadata, tags and policy must be JSON objects"),
        (r"""'work', '{"a": "\u0000"}'""", "unsupported Unicode escape sequence"),
        (r"""'work', '{"a": "\ud800"}'""", "invalid input syntax for type json"),
        ("'work', '{'", "invalid input syntax for type json"),
        ("'work', json_build_object('a', repeat('x', 1048577))", "at most 1 MiB"),
        ("""'work', tags => '{"a": 1}'""", "tags must be a JSON object of strings"),
        ("'work', priority => 5", "priority must be 1"),
        ("""'work', policy => '{"hooks": 5}'""", "policy has retry, "),
        ("""'work', policy => '{"nope": 5}'""", "policy has retry, "),
        ("'work', expires_at => 'infinity'", "in the years 1970 to 9998"),
        ("'work', run_at => '-infinity'", "in the years 1970 to 9998"),
        ("'work', max_retries => 2147483647", "max_retries must be 0 to"),
        ("'work', max_retries => -1", "max_retries must be 0 to"),
        ("'work', delay => '-1 second'", "delay must not be negative"),
        ("'work', delay => '1 s', run_at => now()", "exclude each other"),
        ("'work', timeout => '0'", "timeout and unique_for must be above 0"),
        ("'work', unique_for => '1 s'", "unique_for needs an"),
        ("'work', idempotency_key => ''", "must not be empty"),
        ("'work', on_duplicate => 'perhaps'", "on_duplicate must be"),
        ("'work', user_id => repeat('x', 1001)", "at most 1000 characters"),
    ],
)
def test_bad_input_is_refused_by_a_sentence_and_stores_nothing(
    enqueue: Enqueue, stored: Stored, arguments: str, sentence: str
) -> None:
    with pytest.raises(asyncpg.PostgresError, match=sentence):
        enqueue(arguments)
    assert stored.all() == ()


def test_it_knows_every_field_of_a_policy() -> None:
    function = migrations.revision("tq0002")

    assert set(vars(function)["KINDS"]) == set(Policy.__struct_fields__)


def test_a_trigger_enqueues(sql: Sql, stored: Stored) -> None:
    sql(
        "CREATE TABLE orders (id bigint PRIMARY KEY, email text)",
        """CREATE FUNCTION thank() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM taskq_enqueue('send_email', json_build_object('to', NEW.email),
                idempotency_key => 'order-' || NEW.id);
            RETURN NEW;
        END $$""",
        "CREATE TRIGGER thanks AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION thank()",
        "INSERT INTO orders VALUES (1, 'ada@example.com'), (2, 'eve@example.com')",
        "DROP TABLE orders",
        "DROP FUNCTION thank",
    )
    assert {info.idempotency_key for info in stored.all()} == {"order-1", "order-2"}


@pytest.mark.parametrize("schema", ["Jobs", "s" * 49, "s" * 50])
def test_it_lives_in_the_schema_of_the_tables_and_finds_them_from_any_path(
    databases: Databases, bridge: ResidentBridge, schema: str
) -> None:
    url = databases.create()
    migrations.migrate_url(url, schema=schema)
    backend = PostgresBackend(url, schema=schema)
    bridge.call_sync(backend.open)
    heard = listening(bridge, backend)

    [[id]] = databases.run(url, f"SELECT \"{schema}\".taskq_enqueue('work')")

    bridge.call_sync(something, heard)
    assert UUID(int=id.int) in bridge.call_sync(backend.get, [UUID(int=id.int)])
    bridge.call_sync(backend.close)


def test_a_database_of_the_revision_before_gets_it_by_migrating(databases: Databases) -> None:
    url = databases.fresh()
    query = f"SELECT count(*) FROM pg_proc WHERE proname = '{FUNCTION}'"

    def run(revision: str, way: Callable[..., None]) -> int:
        on_database(url, None, lambda connection: way(connection, revision))
        [[count]] = databases.run(url, query)
        return int(count)

    assert run("tq0001", migrations.downgrade) == 0
    assert run("head", migrations.upgrade) == 1
