"""A function in the database by which any language enqueues.

Revision tq0002, seed:Q18. PostgreSQL only: SQLite has no functions of its own. Its contract is
docs/other-languages.md. It decides as ``taskq.idempotency.resolve`` does, and stores as
``Backend.submit``.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "tq0002"
down_revision = "tq0001"
branch_labels = None
depends_on = None

ARGUMENTS = """
    type text,
    payload json DEFAULT '{}',
    queue text DEFAULT 'default',
    priority integer DEFAULT 2,
    run_at timestamptz DEFAULT NULL,
    delay interval DEFAULT NULL,
    max_retries integer DEFAULT 3,
    timeout interval DEFAULT '5 minutes',
    expires_at timestamptz DEFAULT NULL,
    deadline_at timestamptz DEFAULT NULL,
    idempotency_key text DEFAULT NULL,
    on_duplicate text DEFAULT 'return_existing',
    on_mismatch text DEFAULT 'error',
    unique_for interval DEFAULT NULL,
    metadata json DEFAULT NULL,
    tags json DEFAULT NULL,
    source text DEFAULT NULL,
    correlation_id text DEFAULT NULL,
    user_id text DEFAULT NULL,
    policy json DEFAULT NULL,
    notify boolean DEFAULT true
"""

TYPES = (
    "text, json, text, integer, timestamptz, interval, integer, interval, timestamptz, timestamptz,"
    " text, text, text, interval, json, json, text, text, text, json, boolean"
)

KINDS = {
    "retry": "object",
    "retry_on_timeout": "boolean",
    "on_child_failure": "string",
    "orphans": "string",
    "hooks": "array",
    "timeout_includes_waits": "boolean",
    "dead_letter": "boolean",
}
"""What a policy may say, each as a kind of JSON."""

POLICY = ", ".join(f"('{name}', '{kind}')" for name, kind in KINDS.items())
NAMES = ", ".join(KINDS)

# A setting of search_path makes the function find its tables whatever the caller's path is. Each
# statement of a volatile function sees what was committed before it, under READ COMMITTED: after
# the lock of a key has been waited for, the next one sees who holds it.
FUNCTION = f"""
CREATE FUNCTION taskq_enqueue({ARGUMENTS}) RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $taskq$
#variable_conflict use_column
DECLARE
    given CONSTANT json[] := ARRAY[taskq_enqueue.payload, coalesce(taskq_enqueue.metadata, '{{}}'),
        coalesce(taskq_enqueue.tags, '{{}}'), coalesce(taskq_enqueue.policy, '{{}}')];
    named CONSTANT text := '^[A-Za-z_][A-Za-z0-9_.:-]{{0,99}}$';
    moment CONSTANT timestamptz := clock_timestamp();
    last CONSTANT timestamptz := '9998-12-31 23:59:59.999999+00';
    ready CONSTANT timestamptz := least(last, coalesce(
        taskq_enqueue.run_at, moment + taskq_enqueue.delay, moment));
    until CONSTANT timestamptz := CASE WHEN taskq_enqueue.unique_for IS NOT NULL
        THEN least(last, moment + taskq_enqueue.unique_for) END;
    fresh CONSTANT uuid := encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send(floor(extract(epoch FROM moment) * 1000)::bigint) FROM 3)
        FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;
    said CONSTANT text := coalesce(
        'taskq_enqueue: the idempotency key ' || quote_literal(taskq_enqueue.idempotency_key), '');
    problem text;
    digested bytea;
    holder record;
    place text;
