"""``taskq doctor`` on a real PostgreSQL server, durable as one in production (fault:K4)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from taskq import migrations
from taskq.backends.examination import Finding, Level
from taskq.backends.sql import PostgresBackend, tables
from taskq.backends.sql.postgres import examination, hearing
from taskq.backends.sql.postgres.examination import judged
from taskq.backends.sql.postgres.facts import Facts, Holder, Server
from taskq.bridge import ResidentBridge
from tests.postgres.pooler import NoPooler, pooler
from tests.postgres_databases import Databases
from tests.postgres_server import NoServer, private_server
from tests.postgres_server import Server as PrivateServer

UNNAMED = "?prepared_statement_cache_size=0"
CHECKS = {"server", "durable", "sessions", "skew", "pooler", "listen", "rights", "vacuum"}


class Place(NamedTuple):
    """A database with the tables, on a server of its own."""

    server: PrivateServer
    databases: Databases
    url: str

    def run(self, *statements: str) -> None:
        self.databases.run(self.url, *statements)

    def until_it_writes(self) -> None:
        """A server that was a standby reads only, until its recovery has ended."""
        deadline = time.monotonic() + 30
        while self.databases.run(self.url, "SELECT pg_is_in_recovery()")[0][0]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.databases.part(self.url)

    @contextmanager
    def set(self, name: str, value: str) -> Iterator[None]:
        """A setting of the whole server, for a while."""
        self._set(f"ALTER SYSTEM SET {name} = {value}", name, value)
        try:
            yield
        finally:
            self.run(f"ALTER SYSTEM RESET {name}", "SELECT pg_reload_conf()")

    def _set(self, statement: str, name: str, value: str) -> None:
        self.run(statement, "SELECT pg_reload_conf()")
        deadline = time.monotonic() + 10
        while True:
            self.databases.part(self.url)  # a new session has what the server has by now
            if self.databases.run(self.url, f"SHOW {name}")[0][0] == value:
                return
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    try:
        with private_server(durable=True, settings=("max_prepared_transactions=2",)) as server:
            databases = Databases(server.url)
            yield Place(server, databases, databases.fresh())
            databases.close()
    except NoServer as reason:
        pytest.skip(str(reason))


Doctor = Callable[..., dict[str, Finding]]


@pytest.fixture
def doctor(cli, place: Place) -> Doctor:
    """Runs the command; the worst finding of each check."""

    def run(url: str = place.url) -> dict[str, Finding]:
        printed = cli("doctor", "--json", "--database", url).stdout
        findings = [Finding(**each) for each in json.loads(printed)]
        order = [*Level]
        findings.sort(key=lambda finding: order.index(Level(finding.level)))
        return {finding.check: finding for finding in findings}

    return run


def test_a_good_server_is_good_in_every_respect(doctor: Doctor) -> None:
    found = doctor()

    assert found.keys() > CHECKS
    assert {check: found[check].level for check in CHECKS} == dict.fromkeys(CHECKS, "ok")
    assert found["server"].message.startswith("PostgreSQL ")
    assert found["listen"].message == "notifications arrive"


def test_it_is_said_on_one_line_each(cli, place: Place) -> None:
    lines = cli("doctor", "--database", place.url).stdout.splitlines()

    assert "ok    listen    notifications arrive" in lines


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_what_it_was_told_to_keep_fails(
    doctor: Doctor, place: Place, name: str
) -> None:
    with place.set(name, "off"):
        found = doctor()["durable"]

    assert found.level == "fail"
    assert f"{name} off" in found.message


def test_asynchronous_commits_are_no_fault(doctor: Doctor, place: Place) -> None:
    """design 7.12: taskq turns them on where it promises to keep."""
    with place.set("synchronous_commit", "off"):
        found = doctor()["durable"]

    assert found.level == "ok"
    assert "synchronous_commit is off" in found.message
    assert "except in your own transactions" in found.message


def test_a_role_whose_transactions_only_read_fails(doctor: Doctor, place: Place) -> None:
    with place.set("default_transaction_read_only", "on"):
        assert doctor()["server"].level == "fail"


@pytest.mark.parametrize("schema", ["public", "shop"])
def test_a_role_without_rights_is_told_what_to_be_granted(
    doctor: Doctor, place: Place, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fault:DB27"""
    if schema != "public":
        monkeypatch.setenv("TASKQ_SCHEMA", schema)
        migrations.migrate_url(place.url, schema=schema)
    place.run(
        "CREATE ROLE clerk LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO clerk",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO clerk",
        f"REVOKE DELETE, UPDATE ON {schema}.taskq_keys FROM clerk",
    )
    try:
        found = doctor(place.url.replace("postgres@", "clerk@"))["rights"]
    finally:
        place.run("DROP OWNED BY clerk", "DROP ROLE clerk")

    table = "taskq_keys" if schema == "public" else "shop.taskq_keys"
    assert found.level == "fail"
    assert found.message == f"clerk lacks UPDATE, DELETE on {table}"
    assert found.advice == f'GRANT UPDATE, DELETE ON {table} TO "clerk"'


