"""The tables: one definition for every dialect. The migrations create exactly these.

Any client that can insert a row may enqueue: ``id``, ``type`` and ``payload`` are enough, the rest
has defaults in the database itself; a later run time needs ``status`` scheduled and ``ready_at``.
``root_id`` and ``origin_id`` NULL mean the activity itself, so that such a client need not repeat
its id; taskq writes them so too, and readers fill them in.
What would break a whole batch when it is read is refused by a CHECK when it is written.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    false,
    literal_column,
)

from taskq.backends.instants import FIRST, LAST
from taskq.backends.sql.types import SERIAL, DatabaseNow, Id, Instant
from taskq.lifecycle import Note
from taskq.model import COUNTED_TO, LONGEST_TEXT, Status

metadata = MetaData()


def spelled(word: Status | Note) -> ColumnElement[str]:
    """A word as an SQL literal: a partial index serves no query that binds its condition."""
    return literal_column(f"'{word.value}'")


_STATUSES = ", ".join(f"'{status.value}'" for status in Status)
# An upper bound also refuses text in a number's place, which SQLite would keep.
BIG_INTEGER = 9007199254740991
"""The highest claim number, time limit and count: what a JSON reader can hold exactly."""

# Rows die as fast as work is done, so PostgreSQL should clear them away by count and not by share.
# Room in each page keeps renewals of leases where they are (HOT).
BUSY = {
    "fillfactor": 85,
    "autovacuum_vacuum_scale_factor": 0.01,
    "autovacuum_vacuum_threshold": 1000,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.02,
    "autovacuum_analyze_threshold": 1000,
}
"""The settings of the table that every activity passes through (threat: dead rows, design 7.4)."""

SMALL = {
    "fillfactor": 50,
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 200,
}
"""Those of small tables whose rows are written again and again."""

activities = Table(
    "taskq_activities",
    metadata,
    Column("id", Id(), nullable=False),
    Column("queue", Text(), nullable=False, server_default="default"),
    Column("type", Text(), nullable=False),
    Column("status", Text(), nullable=False, server_default="pending"),
    Column("priority", SmallInteger(), nullable=False, server_default="2"),
    Column("payload", Text(), nullable=False),
    Column("result", Text()),
    Column("error", Text()),  # ErrorInfo as JSON
    Column("error_kind", Text()),
    Column("fingerprint", Text()),  # groups dead letters by cause
    Column("max_retries", Integer(), server_default="3"),  # NULL: unlimited
    Column("max_crashes", Integer(), nullable=False, server_default="3"),
    Column("timeout_ms", BigInteger(), server_default="300000"),  # NULL: no limit
    Column("policy", Text()),  # Policy as JSON; NULL: the default one
    Column("metadata", Text()),
    Column("tags", Text()),
    Column("source", Text()),
    Column("correlation_id", Text()),
    Column("user_id", Text()),
    Column("idempotency_key", Text()),  # for display; taskq_keys decides
    Column("retry_count", Integer(), nullable=False, server_default="0"),
    Column("crash_count", Integer(), nullable=False, server_default="0"),
    Column("claim", BigInteger(), nullable=False, server_default="0"),
    Column("worker", Id()),
    Column("lease_until", Instant()),
    Column("isolate", Boolean(), nullable=False, server_default=false()),
    Column("cancel_requested_at", Instant()),
    Column("cancel_tree", Boolean(), nullable=False, server_default=false()),
    Column("parent_id", Id()),
    Column("root_id", Id()),  # NULL: itself
    Column("origin_id", Id()),  # NULL: itself
    Column("depth", Integer(), nullable=False, server_default="0"),
    Column("generation", Integer(), nullable=False, server_default="0"),  # roots since the origin
    Column("step", Text()),
    Column("progress", Text()),  # Progress as JSON
    Column("expires_at", Instant()),
    Column("deadline_at", Instant()),
    Column("created_at", Instant(), nullable=False, server_default=DatabaseNow()),
    Column("ready_at", Instant(), nullable=False, server_default=DatabaseNow()),
    Column("started_at", Instant()),
    Column("finished_at", Instant()),
    PrimaryKeyConstraint("id", name="taskq_activities_pkey"),
    CheckConstraint(f"status IN ({_STATUSES})", name="taskq_activities_status"),
    CheckConstraint("priority BETWEEN 1 AND 4", name="taskq_activities_priority"),
    CheckConstraint(
        "status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)",
        name="taskq_activities_lease",
    ),
    postgresql_with=BUSY,
)
_columns = activities.c
# Each rule has one column, and an update evaluates the rules of the columns that it writes only: it
# costs less, and a row that came past them (SQLite can be told to ignore them) stops no claim.
for _name, _bounds in (
    ("length(queue)", "1 AND 120"),
    ("length(type)", "1 AND 120"),
    ("length(step)", f"1 AND {LONGEST_TEXT}"),
    ("retry_count", f"0 AND {COUNTED_TO}"),
    ("crash_count", f"0 AND {COUNTED_TO}"),
    ("max_retries", f"0 AND {COUNTED_TO}"),
    ("max_crashes", f"1 AND {COUNTED_TO}"),
    ("depth", f"0 AND {COUNTED_TO}"),
    ("generation", f"0 AND {COUNTED_TO}"),
    ("timeout_ms", f"1 AND {BIG_INTEGER}"),
    ("claim", f"0 AND {BIG_INTEGER}"),
):
    _of = _name.removeprefix("length(").removesuffix(")")
    activities.append_constraint(
        CheckConstraint(f"{_name} BETWEEN {_bounds}", name=f"taskq_activities_{_of}_range")
    )


def _index(name: str, *columns: ColumnElement[Any], where: ColumnElement[bool]) -> None:
    Index(name, *columns, postgresql_where=where, sqlite_where=where)


_pending = _columns.status == spelled(Status.PENDING)

# A claim walks a queue in order and stops at its limit; isolated rows, which only a claim that asks
# for them may have, are a range of their own. For a worker that takes most of the ready types;
# also counts by priority and finds the oldest pending.
_index(
    "taskq_activities_ready",
    _columns.queue,
    _columns.isolate,
    _columns.priority.desc(),
    _columns.ready_at,
    _columns.id,
    where=_pending,
)
# The same for a worker that takes few types: it must not walk over a million rows of the others.
# Also tells which types wait in which queue.
_index(
    "taskq_activities_ready_by_type",
    _columns.queue,
    _columns.type,
    _columns.isolate,
    _columns.priority.desc(),
    _columns.ready_at,
    _columns.id,
    where=_pending,
)
# For a worker that may begin nothing but what others wait for (``max_suspended``): the deepest.
_index(
    "taskq_activities_ready_children",
    _columns.queue,
    _columns.depth.desc(),
    _columns.priority.desc(),
    _columns.ready_at,
    _columns.id,
    where=_pending & _columns.parent_id.is_not(None),
)
# The promoter takes what is due and asks when the next one will be; future rows stay out of the
# claim indexes.
_index(
    "taskq_activities_due",
    _columns.ready_at,
    _columns.id,
    where=_columns.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)]),
)
# Which types wait there, so that one that nobody serves is seen before its first activity is due.
_index(
    "taskq_activities_due_by_type",
    _columns.queue,
    _columns.type,
    where=_columns.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)]),
)
# What is not to start any more, for callers that say so.
_waiting = _columns.status.in_(
    [spelled(Status.PENDING), spelled(Status.SCHEDULED), spelled(Status.RETRYING)]
)
_index(
    "taskq_activities_expiring",
    _columns.expires_at,
    where=_waiting & _columns.expires_at.is_not(None),
)
_index(
    "taskq_activities_deadlines",
    _columns.deadline_at,
    where=_waiting & _columns.deadline_at.is_not(None),
)
# What a worker holds (renewal, cancel requests, lost replies); the reaper looks through all of it,
# which is as much as runs at once. lease_until is in no index, so that renewals stay cheap.
_index(
    "taskq_activities_held",
    _columns.worker,
    where=_columns.status == spelled(Status.PROCESSING),
)
# Counts by queue and status, and lists by them, newest first: without it a console that asks for
# the few failed ones would read the million that completed.
Index("taskq_activities_listed", _columns.queue, _columns.status, _columns.id)
# Children of a parent, and by step.
_index(
    "taskq_activities_children",
    _columns.parent_id,
    _columns.id,
    where=_columns.parent_id.is_not(None),
)
# A whole tree. Roots are found by their own id.
_index(
    "taskq_activities_tree", _columns.root_id, _columns.id, where=_columns.parent_id.is_not(None)
)
# Lists by correlation and by user, only for callers that use them.
_index(
    "taskq_activities_correlation",
    _columns.correlation_id,
    _columns.id,
    where=_columns.correlation_id.is_not(None),
)
_index("taskq_activities_user", _columns.user_id, _columns.id, where=_columns.user_id.is_not(None))
# Which causes there are, a step for each, and what each of them has ended: only what has failed.
# The last columns let it be counted without a look at the rows, which are large and far apart.
_index(
    "taskq_activities_causes",
    _columns.fingerprint,
    _columns.id,
    _columns.queue,
    _columns.status,
    _columns.finished_at,
    where=_columns.fingerprint.is_not(None),
)

events = Table(
    "taskq_events",
    metadata,
    Column("id", SERIAL, Identity(), nullable=False),
    Column("activity_id", Id(), nullable=False),
    Column("at", Instant(), nullable=False),
    Column("kind", Text(), nullable=False),
    Column("attempt", Integer()),
    Column("claim", BigInteger(), nullable=False),
    Column("worker", Id()),
    Column("detail", Text()),
    PrimaryKeyConstraint("id", name="taskq_events_pkey"),
    # The timeline of one activity, in order.
    Index("taskq_events_activity", "activity_id", "id"),
)

LINKED = events.c.kind == spelled(Note.LINKED)

# A parent is linked to an activity once, however often it asks for it, and however many others do.
Index(
    "taskq_events_linked",
    events.c.activity_id,
    events.c.detail,
    unique=True,
    postgresql_where=LINKED,
    sqlite_where=LINKED,
)

keys = Table(
    "taskq_keys",
    metadata,
    Column("hash", LargeBinary(32), nullable=False),
    Column("queue", Text(), nullable=False),
    Column("type", Text(), nullable=False),
    Column("activity_id", Id(), nullable=False),
    Column("digest", LargeBinary(32)),  # NULL: compare the payloads by value
    Column("created_at", Instant(), nullable=False, server_default=DatabaseNow()),
    Column("expires_at", Instant()),
    PrimaryKeyConstraint("hash", name="taskq_keys_pkey"),
    CheckConstraint("length(hash) = 32", name="taskq_keys_hash"),
    # Deleting an activity frees its keys.
    Index("taskq_keys_activity", "activity_id"),
    sqlite_with_rowid=False,
)

# Keys that have expired and were not taken again, for whoever sweeps them away.
_index("taskq_keys_expiring", keys.c.expires_at, where=keys.c.expires_at.is_not(None))

workers = Table(
    "taskq_workers",
    metadata,
    Column("id", Id(), nullable=False),
    Column("name", Text(), nullable=False),
    Column("host", Text(), nullable=False),
    Column("pid", BigInteger(), nullable=False),
    Column("queues", Text(), nullable=False),  # JSON array
    Column("types", Text(), nullable=False),  # JSON array; empty: every type
    Column("concurrency", Integer(), nullable=False),
    Column("slots_used", Integer(), nullable=False),
    Column("suspended", Integer(), nullable=False, server_default="0"),
    Column("threads_stuck", Integer(), nullable=False),
    Column("state", Text(), nullable=False),
    Column("version", Text(), nullable=False),
    Column("async_backend", Text(), nullable=False),
    Column("started_at", Instant(), nullable=False),
    Column("seen_at", Instant(), nullable=False),
    Column("beat", BigInteger(), nullable=False),  # number of the latest heartbeat that was counted
    Column("detail", Text()),
    PrimaryKeyConstraint("id", name="taskq_workers_pkey"),
    postgresql_with=SMALL,
)

ROLLUP_KEY = ("span", "minute", "queue", "type", "outcome")
"""What a bucket counts: its primary key."""

rollup = Table(
    "taskq_rollup",
    metadata,
    Column("span", Integer(), nullable=False),  # seconds that it counts, from ``minute`` on
    Column("minute", Instant(), nullable=False),
    Column("queue", Text(), nullable=False),
    Column("type", Text(), nullable=False),
    Column("outcome", Text(), nullable=False),
    Column("count", BigInteger(), nullable=False),
    Column("waits", Text(), nullable=False),  # JSON array of counts, see HISTOGRAM_BOUNDS
    Column("runs", Text(), nullable=False),
    PrimaryKeyConstraint(*ROLLUP_KEY, name="taskq_rollup_pkey"),
    CheckConstraint("span BETWEEN 1 AND 86400", name="taskq_rollup_span_range"),
    CheckConstraint(f"count BETWEEN 0 AND {BIG_INTEGER}", name="taskq_rollup_count_range"),
    sqlite_with_rowid=False,
    postgresql_with=SMALL,
)

queues = Table(
    "taskq_queues",
    metadata,
    # queue, type: a pause. bound: producers of a bounded queue wait for each other here, and nobody
    # who pauses it waits for them.
    Column("kind", Text(), nullable=False),
    Column("name", Text(), nullable=False),
    Column("paused_at", Instant()),
    Column("paused_by", Text()),
    Column("reason", Text()),
    Column("updated_at", Instant(), nullable=False, server_default=DatabaseNow()),
    Column("counted", BigInteger()),  # of a bound: which one was looked at, and when
    Column("counted_at", Instant()),
    Column("vouched", BigInteger()),  # how many calls may be stored before the next count
    PrimaryKeyConstraint("kind", "name", name="taskq_queues_pkey"),
    postgresql_with=SMALL,
)

schedules = Table(
    "taskq_schedules",
    metadata,
    Column("name", Text(), nullable=False),
    Column("cron", Text()),  # or every_ms
    Column("every_ms", BigInteger()),
    Column("timezone", Text(), nullable=False, server_default="UTC"),
    Column("jitter_ms", BigInteger(), nullable=False, server_default="0"),
    Column("catch_up", Text(), nullable=False, server_default="latest"),
    Column("overlap", Text(), nullable=False, server_default="allow"),
    Column("queue", Text(), nullable=False),
    Column("type", Text(), nullable=False),
    Column("payload", Text(), nullable=False),
    Column("options", Text()),  # JSON object
    Column("digest", Text()),  # of what code has declared; NULL: made at run time
    Column("revision", BigInteger(), nullable=False, server_default="1"),
    Column("next_at", Instant()),
    Column("last_at", Instant()),
    Column("last_activity_id", Id()),
    Column("fired", BigInteger(), nullable=False, server_default="0"),
    Column("skipped", BigInteger(), nullable=False, server_default="0"),
    Column("paused_at", Instant()),
    Column("created_at", Instant(), nullable=False, server_default=DatabaseNow()),
    Column("updated_at", Instant(), nullable=False, server_default=DatabaseNow()),
    PrimaryKeyConstraint("name", name="taskq_schedules_pkey"),
    CheckConstraint("(cron IS NULL) <> (every_ms IS NULL)", name="taskq_schedules_timing"),
    CheckConstraint("every_ms > 0", name="taskq_schedules_every"),
    CheckConstraint("jitter_ms >= 0", name="taskq_schedules_jitter"),
    CheckConstraint("catch_up IN ('latest', 'none', 'all')", name="taskq_schedules_catch_up"),
    CheckConstraint("overlap IN ('allow', 'skip', 'queue')", name="taskq_schedules_overlap"),
)

# What is due, and what comes next: each worker asks up to once a second.
_index(
    "taskq_schedules_waiting",
    schedules.c.next_at,
    schedules.c.name,
    where=schedules.c.paused_at.is_(None) & schedules.c.next_at.is_not(None),
)

audit = Table(
    "taskq_audit",
    metadata,
    Column("id", SERIAL, Identity(), nullable=False),
    Column("at", Instant(), nullable=False),
    Column("actor", Text(), nullable=False),
    Column("action", Text(), nullable=False),
    Column("reason", Text()),
    Column("target", Text()),
    Column("detail", Text()),  # JSON object
    Column("command_id", Id()),  # makes a repeated command harmless
    PrimaryKeyConstraint("id", name="taskq_audit_pkey"),
    UniqueConstraint("command_id", name="taskq_audit_command"),
)


def _kept(column: Column[Any]) -> str:
    """SQLite keeps whatever type it is given: a text id is found by nobody, a BLOB is no JSON."""
    match column.type:
        case Id():
            kind, more = "blob", f" AND length({column.name}) = 16"
        case LargeBinary(length=length):
            kind, more = "blob", f" AND length({column.name}) = {length}"
        case Text():
            kind, more = "text", ""
        case Boolean():
            kind, more = "integer", f" AND {column.name} IN (0, 1)"
        case _:
            kind, more = "integer", ""
    unless = f"{column.name} IS NULL OR " if column.nullable else ""
    return f"{unless}typeof({column.name}) = '{kind}'{more}"


for _column in [column for table in metadata.tables.values() for column in table.columns]:
    if isinstance(_column.type, Instant):
        _column.table.append_constraint(
            CheckConstraint(
                _column.between(FIRST, LAST), name=f"{_column.table.name}_{_column.name}_range"
            )
        )
    if _column.identity is None:
        _column.table.append_constraint(
            CheckConstraint(
                _kept(_column), name=f"{_column.table.name}_{_column.name}_kind"
            ).ddl_if(dialect="sqlite")
        )