BEGIN
    problem := CASE
        WHEN taskq_enqueue.type IS NULL OR taskq_enqueue.type !~ named
            THEN 'type must match ' || named || ', not ' || quote_nullable(taskq_enqueue.type)
        WHEN taskq_enqueue.queue IS NULL OR taskq_enqueue.queue !~ named
            THEN 'queue must match ' || named || ', not ' || quote_nullable(taskq_enqueue.queue)
        WHEN EXISTS (SELECT FROM unnest(given) AS object WHERE json_typeof(object)
            IS DISTINCT FROM 'object' OR octet_length(object::text) > 1048576)
            THEN 'payload, metadata, tags and policy must be JSON objects of at most 1 MiB'
        WHEN EXISTS (SELECT FROM json_each(given[3]) AS tag
            WHERE json_typeof(tag.value) <> 'string')
            THEN 'tags must be a JSON object of strings'
        WHEN EXISTS (SELECT FROM json_each(given[4]) AS item LEFT JOIN (VALUES {POLICY})
            AS known(key, kind) ON known.key = item.key
            WHERE json_typeof(item.value) IS DISTINCT FROM known.kind)
            THEN 'policy has {NAMES} only, each as a call from Python stores it'
        WHEN coalesce(taskq_enqueue.priority, 0) NOT BETWEEN 1 AND 4
            THEN 'priority must be 1 (low) to 4 (critical)'
        WHEN taskq_enqueue.max_retries NOT BETWEEN 0 AND 1000000000
            THEN 'max_retries must be 0 to 1000000000, or NULL for unlimited'
        WHEN EXISTS (SELECT FROM unnest(ARRAY[taskq_enqueue.run_at, taskq_enqueue.expires_at,
            taskq_enqueue.deadline_at]) AS at WHERE at NOT BETWEEN 'epoch' AND last)
            THEN 'run_at, expires_at and deadline_at must be in the years 1970 to 9998'
        WHEN taskq_enqueue.run_at IS NOT NULL AND taskq_enqueue.delay IS NOT NULL
            THEN 'run_at and delay exclude each other; give one'
        WHEN taskq_enqueue.delay < interval '0' THEN 'delay must not be negative'
        WHEN least(taskq_enqueue.timeout, taskq_enqueue.unique_for) <= interval '0'
            THEN 'timeout and unique_for must be above 0'
        WHEN coalesce(taskq_enqueue.on_duplicate, '') NOT IN
            ('allow_reuse', 'return_existing', 'allow_reuse_on_failure', 'no_reuse')
            THEN 'on_duplicate must be allow_reuse, return_existing, allow_reuse_on_failure or'
                ' no_reuse'
        WHEN coalesce(taskq_enqueue.on_mismatch, '') NOT IN ('error', 'ignore')
            THEN 'on_mismatch must be error or ignore'
        WHEN taskq_enqueue.idempotency_key = '' THEN 'idempotency_key must not be empty'
        WHEN taskq_enqueue.idempotency_key IS NULL AND taskq_enqueue.unique_for IS NOT NULL
            THEN 'unique_for needs an idempotency_key'
        WHEN greatest(length(taskq_enqueue.source), length(taskq_enqueue.correlation_id),
            length(taskq_enqueue.user_id)) > 1000
            THEN 'source, correlation_id and user_id have at most 1000 characters'
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'taskq_enqueue: ' || problem,
            ERRCODE = 'invalid_parameter_value';
    END IF;
    -- jsonb refuses what no reader could have back: NUL, lone surrogates, endless numbers.
    PERFORM object::jsonb FROM unnest(given) AS object;

    IF taskq_enqueue.idempotency_key IS NOT NULL THEN
        digested := sha256(convert_to(taskq_enqueue.queue, 'UTF8') || '\\x00'::bytea
            || convert_to(taskq_enqueue.type, 'UTF8') || '\\x00'::bytea
            || convert_to(taskq_enqueue.idempotency_key, 'UTF8'));
        FOR try IN 1..4 LOOP
            IF try = 4 THEN
                RAISE EXCEPTION USING MESSAGE = said || ' was freed and taken again and again, or'
                    ' its holder cannot be seen here: begin the transaction again',
                    ERRCODE = 'serialization_failure';
            END IF;
            INSERT INTO taskq_keys (hash, queue, type, activity_id, created_at, expires_at)
            VALUES (digested, taskq_enqueue.queue, taskq_enqueue.type, fresh, moment, until)
            ON CONFLICT (hash) DO NOTHING;
            EXIT WHEN FOUND;
            PERFORM FROM taskq_keys AS key WHERE key.hash = digested FOR UPDATE;
            CONTINUE WHEN NOT FOUND;
            SELECT activity.id, activity.status, activity.payload INTO holder
            FROM taskq_keys AS key
            JOIN taskq_activities AS activity ON activity.id = key.activity_id
            WHERE key.hash = digested AND coalesce(key.expires_at > clock_timestamp(), true);
            IF FOUND AND taskq_enqueue.on_duplicate = 'no_reuse' THEN
                RAISE EXCEPTION USING MESSAGE = said || ' is taken by activity ' || holder.id
                    || ' (' || holder.status || ') and on_duplicate is no_reuse',
                    ERRCODE = 'unique_violation';
            END IF;
            IF FOUND AND NOT (taskq_enqueue.on_duplicate = 'allow_reuse'
                OR (taskq_enqueue.on_duplicate = 'allow_reuse_on_failure'
                    AND holder.status IN ('failed', 'dead_letter', 'cancelled'))) THEN
                IF taskq_enqueue.on_mismatch = 'error'
                    AND holder.payload::jsonb <> taskq_enqueue.payload::jsonb THEN
                    RAISE EXCEPTION USING MESSAGE = said || ' was used with other arguments by'
                        ' activity ' || holder.id, ERRCODE = 'unique_violation',
                        HINT = 'on_mismatch => ''ignore'' shares it all the same';
                END IF;
                RETURN holder.id;
            END IF;
            UPDATE taskq_keys AS key
            SET activity_id = fresh, digest = NULL, created_at = moment, expires_at = until
            WHERE key.hash = digested;
            EXIT;
        END LOOP;
    END IF;

    INSERT INTO taskq_activities (id, queue, type, status, priority, payload, max_retries,
        timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key,
        expires_at, deadline_at, created_at, ready_at)
    VALUES (fresh, taskq_enqueue.queue, taskq_enqueue.type,
        CASE WHEN ready > moment THEN 'scheduled' ELSE 'pending' END, taskq_enqueue.priority,
        taskq_enqueue.payload, taskq_enqueue.max_retries,
        CASE WHEN taskq_enqueue.timeout IS NOT NULL
            THEN greatest(1, floor(extract(epoch FROM taskq_enqueue.timeout) * 1000)::bigint) END,
        taskq_enqueue.policy, taskq_enqueue.metadata, taskq_enqueue.tags, taskq_enqueue.source,
        taskq_enqueue.correlation_id, taskq_enqueue.user_id,
        left(taskq_enqueue.idempotency_key, 200), taskq_enqueue.expires_at,
        taskq_enqueue.deadline_at, moment, ready);
    PERFORM set_config('synchronous_commit', 'on', true);
    IF taskq_enqueue.notify THEN
        SELECT space.nspname INTO place FROM pg_class AS class
        JOIN pg_namespace AS space ON space.oid = class.relnamespace
        WHERE class.oid = 'taskq_activities'::regclass;
        PERFORM pg_notify('taskq:' || CASE WHEN octet_length(place) <= 49 THEN place
            ELSE left(encode(sha256(convert_to(place, 'UTF8')), 'hex'), 32) END || ':ready',
            'function');
    END IF;
    RETURN fresh;
END
$taskq$
"""

COMMENT = """
COMMENT ON FUNCTION taskq_enqueue IS
    'Stores a call of a taskq activity in the caller''s transaction; answers its id.'
"""


def upgrade() -> None:
    """Create the function, in the schema of the tables."""
    if op.get_context().dialect.name == "postgresql":
        op.execute(_verbatim(FUNCTION))
        op.execute(_verbatim(COMMENT))


def downgrade() -> None:
    """Drop it."""
    if op.get_context().dialect.name == "postgresql":
        op.execute(_verbatim(f"DROP FUNCTION IF EXISTS taskq_enqueue({TYPES})"))


def _verbatim(statement: str) -> sa.TextClause:
    """SQL in which a colon is only a colon."""
    return sa.text(statement.strip().replace(":", r"\:"))
