"""The first tables.

Revision tq0001. The same for PostgreSQL and SQLite; what differs is how instants and ids are kept,
see ``_Kinds``. Written by hand: a revision never imports the tables of today.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "tq0001"
down_revision = None
branch_labels = ("taskq",)
depends_on = None

PENDING = "status = 'pending'"
WAITING = "status IN ('scheduled', 'retrying')"
UNSTARTED = "status IN ('pending', 'scheduled', 'retrying')"
PROCESSING = "status = 'processing'"
LINKED = "kind = 'linked'"

BUSY = {
    "fillfactor": 85,
    "autovacuum_vacuum_scale_factor": 0.01,
    "autovacuum_vacuum_threshold": 1000,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.02,
    "autovacuum_analyze_threshold": 1000,
}
SMALL = {
    "fillfactor": 50,
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 200,
}


class _Kinds:
    """The column types and expressions of one dialect."""

    id: TypeEngine[Any]
    instant: TypeEngine[Any]
    serial: TypeEngine[Any]
    now: str
    years: str
    sqlite: bool

    def __init__(self, dialect: str) -> None:
        self.sqlite = dialect == "sqlite"
        if self.sqlite:
            self.id = sa.LargeBinary(16)
            self.instant = sa.Integer()  # microseconds since the epoch
            self.serial = sa.Integer()
            self.now = (
                "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
                " + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)"
            )
            self.years = "0 AND 253370764799999999"
        else:
            self.id = sa.Uuid()
            self.instant = sa.TIMESTAMP(timezone=True)
            self.serial = sa.BigInteger()
            self.now = "now()"
            self.years = "'1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00'"


def upgrade() -> None:
    """Create all tables and indexes."""
    kinds = _Kinds(op.get_context().dialect.name)
    _activities(kinds)
    _activity_indexes()
    _events(kinds)
    _keys(kinds)
    _workers(kinds)
    _rollup(kinds)
    _queues(kinds)
    _schedules(kinds)
    _audit(kinds)


def downgrade() -> None:
    """Drop all tables, with all that is in them."""
    for name in (
        "audit",
        "schedules",
        "queues",
        "rollup",
        "workers",
        "keys",
        "events",
        "activities",
    ):
        op.drop_table(f"taskq_{name}")


def _activities(kinds: _Kinds) -> None:
    columns: list[sa.Column[object]] = [
        sa.Column("id", kinds.id, nullable=False),
        sa.Column("queue", sa.Text(), nullable=False, server_default="default"),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("priority", sa.SmallInteger(), nullable=False, server_default="2"),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("result", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("error_kind", sa.Text()),
        sa.Column("fingerprint", sa.Text()),
        sa.Column("max_retries", sa.Integer(), server_default="3"),
        sa.Column("max_crashes", sa.Integer(), nullable=False, server_default="3"),
        sa.Column("timeout_ms", sa.BigInteger(), server_default="300000"),
        sa.Column("policy", sa.Text()),
        sa.Column("metadata", sa.Text()),
        sa.Column("tags", sa.Text()),
        sa.Column("source", sa.Text()),
        sa.Column("correlation_id", sa.Text()),
        sa.Column("user_id", sa.Text()),
        sa.Column("idempotency_key", sa.Text()),
        sa.Column("retry_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("crash_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("claim", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("worker", kinds.id),
        sa.Column("lease_until", kinds.instant),
        sa.Column("isolate", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("cancel_requested_at", kinds.instant),
        sa.Column("cancel_tree", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("parent_id", kinds.id),
        sa.Column("root_id", kinds.id),
        sa.Column("origin_id", kinds.id),
        sa.Column("depth", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("generation", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("step", sa.Text()),
        sa.Column("progress", sa.Text()),
        sa.Column("expires_at", kinds.instant),
        sa.Column("deadline_at", kinds.instant),
        _stamped("created_at", kinds),
        _stamped("ready_at", kinds),
        sa.Column("started_at", kinds.instant),
        sa.Column("finished_at", kinds.instant),
    ]
    _create("activities", kinds, *columns, *_activity_checks(), storage=BUSY)


def _activity_checks() -> list[sa.Constraint]:
    ranges = {
        "queue": "length(queue) BETWEEN 1 AND 120",
        "type": "length(type) BETWEEN 1 AND 120",
        "step": "length(step) BETWEEN 1 AND 1000",
        "retry_count": "retry_count BETWEEN 0 AND 1000000000",
        "crash_count": "crash_count BETWEEN 0 AND 1000000000",
        "max_retries": "max_retries BETWEEN 0 AND 1000000000",
        "max_crashes": "max_crashes BETWEEN 1 AND 1000000000",
        "depth": "depth BETWEEN 0 AND 1000000000",
        "generation": "generation BETWEEN 0 AND 1000000000",
        "timeout_ms": "timeout_ms BETWEEN 1 AND 9007199254740991",
        "claim": "claim BETWEEN 0 AND 9007199254740991",
    }
    checks = {
        "status": (
            "status IN ('pending', 'scheduled', 'processing', 'retrying',"
            " 'completed', 'failed', 'dead_letter', 'cancelled')"
        ),
        "priority": "priority BETWEEN 1 AND 4",
        "lease": "status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)",
        **{f"{name}_range": condition for name, condition in ranges.items()},
    }
    return [
        sa.PrimaryKeyConstraint("id", name="taskq_activities_pkey"),
        *(
            sa.CheckConstraint(condition, name=f"taskq_activities_{name}")
            for name, condition in checks.items()
        ),
    ]


def _activity_indexes() -> None:
    place = ("isolate", sa.text("priority DESC"), "ready_at", "id")
    _index("ready", "queue", *place, where=PENDING)
    _index("ready_by_type", "queue", "type", *place, where=PENDING)
    by_depth = ("queue", sa.text("depth DESC"), *place[1:])
    _index("ready_children", *by_depth, where=f"{PENDING} AND parent_id IS NOT NULL")
    _index("expiring", "expires_at", where=f"{UNSTARTED} AND expires_at IS NOT NULL")
    _index("deadlines", "deadline_at", where=f"{UNSTARTED} AND deadline_at IS NOT NULL")
    _index("due", "ready_at", "id", where=WAITING)
    _index("due_by_type", "queue", "type", where=WAITING)
    _index("held", "worker", where=PROCESSING)
    op.create_index("taskq_activities_listed", "taskq_activities", ["queue", "status", "id"])
    _index("children", "parent_id", "id", where="parent_id IS NOT NULL")
    _index("tree", "root_id", "id", where="parent_id IS NOT NULL")
    _index("correlation", "correlation_id", "id", where="correlation_id IS NOT NULL")
    _index("user", "user_id", "id", where="user_id IS NOT NULL")
    causes = ("fingerprint", "id", "queue", "status", "finished_at")
    _index("causes", *causes, where="fingerprint IS NOT NULL")


def _index(name: str, *columns: str | sa.TextClause, where: str) -> None:
    op.create_index(
        f"taskq_activities_{name}",
        "taskq_activities",
        list(columns),
        postgresql_where=sa.text(where),
        sqlite_where=sa.text(where),
    )


def _events(kinds: _Kinds) -> None:
    _create(
        "events",
        kinds,
        sa.Column("id", kinds.serial, sa.Identity(), nullable=False),
        sa.Column("activity_id", kinds.id, nullable=False),
        sa.Column("at", kinds.instant, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer()),
        sa.Column("claim", sa.BigInteger(), nullable=False),
        sa.Column("worker", kinds.id),
        sa.Column("detail", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="taskq_events_pkey"),
    )
    op.create_index("taskq_events_activity", "taskq_events", ["activity_id", "id"])
    op.create_index(
        "taskq_events_linked",
        "taskq_events",
        ["activity_id", "detail"],
        unique=True,
        postgresql_where=sa.text(LINKED),
        sqlite_where=sa.text(LINKED),
    )


def _keys(kinds: _Kinds) -> None:
    _create(
        "keys",
        kinds,
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("activity_id", kinds.id, nullable=False),
        sa.Column("digest", sa.LargeBinary(32)),
        _stamped("created_at", kinds),
        sa.Column("expires_at", kinds.instant),
        sa.PrimaryKeyConstraint("hash", name="taskq_keys_pkey"),
        sa.CheckConstraint("length(hash) = 32", name="taskq_keys_hash"),
        rowid=False,
    )
    op.create_index("taskq_keys_activity", "taskq_keys", ["activity_id"])
    op.create_index(
        "taskq_keys_expiring",
        "taskq_keys",
        ["expires_at"],
        postgresql_where=sa.text("expires_at IS NOT NULL"),
        sqlite_where=sa.text("expires_at IS NOT NULL"),
    )


def _workers(kinds: _Kinds) -> None:
    _create(
        "workers",
        kinds,
        sa.Column("id", kinds.id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("queues", sa.Text(), nullable=False),
        sa.Column("types", sa.Text(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("slots_used", sa.Integer(), nullable=False),
        sa.Column("suspended", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("threads_stuck", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("async_backend", sa.Text(), nullable=False),
        sa.Column("started_at", kinds.instant, nullable=False),
        sa.Column("seen_at", kinds.instant, nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="taskq_workers_pkey"),
        storage=SMALL,
    )


def _rollup(kinds: _Kinds) -> None:
    _create(
        "rollup",
        kinds,
        sa.Column("span", sa.Integer(), nullable=False),
        sa.Column("minute", kinds.instant, nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("waits", sa.Text(), nullable=False),
        sa.Column("runs", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "span", "minute", "queue", "type", "outcome", name="taskq_rollup_pkey"
        ),
        sa.CheckConstraint("span BETWEEN 1 AND 86400", name="taskq_rollup_span_range"),
        sa.CheckConstraint("count BETWEEN 0 AND 9007199254740991", name="taskq_rollup_count_range"),
        rowid=False,
        storage=SMALL,
    )


def _queues(kinds: _Kinds) -> None:
    _create(
        "queues",
        kinds,
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("paused_at", kinds.instant),
        sa.Column("paused_by", sa.Text()),
        sa.Column("reason", sa.Text()),
        _stamped("updated_at", kinds),
        sa.Column("counted", sa.BigInteger()),
        sa.Column("counted_at", kinds.instant),
        sa.Column("vouched", sa.BigInteger()),
        sa.PrimaryKeyConstraint("kind", "name", name="taskq_queues_pkey"),
        storage=SMALL,
    )


def _schedules(kinds: _Kinds) -> None:
    _create(
        "schedules",
        kinds,
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text()),
        sa.Column("every_ms", sa.BigInteger()),
        sa.Column("timezone", sa.Text(), nullable=False, server_default="UTC"),
        sa.Column("jitter_ms", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("catch_up", sa.Text(), nullable=False, server_default="latest"),
        sa.Column("overlap", sa.Text(), nullable=False, server_default="allow"),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("options", sa.Text()),
        sa.Column("digest", sa.Text()),
        sa.Column("revision", sa.BigInteger(), nullable=False, server_default="1"),
        sa.Column("next_at", kinds.instant),
        sa.Column("last_at", kinds.instant),
        sa.Column("last_activity_id", kinds.id),
        sa.Column("fired", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("skipped", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("paused_at", kinds.instant),
        _stamped("created_at", kinds),
        _stamped("updated_at", kinds),
        sa.PrimaryKeyConstraint("name", name="taskq_schedules_pkey"),
        sa.CheckConstraint("(cron IS NULL) <> (every_ms IS NULL)", name="taskq_schedules_timing"),
        sa.CheckConstraint("every_ms > 0", name="taskq_schedules_every"),
        sa.CheckConstraint("jitter_ms >= 0", name="taskq_schedules_jitter"),
        sa.CheckConstraint(
            "catch_up IN ('latest', 'none', 'all')", name="taskq_schedules_catch_up"
        ),
        sa.CheckConstraint("overlap IN ('allow', 'skip', 'queue')", name="taskq_schedules_overlap"),
    )
    waiting = sa.text("paused_at IS NULL AND next_at IS NOT NULL")
    op.create_index(
        "taskq_schedules_waiting",
        "taskq_schedules",
        ["next_at", "name"],
        postgresql_where=waiting,
        sqlite_where=waiting,
    )


def _audit(kinds: _Kinds) -> None:
    _create(
        "audit",
        kinds,
        sa.Column("id", kinds.serial, sa.Identity(), nullable=False),
        sa.Column("at", kinds.instant, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("target", sa.Text()),
        sa.Column("detail", sa.Text()),
        sa.Column("command_id", kinds.id),
        sa.PrimaryKeyConstraint("id", name="taskq_audit_pkey"),
        sa.UniqueConstraint("command_id", name="taskq_audit_command"),
    )


def _create(
    name: str,
    kinds: _Kinds,
    *items: sa.Column[Any] | sa.Constraint,
    rowid: bool = True,
    storage: dict[str, Any] | None = None,
) -> None:
    """A table whose instants can be read; on SQLite each column keeps only what it is made for."""
    columns = [item for item in items if isinstance(item, sa.Column) and item.identity is None]
    kept = [
        sa.CheckConstraint(condition, name=f"taskq_{name}_{column.name}_{rule}")
        for column in columns
        for rule, condition in _rules(column, kinds)
    ]
    options: dict[str, Any] = {} if rowid else {"sqlite_with_rowid": False}
    if storage is not None:
        options["postgresql_with"] = storage
    op.create_table(f"taskq_{name}", *items, *kept, **options)


def _rules(column: sa.Column[Any], kinds: _Kinds) -> Iterator[tuple[str, str]]:
    if column.type is kinds.instant:
        yield "range", f"{column.name} BETWEEN {kinds.years}"
    if kinds.sqlite:
        yield "kind", _kept(column)


def _kept(column: sa.Column[Any]) -> str:
    match column.type:
        case sa.LargeBinary(length=length):
            kind, more = "blob", f" AND length({column.name}) = {length}"
        case sa.Text():
            kind, more = "text", ""
        case sa.Boolean():
            kind, more = "integer", f" AND {column.name} IN (0, 1)"
        case _:
            kind, more = "integer", ""
    unless = f"{column.name} IS NULL OR " if column.nullable else ""
    return f"{unless}typeof({column.name}) = '{kind}'{more}"


def _stamped(name: str, kinds: _Kinds) -> sa.Column[object]:
    return sa.Column(name, kinds.instant, nullable=False, server_default=sa.text(kinds.now))