def test_autovacuum_that_is_off_fails(doctor: Doctor, place: Place) -> None:
    """fault:DB18"""
    with place.set("autovacuum", "off"):
        assert doctor()["vacuum"].level == "fail"


def test_autovacuum_that_is_off_for_a_table_fails(doctor: Doctor, place: Place) -> None:
    place.run("ALTER TABLE taskq_activities SET (autovacuum_enabled = false)")
    found = doctor()["vacuum"]

    assert found.level == "fail"
    place.run(found.advice)
    assert doctor()["vacuum"].level == "ok"


def test_missing_storage_settings_are_a_warning_whose_advice_mends_them(
    doctor: Doctor, place: Place
) -> None:
    place.run(f"ALTER TABLE taskq_activities RESET ({', '.join(tables.BUSY)})")
    found = doctor()["vacuum"]

    assert found.level == "warn"
    place.run(found.advice)
    assert doctor()["vacuum"].level == "ok"


def test_an_old_transaction_is_a_warning_with_its_process(
    doctor: Doctor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fault:DB16: what it may still see cannot be cleared away."""
    place.run("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1")
    assert doctor()["vacuum"].level == "ok"
    monkeypatch.setattr(examination, "OLD", 0.0)
    found = doctor()["vacuum"]
    [[process]] = place.databases.run(place.url, "SELECT pg_backend_pid()")
    place.run("ROLLBACK")

    assert found.level == "warn"
    assert f"the transaction of process {process}" in found.message
    assert f"pg_terminate_backend({process})" in found.advice


def test_a_forgotten_prepared_transaction_is_a_warning(
    doctor: Doctor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "OLD", 0.0)
    place.run("BEGIN", "CREATE TABLE half ()", "PREPARE TRANSACTION 'half'")
    try:
        found = doctor()["vacuum"]
    finally:
        place.run("ROLLBACK PREPARED 'half'")

    assert found.level == "warn"
    assert "ROLLBACK PREPARED 'half'" in found.advice


def test_a_replication_slot_that_nobody_reads_is_a_warning_whatever_its_age() -> None:
    """Of those that hold something back, the server does not tell since when."""
    remedy = "SELECT pg_drop_replication_slot('old')"
    server = Server("18.0", "me", False, False, True, True, "on", True, used=1, connections=97)
    slot = Holder("the replication slot old, which nobody reads,", None, remedy)
    seen = Facts(server, (), (slot,), skew=0.0, trip=0.001, pooler=None, hears=True)

    [found] = [each for each in judged(seen, prepared=True) if each.check == "vacuum"]

    assert found.level is Level.WARN
    assert remedy in found.advice


def test_few_free_connections_are_a_warning(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "CROWDED", 0.0)

    assert doctor()["sessions"].level == "warn"


@pytest.mark.parametrize(("hours", "side"), [(1, "behind"), (-1, "ahead of")])
def test_a_clock_that_differs_is_a_warning(place: Place, hours: int, side: str) -> None:
    def wrong() -> datetime:
        return datetime.now(UTC) + timedelta(hours=hours)

    bridge = ResidentBridge()
    try:
        findings = bridge.call_sync(PostgresBackend(place.url).examine, wrong)
    finally:
        bridge.close()

    [skew] = [finding for finding in findings if finding.check == "skew"]
    assert skew.level is Level.WARN
    assert side in skew.message


def test_not_to_listen_is_a_choice(
    doctor: Doctor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_LISTEN", "off")

    found = doctor()["listen"]

    assert found.level == "ok"
    assert "polling" in found.message


@pytest.fixture
def through(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Iterator[str]]:
    """A database's URL through PgBouncer."""
    monkeypatch.setattr(hearing, "PATIENCE", 0.3)

    @contextmanager
    def through(mode: str) -> Iterator[str]:
        try:
            with pooler(place.server.url, mode=mode, size=5) as port:
                name = place.url.rpartition("/")[2]
                yield f"postgresql://anybody:hunter2@127.0.0.1:{port}/{name}"
        except NoPooler as reason:
            pytest.skip(str(reason))

    return through


def test_a_pooler_between_transactions_is_seen_and_makes_listening_vain(
    doctor: Doctor, through: Callable[[str], Iterator[str]]
) -> None:
    """fault:DB22"""
    with through("transaction") as url:
        found = doctor(url + UNNAMED)
        named = doctor(url)

    assert found["pooler"] == Finding("ok", "pooler", "one that lends a session for a transaction")
    assert found["listen"].level == "warn"
    assert "TASKQ_LISTEN=off" in found["listen"].advice
    assert UNNAMED in named["pooler"].advice


def test_a_pooler_that_lends_for_a_connection_is_no_obstacle(
    doctor: Doctor, through: Callable[[str], Iterator[str]]
) -> None:
    with through("session") as url:
        found = doctor(url)

    assert found["pooler"] == Finding("ok", "pooler", "one that lends a session for a connection")
    assert found["listen"].level == "ok"


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_password_is_never_shown(cli, place: Place, options: str) -> None:
    """threat: what is printed here is sent around."""
    secret = place.url.replace("postgres@", "postgres:hunter2@")
    for url in (secret, secret + "_missing", secret.replace("127.0.0.1", "127.0.0.2")):
        printed = cli("doctor", *options.split(), "--database", url).output
        assert "hunter2" not in printed
        assert "127.0.0." in printed


def test_without_tables_the_server_is_looked_at_all_the_same(doctor: Doctor, place: Place) -> None:
    found = doctor(place.databases.create())

    assert found["schema"].level == "fail"
    assert "taskq migrate" in found["schema"].message
    assert found["schema"].advice == ""
    assert "sqlite" not in found
    assert found["server"].level == "ok"
    assert "rights" not in found


def test_what_to_do_about_a_server_is_said_once(doctor: Doctor, place: Place) -> None:
    missing = doctor(place.url + "_missing")["database"]
    away = doctor("postgresql://127.0.0.1:1/taskq")["database"]

    assert missing.message.endswith("create it first (createdb)") and missing.advice == ""
    assert away.advice == "see that the server runs and that host and port are right"


def test_a_standby_fails(doctor: Doctor, place: Place) -> None:
    """bug:B67"""
    signal = place.server.folder / "data" / "standby.signal"
    place.databases.part(place.url)
    place.server.stop("fast")
    signal.touch()
    place.server.start()
    try:
        found = doctor()
    finally:
        place.server.stop("fast")
        signal.unlink()
        place.server.start()
        place.until_it_writes()

    assert found["server"].level == "fail"
    assert "standby" in found["server"].message
    assert "listen" not in found
