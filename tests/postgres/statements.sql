-- take_keys
INSERT INTO taskq_keys (hash, queue, type, activity_id, digest, created_at, expires_at) SELECT key.hash, key.queue, key.type, key.activity_id, key.digest, statement_timestamp(), CASE WHEN (key.unique_for IS NOT NULL) THEN least(statement_timestamp() + key.unique_for * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END AS anon_1
FROM unnest($1::BYTEA[], $2::TEXT[], $3::TEXT[], $4::UUID[], $5::BYTEA[], $6::DOUBLE PRECISION[]) AS key(hash, queue, type, activity_id, digest, unique_for) ORDER BY key.hash ON CONFLICT (hash) DO NOTHING RETURNING taskq_keys.hash;

-- lock_keys
SELECT taskq_keys.hash
FROM taskq_keys
WHERE taskq_keys.hash = ANY ($1::BYTEA[]) ORDER BY taskq_keys.hash FOR UPDATE;

-- key_holders
SELECT taskq_keys.hash, taskq_keys.digest, taskq_activities.id, taskq_activities.status, taskq_activities.created_at, CASE WHEN (taskq_keys.digest IS NULL) THEN taskq_activities.payload END AS anon_1, taskq_activities.parent_id, taskq_activities.claim
FROM taskq_keys JOIN taskq_activities ON taskq_keys.activity_id = taskq_activities.id
WHERE taskq_keys.hash = ANY ($1::BYTEA[]) AND (taskq_keys.expires_at IS NULL OR taskq_keys.expires_at > statement_timestamp());

-- point_keys
UPDATE taskq_keys SET activity_id=key.activity_id, digest=key.digest, created_at=statement_timestamp(), expires_at=CASE WHEN (key.unique_for IS NOT NULL) THEN least(statement_timestamp() + key.unique_for * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END FROM unnest((SELECT $1::BYTEA[] AS anon_1), (SELECT $2::UUID[] AS anon_2), (SELECT $3::BYTEA[] AS anon_3), (SELECT $4::DOUBLE PRECISION[] AS anon_4)) AS key(hash, activity_id, digest, unique_for) WHERE taskq_keys.hash = key.hash;

-- free_keys
DELETE FROM taskq_keys WHERE taskq_keys.hash = ANY ($1::BYTEA[]);

-- existing
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY ($1::UUID[]);

-- tell
SELECT (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_1
FROM unnest($1::TEXT[], $2::TEXT[]) AS hints(channels, payloads)) IS NOT NULL AS anon_1
WHERE (SELECT set_config('synchronous_commit', 'off', true) AS set_config_1) IS NOT NULL;

-- begin
SELECT now()
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL AND (SELECT set_config('lock_timeout', $1::VARCHAR, true) AS set_config_2) IS NOT NULL;

-- begin_reading
SELECT now()
WHERE (SELECT set_config('statement_timeout', $1::VARCHAR, true) AS set_config_1) IS NOT NULL;

-- settle
WITH held AS
(SELECT given.id AS id, given.worker AS worker, given.claim AS claim, given.status AS status, given.retry_count AS retry_count, given.crash_count AS crash_count, given.isolate AS isolate, given.delay AS delay, given.result AS result, given.error AS error, given.error_kind AS error_kind, given.fingerprint AS fingerprint, given.only_if_expired AS only_if_expired, given.cancelled AS cancelled, given.note AS note, given.attempt AS attempt, given.detail AS detail, coalesce(taskq_activities.status = 'processing' AND taskq_activities.worker = given.worker AND taskq_activities.claim = given.claim AND (given.only_if_expired IS false OR taskq_activities.lease_until < now()), false) AS applies, given.cancelled IS NOT NULL AND taskq_activities.cancel_requested_at IS NOT NULL AS instead, taskq_activities.cancel_tree AS cancel_tree, taskq_activities.status AS status_before, taskq_activities.worker AS worker_before, taskq_activities.claim AS claim_before
FROM unnest((SELECT $1::UUID[] AS anon_1), (SELECT $2::UUID[] AS anon_2), (SELECT $3::BIGINT[] AS anon_3), (SELECT $4::TEXT[] AS anon_4), (SELECT $5::INTEGER[] AS anon_5), (SELECT $6::INTEGER[] AS anon_6), (SELECT $7::BOOLEAN[] AS anon_7), (SELECT $8::DOUBLE PRECISION[] AS anon_8), (SELECT $9::TEXT[] AS anon_9), (SELECT $10::TEXT[] AS anon_10), (SELECT $11::TEXT[] AS anon_11), (SELECT $12::TEXT[] AS anon_12), (SELECT $13::BOOLEAN[] AS anon_13), (SELECT $14::TEXT[] AS anon_14), (SELECT $15::TEXT[] AS anon_15), (SELECT $16::INTEGER[] AS anon_16), (SELECT $17::TEXT[] AS anon_17)) AS given(id, worker, claim, status, retry_count, crash_count, isolate, delay, result, error, error_kind, fingerprint, only_if_expired, cancelled, note, attempt, detail) JOIN taskq_activities ON taskq_activities.id = given.id ORDER BY given.id FOR UPDATE OF taskq_activities),
settled AS
(UPDATE taskq_activities SET status=CASE WHEN held.instead THEN 'cancelled' ELSE held.status END, result=CASE WHEN held.instead THEN NULL ELSE held.result END, error=CASE WHEN held.instead THEN held.cancelled ELSE held.error END, error_kind=CASE WHEN held.instead THEN 'cancelled' ELSE held.error_kind END, fingerprint=held.fingerprint, retry_count=held.retry_count, crash_count=held.crash_count, worker=CASE WHEN held.only_if_expired THEN NULL ELSE held.worker END, lease_until=NULL, isolate=held.isolate, cancel_requested_at=NULL, expires_at=CASE WHEN (held.note IS NULL OR taskq_activities.expires_at <= taskq_activities.started_at) THEN taskq_activities.expires_at END, ready_at=CASE WHEN (held.instead OR held.delay IS NULL) THEN taskq_activities.ready_at ELSE least(now() + held.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END, finished_at=CASE WHEN (held.instead OR held.cancelled IS NULL) THEN now() END FROM held WHERE taskq_activities.id = held.id AND held.applies RETURNING taskq_activities.id),
noted AS
(INSERT INTO taskq_events (activity_id, at, kind, attempt, claim, worker, detail) SELECT held.id AS id, now(), held.note AS note, held.attempt AS attempt, held.claim AS claim, held.worker AS worker, held.detail AS detail
FROM held
WHERE held.applies AND held.note IS NOT NULL RETURNING taskq_events.id)
 SELECT held.id, held.applies, held.status_before, held.worker_before, held.claim_before, held.instead, held.cancel_tree
FROM held
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_1
FROM unnest($18::TEXT[], $19::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- expired
SELECT taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate
FROM taskq_activities
WHERE taskq_activities.status = 'processing' AND taskq_activities.lease_until < now() ORDER BY taskq_activities.lease_until, taskq_activities.id
 LIMIT $1;

-- orphans
SELECT taskq_activities.id
FROM taskq_activities AS parent JOIN taskq_activities ON taskq_activities.parent_id = parent.id
WHERE parent.id = ANY ($1::UUID[]) AND (taskq_activities.status || '') IN ('pending', 'scheduled', 'processing', 'retrying') AND taskq_activities.step IS NULL AND taskq_activities.idempotency_key IS NULL AND (taskq_activities.type NOT IN (parent.type || ':on_dead_letter', parent.type || ':on_failure'));

-- outcomes
SELECT taskq_activities.id, taskq_activities.status, taskq_activities.result, taskq_activities.error, taskq_activities.error_kind
FROM taskq_activities
WHERE taskq_activities.id = ANY ($1::UUID[]);

-- heartbeat
WITH held AS
(SELECT taskq_activities.id AS id, taskq_activities.cancel_requested_at IS NOT NULL AS cancelled
FROM unnest((SELECT $2::UUID[] AS anon_1), (SELECT $3::BIGINT[] AS anon_2)) AS given(id, claim) JOIN taskq_activities ON taskq_activities.id = given.id
WHERE (taskq_activities.status || '') = 'processing' AND taskq_activities.worker = $4::UUID AND taskq_activities.claim = given.claim ORDER BY given.id FOR UPDATE OF taskq_activities),
renewed AS
(UPDATE taskq_activities SET lease_until=(now() + $1::FLOAT * interval '1 second') FROM held WHERE taskq_activities.id = held.id RETURNING taskq_activities.id),
fresh AS
(INSERT INTO taskq_workers (id, name, host, pid, queues, types, concurrency, slots_used, suspended, threads_stuck, state, version, async_backend, started_at, seen_at, beat, detail) VALUES ($13::UUID, $14::VARCHAR, $15::VARCHAR, $16::BIGINT, $17::VARCHAR, $18::VARCHAR, $19::INTEGER, $20::INTEGER, $21::INTEGER, $22::INTEGER, $23::VARCHAR, $24::VARCHAR, $25::VARCHAR, $26::TIMESTAMP WITH TIME ZONE, now(), $27::BIGINT, $28::VARCHAR) ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid, queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency, slots_used = excluded.slots_used, suspended = excluded.suspended, threads_stuck = excluded.threads_stuck, state = excluded.state, version = excluded.version, async_backend = excluded.async_backend, started_at = excluded.started_at, seen_at = excluded.seen_at, beat = excluded.beat, detail = excluded.detail WHERE taskq_workers.beat < excluded.beat RETURNING taskq_workers.id),
counted AS
(INSERT INTO taskq_rollup (span, minute, queue, type, outcome, count, waits, runs) SELECT bucket.span AS span, bucket.minute AS minute, bucket.queue AS queue, bucket.type AS type, bucket.outcome AS outcome, bucket.count AS count, bucket.waits AS waits, bucket.runs AS runs
FROM unnest($5::INTEGER[], $6::TIMESTAMP WITH TIME ZONE[], $7::TEXT[], $8::TEXT[], $9::TEXT[], $10::BIGINT[], $11::TEXT[], $12::TEXT[]) AS bucket(span, minute, queue, type, outcome, count, waits, runs)
WHERE EXISTS (SELECT *
FROM fresh) ON CONFLICT (span, minute, queue, type, outcome) DO UPDATE SET count = (least(taskq_rollup.count, 9007199254740991 - excluded.count) + excluded.count), waits = CASE WHEN ((taskq_rollup.waits ~ '^\[[0-9]{1,15}(,[0-9]{1,15})*\]$') AND cardinality(string_to_array(btrim(taskq_rollup.waits, '[]'), ',')) = cardinality(string_to_array(btrim(excluded.waits, '[]'), ','))) THEN (SELECT '[' || array_to_string(array_agg(CAST("both".a AS BIGINT) + CAST("both".b AS BIGINT) ORDER BY "both".place), ',') || ']' AS anon_3
FROM unnest(string_to_array(btrim(taskq_rollup.waits, '[]'), ','), string_to_array(btrim(excluded.waits, '[]'), ',')) WITH ORDINALITY AS "both"(a, b, place)) ELSE excluded.waits END, runs = CASE WHEN ((taskq_rollup.runs ~ '^\[[0-9]{1,15}(,[0-9]{1,15})*\]$') AND cardinality(string_to_array(btrim(taskq_rollup.runs, '[]'), ',')) = cardinality(string_to_array(btrim(excluded.runs, '[]'), ','))) THEN (SELECT '[' || array_to_string(array_agg(CAST("both".a AS BIGINT) + CAST("both".b AS BIGINT) ORDER BY "both".place), ',') || ']' AS anon_4
FROM unnest(string_to_array(btrim(taskq_rollup.runs, '[]'), ','), string_to_array(btrim(excluded.runs, '[]'), ',')) WITH ORDINALITY AS "both"(a, b, place)) ELSE excluded.runs END RETURNING taskq_rollup.count)
 SELECT held.id, held.cancelled
FROM held
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL UNION ALL SELECT NULL::uuid, false
FROM fresh;

-- renew
WITH held AS
(SELECT taskq_activities.id AS id, taskq_activities.cancel_requested_at IS NOT NULL AS cancelled
FROM unnest((SELECT $2::UUID[] AS anon_1), (SELECT $3::BIGINT[] AS anon_2)) AS given(id, claim) JOIN taskq_activities ON taskq_activities.id = given.id
WHERE (taskq_activities.status || '') = 'processing' AND taskq_activities.worker = $4::UUID AND taskq_activities.claim = given.claim ORDER BY given.id FOR UPDATE OF taskq_activities),
renewed AS
(UPDATE taskq_activities SET lease_until=(now() + $1::FLOAT * interval '1 second') FROM held WHERE taskq_activities.id = held.id RETURNING taskq_activities.id)
 SELECT held.id, held.cancelled
FROM held
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL;

-- report_progress
WITH held AS
(SELECT taskq_activities.id AS id, given.progress AS progress
FROM unnest((SELECT $1::UUID[] AS anon_1), (SELECT $2::BIGINT[] AS anon_2), (SELECT $3::TEXT[] AS anon_3)) AS given(id, claim, progress) JOIN taskq_activities ON taskq_activities.id = given.id
WHERE (taskq_activities.status || '') = 'processing' AND taskq_activities.worker = $4::UUID AND taskq_activities.claim = given.claim ORDER BY given.id FOR UPDATE OF taskq_activities),
written AS
(UPDATE taskq_activities SET progress=held.progress FROM held WHERE taskq_activities.id = held.id RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM written
WHERE (SELECT set_config('synchronous_commit', 'off', true) AS set_config_1) IS NOT NULL;

-- trees_to_cancel
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY ($1::UUID[]) AND taskq_activities.cancel_tree;

-- see_worker
UPDATE taskq_workers SET seen_at=now() WHERE taskq_workers.id = $1::UUID;

-- forget_workers
DELETE FROM taskq_workers WHERE taskq_workers.id IN (SELECT taskq_workers.id
FROM taskq_workers
WHERE taskq_workers.seen_at < now() - $1::FLOAT * interval '1 second' ORDER BY taskq_workers.id FOR UPDATE SKIP LOCKED) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL;

-- held
SELECT taskq_activities.id, taskq_activities.claim, taskq_activities.cancel_requested_at
FROM taskq_activities
WHERE taskq_activities.status = 'processing' AND taskq_activities.worker = $1::UUID;

-- retire
DELETE FROM taskq_workers WHERE taskq_workers.id = $1::UUID;

-- waiting_types
WITH RECURSIVE steps(type) AS
(SELECT (SELECT min(taskq_activities.type) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR) AS type UNION ALL SELECT (SELECT min(taskq_activities.type) AS min_2
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type > steps.type) AS anon_1
FROM steps
WHERE steps.type IS NOT NULL)
 SELECT steps.type
FROM steps
WHERE steps.type IS NOT NULL;

-- fingerprints
WITH RECURSIVE steps(value) AS
(SELECT (SELECT min(taskq_activities.fingerprint) AS min_1
FROM taskq_activities
WHERE taskq_activities.fingerprint IS NOT NULL) AS value UNION ALL SELECT (SELECT min(taskq_activities.fingerprint) AS min_2
FROM taskq_activities
WHERE taskq_activities.fingerprint IS NOT NULL AND taskq_activities.fingerprint > steps.value) AS anon_1
FROM steps
WHERE steps.value IS NOT NULL)
 SELECT steps.value
FROM steps
WHERE steps.value IS NOT NULL
 LIMIT $1;

-- claim (children, 1)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN AND taskq_activities.type = ANY ($5::TEXT[]) ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $6 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- claim (children, 2)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY (array((SELECT chosen.id
FROM ((SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = $6::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) ORDER BY depth DESC, priority DESC, ready_at, id
 LIMIT $5::INTEGER) AS chosen))) AND (taskq_activities.status || '') = 'pending' ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $7 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- any_on_postgres
SELECT chosen.id
FROM ((SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN AND taskq_activities.type = ANY ($3::TEXT[]) ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $4::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = $5::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN AND taskq_activities.type = ANY ($3::TEXT[]) ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $4::INTEGER) ORDER BY depth DESC, priority DESC, ready_at, id
 LIMIT $4::INTEGER) AS chosen
 LIMIT 1;

-- link
INSERT INTO taskq_events (activity_id, at, kind, claim, detail) SELECT link.activity_id, statement_timestamp(), 'linked', link.claim, link.detail
FROM unnest((SELECT $1::UUID[] AS anon_1), (SELECT $2::BIGINT[] AS anon_2), (SELECT $3::TEXT[] AS anon_3)) AS link(activity_id, claim, detail) ON CONFLICT (activity_id, detail) WHERE kind = 'linked' DO NOTHING;

-- prune (due tops)
SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.parent_id AS parent_id, taskq_activities.created_at AS created_at, coalesce(taskq_activities.finished_at, taskq_activities.created_at) AS since
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status <= $2::VARCHAR AND (taskq_activities.queue, taskq_activities.status, taskq_activities.id) > ($1::VARCHAR, $2::VARCHAR, $3::UUID) ORDER BY taskq_activities.queue, taskq_activities.status, taskq_activities.id
 LIMIT 1000) AS looked
WHERE looked.since <= $4::TIMESTAMP WITH TIME ZONE AND (SELECT mother.id
FROM taskq_activities AS mother
WHERE mother.id = looked.parent_id
 LIMIT 1) IS NULL ORDER BY looked.id
 LIMIT $5::INTEGER;

-- prune (expired keys)
SELECT taskq_keys.hash
FROM taskq_keys
WHERE taskq_keys.expires_at IS NOT NULL AND taskq_keys.expires_at <= $1::TIMESTAMP WITH TIME ZONE ORDER BY taskq_keys.expires_at
 LIMIT $2::INTEGER FOR UPDATE SKIP LOCKED;

-- prune (alone)
SELECT pg_try_advisory_xact_lock(1953591409, $1::INTEGER) AS pg_try_advisory_xact_lock_1;

-- pauses
SELECT taskq_queues.kind, taskq_queues.name, taskq_queues.paused_at, taskq_queues.paused_by, taskq_queues.reason
FROM taskq_queues
WHERE taskq_queues.paused_at IS NOT NULL ORDER BY taskq_queues.kind, taskq_queues.name;

-- pause_on_postgres
INSERT INTO taskq_queues (kind, name, paused_at, paused_by, reason, updated_at, counted, counted_at, vouched) VALUES ($1::VARCHAR, $2::VARCHAR, $3::TIMESTAMP WITH TIME ZONE, $4::VARCHAR, $5::VARCHAR, $6::TIMESTAMP WITH TIME ZONE, $7::BIGINT, $8::TIMESTAMP WITH TIME ZONE, $9::BIGINT) ON CONFLICT (kind, name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by, reason = excluded.reason, updated_at = excluded.updated_at WHERE taskq_queues.paused_at IS NULL;

-- end_pause
DELETE FROM taskq_queues WHERE taskq_queues.kind = $1::VARCHAR AND taskq_queues.name = $2::VARCHAR AND taskq_queues.paused_at IS NOT NULL;

-- held
SELECT taskq_activities.type, taskq_activities.queue, count(*) AS number
FROM taskq_activities
WHERE taskq_activities.status = 'processing' GROUP BY taskq_activities.type, taskq_activities.queue;

-- waiting_of_type
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR
 LIMIT $3) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT taskq_activities.status AS status
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR
 LIMIT $3) AS anon_4
WHERE anon_4.status = 'scheduled') AS anon_3, (SELECT count(*) AS count_3
FROM (SELECT taskq_activities.status AS status
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR
 LIMIT $3) AS anon_4
WHERE anon_4.status = 'retrying') AS anon_5, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = false AND taskq_activities.priority = $4::SMALLINT) AS anon_6, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = false AND taskq_activities.priority = $5::SMALLINT) AS anon_7, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = false AND taskq_activities.priority = $6::SMALLINT) AS anon_8, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = false AND taskq_activities.priority = $7::SMALLINT) AS anon_9, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = true AND taskq_activities.priority = $8::SMALLINT) AS anon_10, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = true AND taskq_activities.priority = $9::SMALLINT) AS anon_11, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = true AND taskq_activities.priority = $10::SMALLINT) AS anon_12, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.type = $2::VARCHAR AND taskq_activities.isolate = true AND taskq_activities.priority = $11::SMALLINT) AS anon_13;

-- bounding turn_on_postgres
INSERT INTO taskq_queues (kind, name, updated_at, vouched) VALUES ($1::VARCHAR, $2::VARCHAR, clock_timestamp(), 0) ON CONFLICT (kind, name) DO UPDATE SET updated_at = clock_timestamp(), vouched = (CASE WHEN (taskq_queues.vouched > 0) THEN taskq_queues.vouched ELSE 0 END - $3::BIGINT) RETURNING taskq_queues.updated_at, taskq_queues.counted, taskq_queues.counted_at, taskq_queues.vouched;

-- bounding keep_count
UPDATE taskq_queues SET counted=$1::BIGINT, counted_at=$2::TIMESTAMP WITH TIME ZONE, vouched=$3::BIGINT WHERE taskq_queues.kind = 'bound' AND taskq_queues.name = $4::VARCHAR;

-- bounding count
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'pending' ORDER BY taskq_activities.isolate, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $2) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status IN ('scheduled', 'retrying') ORDER BY taskq_activities.type
 LIMIT $2) AS anon_4) AS anon_3;

-- bounding oldest_roots
SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT $2) AS anon_1 UNION ALL SELECT anon_2.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'scheduled' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT $2) AS anon_2 UNION ALL SELECT anon_3.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'retrying' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT $2) AS anon_3 ORDER BY id
 LIMIT $2;

-- bounding tell
SELECT (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_1
FROM unnest($1::TEXT[], $2::TEXT[]) AS hints(channels, payloads)) IS NOT NULL AS anon_1;

-- bounding moment
SELECT clock_timestamp() AS now;

-- claim (aging)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY (array((SELECT anon_1.id
FROM (SELECT lines.queue AS queue, lines.level AS level
FROM (SELECT places.queues AS queue, levels.level AS level
FROM unnest($3::TEXT[]) AS places(queues) JOIN (VALUES (1), (2), (3), (4)) AS levels (level) ON true) AS lines JOIN LATERAL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($4::FLOAT AS DOUBLE PRECISION))) AS risen
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = lines.queue AND taskq_activities.isolate = $5::BOOLEAN AND taskq_activities.priority <= lines.level ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT 1) AS anon_2 ON true
WHERE anon_2.priority = lines.level ORDER BY anon_2.risen DESC, anon_2.ready_at, anon_2.id
 LIMIT $6::INTEGER) AS best JOIN LATERAL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($4::FLOAT AS DOUBLE PRECISION))) AS risen
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = best.queue AND taskq_activities.isolate = $5::BOOLEAN AND taskq_activities.priority <= best.level ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $6::INTEGER) AS anon_1 ON true
WHERE anon_1.priority = best.level ORDER BY anon_1.risen DESC, anon_1.ready_at, anon_1.id
 LIMIT $6::INTEGER))) AND (taskq_activities.status || '') = 'pending' ORDER BY least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($4::FLOAT AS DOUBLE PRECISION))) DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $7 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- claim of types (aging)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY (array((SELECT anon_1.id
FROM (SELECT lines.queue AS queue, lines.level AS level, lines.type AS type
FROM (SELECT places.queues AS queue, levels.level AS level, places.types AS type
FROM unnest($3::TEXT[], $4::TEXT[]) AS places(queues, types) JOIN (VALUES (1), (2), (3), (4)) AS levels (level) ON true) AS lines JOIN LATERAL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($5::FLOAT AS DOUBLE PRECISION))) AS risen
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = lines.queue AND taskq_activities.isolate = $6::BOOLEAN AND taskq_activities.priority <= lines.level AND taskq_activities.type = lines.type ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT 1) AS anon_2 ON true
WHERE anon_2.priority = lines.level ORDER BY anon_2.risen DESC, anon_2.ready_at, anon_2.id
 LIMIT $7::INTEGER) AS best JOIN LATERAL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($5::FLOAT AS DOUBLE PRECISION))) AS risen
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = best.queue AND taskq_activities.isolate = $6::BOOLEAN AND taskq_activities.priority <= best.level AND taskq_activities.type = best.type ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $7::INTEGER) AS anon_1 ON true
WHERE anon_1.priority = best.level ORDER BY anon_1.risen DESC, anon_1.ready_at, anon_1.id
 LIMIT $7::INTEGER))) AND (taskq_activities.status || '') = 'pending' ORDER BY least(4, taskq_activities.priority + floor(greatest(0, EXTRACT(epoch FROM now() - taskq_activities.ready_at)) / CAST($5::FLOAT AS DOUBLE PRECISION))) DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $8 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- audit
INSERT INTO taskq_audit (id, at, actor, action, reason, target, detail, command_id) VALUES ($1::BIGINT, $2::TIMESTAMP WITH TIME ZONE, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR, $7::VARCHAR, $8::UUID) ON CONFLICT (command_id) DO NOTHING RETURNING taskq_audit.id;

-- listed by cause
WITH RECURSIVE steps(value) AS
(SELECT (SELECT min(taskq_activities.fingerprint) AS min_2
FROM taskq_activities
WHERE taskq_activities.fingerprint IS NOT NULL) AS value UNION ALL SELECT (SELECT min(taskq_activities.fingerprint) AS min_3
FROM taskq_activities
WHERE taskq_activities.fingerprint IS NOT NULL AND taskq_activities.fingerprint > steps.value) AS anon_3
FROM steps
WHERE steps.value IS NOT NULL)
 SELECT anon_1.value, anon_2.queue, anon_2.status, count(*) AS count_1, min(anon_2.finished_at) AS min_1, max(anon_2.finished_at) AS max_1
FROM (SELECT steps.value AS value
FROM steps
WHERE steps.value IS NOT NULL
 LIMIT $1) AS anon_1 JOIN LATERAL (SELECT taskq_activities.queue AS queue, taskq_activities.status AS status, taskq_activities.finished_at AS finished_at
FROM taskq_activities
WHERE taskq_activities.fingerprint = anon_1.value AND NOT coalesce((taskq_activities.user_id || '') IS NOT NULL, false) ORDER BY taskq_activities.id DESC
 LIMIT $2) AS anon_2 ON true GROUP BY anon_1.value, anon_2.queue, anon_2.status ORDER BY anon_1.value;

-- audit of what is left as it was
UPDATE taskq_audit SET detail=$1::VARCHAR WHERE taskq_audit.id = $2::BIGINT;

-- audit entries
SELECT taskq_audit.id, taskq_audit.at, taskq_audit.actor, taskq_audit.action, taskq_audit.reason, taskq_audit.target, taskq_audit.detail, taskq_audit.command_id
FROM taskq_audit
WHERE $1::BIGINT IS NULL OR taskq_audit.id < $1::BIGINT ORDER BY taskq_audit.id DESC
 LIMIT $2;

-- all_schedules
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules ORDER BY taskq_schedules.name;

-- lock_schedule
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules
WHERE taskq_schedules.name = $1::VARCHAR FOR UPDATE;

-- lock_free_schedule
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules
WHERE taskq_schedules.name = $1::VARCHAR FOR UPDATE SKIP LOCKED;

-- waiting_schedules
SELECT anon_1.name, anon_1.next_at, anon_1.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'due' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at <= $1::TIMESTAMP WITH TIME ZONE AND (taskq_schedules.next_at, taskq_schedules.name) > ($2::TIMESTAMP WITH TIME ZONE, $3::VARCHAR) AND (taskq_schedules.overlap != 'queue' OR (coalesce((SELECT taskq_activities.status
FROM taskq_activities
WHERE taskq_activities.id = taskq_schedules.last_activity_id), '') NOT IN ('pending', 'scheduled', 'processing', 'retrying'))) ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT $4) AS anon_1 UNION ALL SELECT anon_2.name, anon_2.next_at, anon_2.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'held' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at <= $1::TIMESTAMP WITH TIME ZONE AND taskq_schedules.overlap = 'queue' AND coalesce((SELECT taskq_activities.status
FROM taskq_activities
WHERE taskq_activities.id = taskq_schedules.last_activity_id), '') IN ('pending', 'scheduled', 'processing', 'retrying') ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT $5::INTEGER) AS anon_2 UNION ALL SELECT anon_3.name, anon_3.next_at, anon_3.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'ahead' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at > $1::TIMESTAMP WITH TIME ZONE ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT $6::INTEGER) AS anon_3 ORDER BY next_at, name;

-- update_schedule
UPDATE taskq_schedules SET name=$1::VARCHAR, cron=$2::VARCHAR, every_ms=$3::BIGINT, timezone=$4::VARCHAR, jitter_ms=$5::BIGINT, catch_up=$6::VARCHAR, overlap=$7::VARCHAR, queue=$8::VARCHAR, type=$9::VARCHAR, payload=$10::VARCHAR, options=$11::VARCHAR, digest=$12::VARCHAR, revision=$13::BIGINT, next_at=$14::TIMESTAMP WITH TIME ZONE, last_at=$15::TIMESTAMP WITH TIME ZONE, last_activity_id=$16::UUID, fired=$17::BIGINT, skipped=$18::BIGINT, paused_at=$19::TIMESTAMP WITH TIME ZONE, created_at=$20::TIMESTAMP WITH TIME ZONE, updated_at=$21::TIMESTAMP WITH TIME ZONE WHERE taskq_schedules.name = $22::VARCHAR;

-- delete_schedule
DELETE FROM taskq_schedules WHERE taskq_schedules.name = $1::VARCHAR;

-- last_state
SELECT taskq_activities.status, taskq_activities.finished_at
FROM taskq_activities
WHERE taskq_activities.id = $1::UUID;

-- add_on_postgres
INSERT INTO taskq_schedules (name, cron, every_ms, timezone, jitter_ms, catch_up, overlap, queue, type, payload, options, digest, revision, next_at, last_at, last_activity_id, fired, skipped, paused_at, created_at, updated_at) VALUES ($1::VARCHAR, $2::VARCHAR, $3::BIGINT, $4::VARCHAR, $5::BIGINT, $6::VARCHAR, $7::VARCHAR, $8::VARCHAR, $9::VARCHAR, $10::VARCHAR, $11::VARCHAR, $12::VARCHAR, $13::BIGINT, $14::TIMESTAMP WITH TIME ZONE, $15::TIMESTAMP WITH TIME ZONE, $16::UUID, $17::BIGINT, $18::BIGINT, $19::TIMESTAMP WITH TIME ZONE, $20::TIMESTAMP WITH TIME ZONE, $21::TIMESTAMP WITH TIME ZONE) ON CONFLICT (name) DO NOTHING;

-- fire_on_postgres
INSERT INTO taskq_activities (id, queue, type, status, priority, payload, result, error, error_kind, fingerprint, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, retry_count, crash_count, claim, worker, lease_until, isolate, cancel_requested_at, cancel_tree, parent_id, root_id, origin_id, depth, generation, step, progress, expires_at, deadline_at, created_at, ready_at, started_at, finished_at) VALUES ($1::UUID, $2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::SMALLINT, $6::VARCHAR, $7::VARCHAR, $8::VARCHAR, $9::VARCHAR, $10::VARCHAR, $11::INTEGER, $12::INTEGER, $13::BIGINT, $14::VARCHAR, $15::VARCHAR, $16::VARCHAR, $17::VARCHAR, $18::VARCHAR, $19::VARCHAR, $20::VARCHAR, $21::INTEGER, $22::INTEGER, $23::BIGINT, $24::UUID, $25::TIMESTAMP WITH TIME ZONE, $26::BOOLEAN, $27::TIMESTAMP WITH TIME ZONE, $28::BOOLEAN, $29::UUID, $30::UUID, $31::UUID, $32::INTEGER, $33::INTEGER, $34::VARCHAR, $35::VARCHAR, $36::TIMESTAMP WITH TIME ZONE, $37::TIMESTAMP WITH TIME ZONE, $38::TIMESTAMP WITH TIME ZONE, $39::TIMESTAMP WITH TIME ZONE, $40::TIMESTAMP WITH TIME ZONE, $41::TIMESTAMP WITH TIME ZONE) ON CONFLICT (id) DO NOTHING;

-- submit
WITH stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at) SELECT given.id AS id, given.queue AS queue, given.type AS type, given.priority AS priority, given.payload AS payload, given.max_retries AS max_retries, given.max_crashes AS max_crashes, given.timeout_ms AS timeout_ms, given.policy AS policy, given.metadata AS metadata, given.tags AS tags, given.source AS source, given.correlation_id AS correlation_id, given.user_id AS user_id, given.idempotency_key AS idempotency_key, given.isolate AS isolate, given.parent_id AS parent_id, given.root_id AS root_id, given.origin_id AS origin_id, given.depth AS depth, CASE WHEN (coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at
FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::SMALLINT[], $5::TEXT[], $6::INTEGER[], $7::INTEGER[], $8::BIGINT[], $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[], $14::TEXT[], $15::TEXT[], $16::BOOLEAN[], $17::UUID[], $18::UUID[], $19::UUID[], $20::INTEGER[], $21::TIMESTAMP WITH TIME ZONE[], $22::DOUBLE PRECISION[]) AS given(id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, run_at, delay) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM stored
WHERE (SELECT set_config('lock_timeout', $23::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($24::TEXT[], $25::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- submit (rare)
WITH stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at, step, generation, expires_at, deadline_at) SELECT given.id AS id, given.queue AS queue, given.type AS type, given.priority AS priority, given.payload AS payload, given.max_retries AS max_retries, given.max_crashes AS max_crashes, given.timeout_ms AS timeout_ms, given.policy AS policy, given.metadata AS metadata, given.tags AS tags, given.source AS source, given.correlation_id AS correlation_id, given.user_id AS user_id, given.idempotency_key AS idempotency_key, given.isolate AS isolate, given.parent_id AS parent_id, given.root_id AS root_id, given.origin_id AS origin_id, given.depth AS depth, CASE WHEN (coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at, given.step AS step, given.generation AS generation, least(given.expires_at, CASE WHEN (given.expires_in IS NOT NULL) THEN least(statement_timestamp() + given.expires_in * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS expires_at, least(given.deadline_at, CASE WHEN (given.deadline_in IS NOT NULL) THEN least(statement_timestamp() + given.deadline_in * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS deadline_at
FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::SMALLINT[], $5::TEXT[], $6::INTEGER[], $7::INTEGER[], $8::BIGINT[], $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[], $14::TEXT[], $15::TEXT[], $16::BOOLEAN[], $17::UUID[], $18::UUID[], $19::UUID[], $20::INTEGER[], $21::TIMESTAMP WITH TIME ZONE[], $22::DOUBLE PRECISION[], $23::TEXT[], $24::INTEGER[], $25::TIMESTAMP WITH TIME ZONE[], $26::DOUBLE PRECISION[], $27::TIMESTAMP WITH TIME ZONE[], $28::DOUBLE PRECISION[]) AS given(id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, run_at, delay, step, generation, expires_at, expires_in, deadline_at, deadline_in) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM stored
WHERE (SELECT set_config('lock_timeout', $29::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($30::TEXT[], $31::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- submit_one
INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at) SELECT $1::UUID AS id, $2::VARCHAR AS queue, $3::VARCHAR AS type, $4::SMALLINT AS priority, $5::VARCHAR AS payload, $6::INTEGER AS max_retries, $7::INTEGER AS max_crashes, $8::BIGINT AS timeout_ms, $9::VARCHAR AS policy, $10::VARCHAR AS metadata, $11::VARCHAR AS tags, $12::VARCHAR AS source, $13::VARCHAR AS correlation_id, $14::VARCHAR AS user_id, $15::VARCHAR AS idempotency_key, $16::BOOLEAN AS isolate, $17::UUID AS parent_id, $18::UUID AS root_id, $19::UUID AS origin_id, $20::INTEGER AS depth, CASE WHEN (coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at
WHERE (SELECT set_config('lock_timeout', $23::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_1
FROM unnest($24::TEXT[], $25::TEXT[]) AS hints(channels, payloads)) IS NOT NULL ON CONFLICT (id) DO NOTHING;

-- submit_one (rare)
INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at, step, generation, expires_at, deadline_at) SELECT $1::UUID AS id, $2::VARCHAR AS queue, $3::VARCHAR AS type, $4::SMALLINT AS priority, $5::VARCHAR AS payload, $6::INTEGER AS max_retries, $7::INTEGER AS max_crashes, $8::BIGINT AS timeout_ms, $9::VARCHAR AS policy, $10::VARCHAR AS metadata, $11::VARCHAR AS tags, $12::VARCHAR AS source, $13::VARCHAR AS correlation_id, $14::VARCHAR AS user_id, $15::VARCHAR AS idempotency_key, $16::BOOLEAN AS isolate, $17::UUID AS parent_id, $18::UUID AS root_id, $19::UUID AS origin_id, $20::INTEGER AS depth, CASE WHEN (coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at, $23::VARCHAR AS step, $24::INTEGER AS generation, least($25::TIMESTAMP WITH TIME ZONE, CASE WHEN ($26::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $26::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS expires_at, least($27::TIMESTAMP WITH TIME ZONE, CASE WHEN ($28::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $28::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS deadline_at
WHERE (SELECT set_config('lock_timeout', $29::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_1
FROM unnest($30::TEXT[], $31::TEXT[]) AS hints(channels, payloads)) IS NOT NULL ON CONFLICT (id) DO NOTHING;

-- insert_activities
WITH stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at) SELECT given.id AS id, given.queue AS queue, given.type AS type, given.priority AS priority, given.payload AS payload, given.max_retries AS max_retries, given.max_crashes AS max_crashes, given.timeout_ms AS timeout_ms, given.policy AS policy, given.metadata AS metadata, given.tags AS tags, given.source AS source, given.correlation_id AS correlation_id, given.user_id AS user_id, given.idempotency_key AS idempotency_key, given.isolate AS isolate, given.parent_id AS parent_id, given.root_id AS root_id, given.origin_id AS origin_id, given.depth AS depth, CASE WHEN (coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at
FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::SMALLINT[], $5::TEXT[], $6::INTEGER[], $7::INTEGER[], $8::BIGINT[], $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[], $14::TEXT[], $15::TEXT[], $16::BOOLEAN[], $17::UUID[], $18::UUID[], $19::UUID[], $20::INTEGER[], $21::TIMESTAMP WITH TIME ZONE[], $22::DOUBLE PRECISION[]) AS given(id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, run_at, delay) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM stored
WHERE (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($23::TEXT[], $24::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- insert_activities (rare)
WITH stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at, step, generation, expires_at, deadline_at) SELECT given.id AS id, given.queue AS queue, given.type AS type, given.priority AS priority, given.payload AS payload, given.max_retries AS max_retries, given.max_crashes AS max_crashes, given.timeout_ms AS timeout_ms, given.policy AS policy, given.metadata AS metadata, given.tags AS tags, given.source AS source, given.correlation_id AS correlation_id, given.user_id AS user_id, given.idempotency_key AS idempotency_key, given.isolate AS isolate, given.parent_id AS parent_id, given.root_id AS root_id, given.origin_id AS origin_id, given.depth AS depth, CASE WHEN (coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce(given.run_at, CASE WHEN (given.delay IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + given.delay * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at, given.step AS step, given.generation AS generation, least(given.expires_at, CASE WHEN (given.expires_in IS NOT NULL) THEN least(statement_timestamp() + given.expires_in * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS expires_at, least(given.deadline_at, CASE WHEN (given.deadline_in IS NOT NULL) THEN least(statement_timestamp() + given.deadline_in * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS deadline_at
FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::SMALLINT[], $5::TEXT[], $6::INTEGER[], $7::INTEGER[], $8::BIGINT[], $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[], $14::TEXT[], $15::TEXT[], $16::BOOLEAN[], $17::UUID[], $18::UUID[], $19::UUID[], $20::INTEGER[], $21::TIMESTAMP WITH TIME ZONE[], $22::DOUBLE PRECISION[], $23::TEXT[], $24::INTEGER[], $25::TIMESTAMP WITH TIME ZONE[], $26::DOUBLE PRECISION[], $27::TIMESTAMP WITH TIME ZONE[], $28::DOUBLE PRECISION[]) AS given(id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, run_at, delay, step, generation, expires_at, expires_in, deadline_at, deadline_in) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM stored
WHERE (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($29::TEXT[], $30::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- submit_keyed
WITH taken AS
(INSERT INTO taskq_keys (hash, queue, type, activity_id, digest, created_at, expires_at) SELECT $23::BYTEA AS anon_1, $24::VARCHAR AS anon_2, $25::VARCHAR AS anon_3, $26::UUID AS anon_4, $27::BYTEA AS anon_5, statement_timestamp(), CASE WHEN ($28::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $28::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END AS anon_6 ON CONFLICT (hash) DO NOTHING RETURNING taskq_keys.hash),
stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at) SELECT $1::UUID AS id, $2::VARCHAR AS queue, $3::VARCHAR AS type, $4::SMALLINT AS priority, $5::VARCHAR AS payload, $6::INTEGER AS max_retries, $7::INTEGER AS max_crashes, $8::BIGINT AS timeout_ms, $9::VARCHAR AS policy, $10::VARCHAR AS metadata, $11::VARCHAR AS tags, $12::VARCHAR AS source, $13::VARCHAR AS correlation_id, $14::VARCHAR AS user_id, $15::VARCHAR AS idempotency_key, $16::BOOLEAN AS isolate, $17::UUID AS parent_id, $18::UUID AS root_id, $19::UUID AS origin_id, $20::INTEGER AS depth, CASE WHEN (coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at
WHERE EXISTS (SELECT *
FROM taken) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM taken
WHERE (SELECT set_config('lock_timeout', $29::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($30::TEXT[], $31::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- submit_keyed (rare)
WITH taken AS
(INSERT INTO taskq_keys (hash, queue, type, activity_id, digest, created_at, expires_at) SELECT $29::BYTEA AS anon_1, $30::VARCHAR AS anon_2, $31::VARCHAR AS anon_3, $32::UUID AS anon_4, $33::BYTEA AS anon_5, statement_timestamp(), CASE WHEN ($34::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $34::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END AS anon_6 ON CONFLICT (hash) DO NOTHING RETURNING taskq_keys.hash),
stored AS
(INSERT INTO taskq_activities (id, queue, type, priority, payload, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, isolate, parent_id, root_id, origin_id, depth, status, created_at, ready_at, step, generation, expires_at, deadline_at) SELECT $1::UUID AS id, $2::VARCHAR AS queue, $3::VARCHAR AS type, $4::SMALLINT AS priority, $5::VARCHAR AS payload, $6::INTEGER AS max_retries, $7::INTEGER AS max_crashes, $8::BIGINT AS timeout_ms, $9::VARCHAR AS policy, $10::VARCHAR AS metadata, $11::VARCHAR AS tags, $12::VARCHAR AS source, $13::VARCHAR AS correlation_id, $14::VARCHAR AS user_id, $15::VARCHAR AS idempotency_key, $16::BOOLEAN AS isolate, $17::UUID AS parent_id, $18::UUID AS root_id, $19::UUID AS origin_id, $20::INTEGER AS depth, CASE WHEN (coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) > statement_timestamp()) THEN 'scheduled' ELSE 'pending' END AS status, statement_timestamp() AS created_at, coalesce($21::TIMESTAMP WITH TIME ZONE, CASE WHEN ($22::FLOAT IS NULL) THEN statement_timestamp() ELSE least(statement_timestamp() + $22::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS ready_at, $23::VARCHAR AS step, $24::INTEGER AS generation, least($25::TIMESTAMP WITH TIME ZONE, CASE WHEN ($26::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $26::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS expires_at, least($27::TIMESTAMP WITH TIME ZONE, CASE WHEN ($28::FLOAT IS NOT NULL) THEN least(statement_timestamp() + $28::FLOAT * interval '1 second', '9998-12-31T23:59:59.999999+00:00') END) AS deadline_at
WHERE EXISTS (SELECT *
FROM taken) ON CONFLICT (id) DO NOTHING RETURNING taskq_activities.id)
 SELECT count(*) AS count_1
FROM taken
WHERE (SELECT set_config('lock_timeout', $35::VARCHAR, true) AS set_config_1) IS NOT NULL AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_2) IS NOT NULL AND (SELECT count(pg_notify(hints.channels, hints.payloads)) AS count_2
FROM unnest($36::TEXT[], $37::TEXT[]) AS hints(channels, payloads)) IS NOT NULL;

-- claim (one queue)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- any_candidate (one queue)
SELECT chosen.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $3::INTEGER) AS chosen
 LIMIT 1;

-- claim (one type)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN AND taskq_activities.type = $5::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $6 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- any_candidate (one type)
SELECT chosen.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN AND taskq_activities.type = $3::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $4::INTEGER) AS chosen
 LIMIT 1;

-- claim (two queues, and two types of others)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY (array((SELECT chosen.id
FROM ((SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $6::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $7::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN AND taskq_activities.type = $8::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $9::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN AND taskq_activities.type = $10::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) ORDER BY priority DESC, ready_at, id
 LIMIT $5::INTEGER) AS chosen))) AND (taskq_activities.status || '') = 'pending' ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $11 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- any_candidate (two queues, and two types of others)
SELECT chosen.id
FROM ((SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $1::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $3::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $4::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $3::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $5::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN AND taskq_activities.type = $6::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $3::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $7::VARCHAR AND taskq_activities.isolate = $2::BOOLEAN AND taskq_activities.type = $8::VARCHAR ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $3::INTEGER) ORDER BY priority DESC, ready_at, id
 LIMIT $3::INTEGER) AS chosen
 LIMIT 1;

-- claim_served
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = ANY (array((SELECT chosen.id
FROM ((SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) UNION ALL (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at, taskq_activities.type AS type
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $6::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5::INTEGER) ORDER BY priority DESC, ready_at, id
 LIMIT $5::INTEGER) AS chosen
WHERE chosen.type = ANY ($7::TEXT[]) ORDER BY chosen.priority DESC, chosen.ready_at, chosen.id
 LIMIT $8::INTEGER))) AND (taskq_activities.status || '') = 'pending' ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $9 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- promote
WITH moved AS
(UPDATE taskq_activities SET status='pending' WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.ready_at <= now() ORDER BY taskq_activities.ready_at, taskq_activities.id
 LIMIT $1 FOR UPDATE SKIP LOCKED))) RETURNING taskq_activities.id)
 SELECT (SELECT count(*) AS count_1
FROM moved) AS anon_1, (SELECT CAST(EXTRACT(epoch FROM first.ready_at - now()) AS DOUBLE PRECISION) AS anon_3
FROM (SELECT taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.ready_at <= '9998-12-31T23:59:59.999999+00:00' ORDER BY taskq_activities.ready_at, taskq_activities.id
 LIMIT 1 OFFSET (SELECT count(*) AS count_1
FROM moved)) AS first) AS anon_2
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL;

-- promote (lawful)
WITH moved AS
(UPDATE taskq_activities SET status='pending' WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (cancel_requested_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (claim BETWEEN 0 AND 9007199254740991) IS NOT FALSE AND (crash_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (created_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (deadline_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (depth BETWEEN 0 AND 1000000000) IS NOT FALSE AND (expires_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (finished_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (generation BETWEEN 0 AND 1000000000) IS NOT FALSE AND (lease_until BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (length(queue) BETWEEN 1 AND 120) IS NOT FALSE AND (length(step) BETWEEN 1 AND 1000) IS NOT FALSE AND (length(type) BETWEEN 1 AND 120) IS NOT FALSE AND (max_crashes BETWEEN 1 AND 1000000000) IS NOT FALSE AND (max_retries BETWEEN 0 AND 1000000000) IS NOT FALSE AND (priority BETWEEN 1 AND 4) IS NOT FALSE AND (ready_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (retry_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (started_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)) IS NOT FALSE AND (status IN ('pending', 'scheduled', 'processing', 'retrying', 'completed', 'failed', 'dead_letter', 'cancelled')) IS NOT FALSE AND (timeout_ms BETWEEN 1 AND 9007199254740991) IS NOT FALSE AND taskq_activities.ready_at <= now() ORDER BY taskq_activities.ready_at, taskq_activities.id
 LIMIT $1 FOR UPDATE SKIP LOCKED))) RETURNING taskq_activities.id)
 SELECT (SELECT count(*) AS count_1
FROM moved) AS anon_1, (SELECT CAST(EXTRACT(epoch FROM first.ready_at - now()) AS DOUBLE PRECISION) AS anon_3
FROM (SELECT taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (cancel_requested_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (claim BETWEEN 0 AND 9007199254740991) IS NOT FALSE AND (crash_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (created_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (deadline_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (depth BETWEEN 0 AND 1000000000) IS NOT FALSE AND (expires_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (finished_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (generation BETWEEN 0 AND 1000000000) IS NOT FALSE AND (lease_until BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (length(queue) BETWEEN 1 AND 120) IS NOT FALSE AND (length(step) BETWEEN 1 AND 1000) IS NOT FALSE AND (length(type) BETWEEN 1 AND 120) IS NOT FALSE AND (max_crashes BETWEEN 1 AND 1000000000) IS NOT FALSE AND (max_retries BETWEEN 0 AND 1000000000) IS NOT FALSE AND (priority BETWEEN 1 AND 4) IS NOT FALSE AND (ready_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (retry_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (started_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)) IS NOT FALSE AND (status IN ('pending', 'scheduled', 'processing', 'retrying', 'completed', 'failed', 'dead_letter', 'cancelled')) IS NOT FALSE AND (timeout_ms BETWEEN 1 AND 9007199254740991) IS NOT FALSE AND taskq_activities.ready_at <= '9998-12-31T23:59:59.999999+00:00' ORDER BY taskq_activities.ready_at, taskq_activities.id
 LIMIT 1 OFFSET (SELECT count(*) AS count_1
FROM moved)) AS first) AS anon_2
WHERE (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL;

-- claim_overdue
WITH expired AS
(SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.expires_at <= now() ORDER BY taskq_activities.expires_at
 LIMIT $3::INTEGER FOR UPDATE SKIP LOCKED),
overdue AS
(SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.deadline_at <= now() ORDER BY taskq_activities.deadline_at
 LIMIT $3::INTEGER - (SELECT count(*) AS count_1
FROM expired) FOR UPDATE SKIP LOCKED)
 UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT expired.id
FROM expired UNION ALL SELECT overdue.id
FROM overdue))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- claim_overdue (lawful)
WITH expired AS
(SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.expires_at <= now() AND (cancel_requested_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (claim BETWEEN 0 AND 9007199254740991) IS NOT FALSE AND (crash_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (created_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (deadline_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (depth BETWEEN 0 AND 1000000000) IS NOT FALSE AND (expires_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (finished_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (generation BETWEEN 0 AND 1000000000) IS NOT FALSE AND (lease_until BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (length(queue) BETWEEN 1 AND 120) IS NOT FALSE AND (length(step) BETWEEN 1 AND 1000) IS NOT FALSE AND (length(type) BETWEEN 1 AND 120) IS NOT FALSE AND (max_crashes BETWEEN 1 AND 1000000000) IS NOT FALSE AND (max_retries BETWEEN 0 AND 1000000000) IS NOT FALSE AND (priority BETWEEN 1 AND 4) IS NOT FALSE AND (ready_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (retry_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (started_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)) IS NOT FALSE AND (status IN ('pending', 'scheduled', 'processing', 'retrying', 'completed', 'failed', 'dead_letter', 'cancelled')) IS NOT FALSE AND (timeout_ms BETWEEN 1 AND 9007199254740991) IS NOT FALSE ORDER BY taskq_activities.expires_at
 LIMIT $3::INTEGER FOR UPDATE SKIP LOCKED),
overdue AS
(SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.deadline_at <= now() AND (cancel_requested_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (claim BETWEEN 0 AND 9007199254740991) IS NOT FALSE AND (crash_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (created_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (deadline_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (depth BETWEEN 0 AND 1000000000) IS NOT FALSE AND (expires_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (finished_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (generation BETWEEN 0 AND 1000000000) IS NOT FALSE AND (lease_until BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (length(queue) BETWEEN 1 AND 120) IS NOT FALSE AND (length(step) BETWEEN 1 AND 1000) IS NOT FALSE AND (length(type) BETWEEN 1 AND 120) IS NOT FALSE AND (max_crashes BETWEEN 1 AND 1000000000) IS NOT FALSE AND (max_retries BETWEEN 0 AND 1000000000) IS NOT FALSE AND (priority BETWEEN 1 AND 4) IS NOT FALSE AND (ready_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (retry_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (started_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)) IS NOT FALSE AND (status IN ('pending', 'scheduled', 'processing', 'retrying', 'completed', 'failed', 'dead_letter', 'cancelled')) IS NOT FALSE AND (timeout_ms BETWEEN 1 AND 9007199254740991) IS NOT FALSE ORDER BY taskq_activities.deadline_at
 LIMIT $3::INTEGER - (SELECT count(*) AS count_1
FROM expired) FOR UPDATE SKIP LOCKED)
 UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT expired.id
FROM expired UNION ALL SELECT overdue.id
FROM overdue))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- claim (lawful)
UPDATE taskq_activities SET status='processing', claim=(taskq_activities.claim % 9007199254740991 + 1), worker=$1::UUID, lease_until=(clock_timestamp() + $2::FLOAT * interval '1 second'), started_at=clock_timestamp() WHERE taskq_activities.id = ANY (array((SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = $3::VARCHAR AND taskq_activities.isolate = $4::BOOLEAN AND (cancel_requested_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (claim BETWEEN 0 AND 9007199254740991) IS NOT FALSE AND (crash_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (created_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (deadline_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (depth BETWEEN 0 AND 1000000000) IS NOT FALSE AND (expires_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (finished_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (generation BETWEEN 0 AND 1000000000) IS NOT FALSE AND (lease_until BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (length(queue) BETWEEN 1 AND 120) IS NOT FALSE AND (length(step) BETWEEN 1 AND 1000) IS NOT FALSE AND (length(type) BETWEEN 1 AND 120) IS NOT FALSE AND (max_crashes BETWEEN 1 AND 1000000000) IS NOT FALSE AND (max_retries BETWEEN 0 AND 1000000000) IS NOT FALSE AND (priority BETWEEN 1 AND 4) IS NOT FALSE AND (ready_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (retry_count BETWEEN 0 AND 1000000000) IS NOT FALSE AND (started_at BETWEEN '1970-01-01 00:00:00+00:00' AND '9998-12-31 23:59:59.999999+00:00') IS NOT FALSE AND (status <> 'processing' OR (worker IS NOT NULL AND lease_until IS NOT NULL)) IS NOT FALSE AND (status IN ('pending', 'scheduled', 'processing', 'retrying', 'completed', 'failed', 'dead_letter', 'cancelled')) IS NOT FALSE AND (timeout_ms BETWEEN 1 AND 9007199254740991) IS NOT FALSE ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT $5 FOR UPDATE SKIP LOCKED))) AND (SELECT set_config('synchronous_commit', 'on', true) AS set_config_1) IS NOT NULL RETURNING taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate;

-- listed by tag
SELECT taskq_activities.id
FROM taskq_activities
WHERE CASE WHEN (taskq_activities.tags ~* $1::VARCHAR) THEN (CAST(taskq_activities.tags AS JSON) ->> $2::VARCHAR) = $3::VARCHAR ELSE $4::BOOLEAN END ORDER BY taskq_activities.id DESC
 LIMIT $5::INTEGER;

-- listed by terms
SELECT taskq_activities.id
FROM taskq_activities
WHERE NOT coalesce((taskq_activities.status || '') IN ($48::VARCHAR), false) AND NOT coalesce(CASE WHEN (taskq_activities.tags ~* $1::VARCHAR) THEN (CAST(taskq_activities.tags AS JSON) ->> $2::VARCHAR) = $3::VARCHAR ELSE $4::BOOLEAN END, false) AND (strpos(lower(taskq_activities.tags COLLATE "C"), $5::VARCHAR) > $6::INTEGER OR strpos(lower(taskq_activities.tags COLLATE "C"), $7::VARCHAR) > $8::INTEGER OR strpos(lower(taskq_activities.tags COLLATE "C"), $9::VARCHAR) > $10::INTEGER) AND NOT coalesce(substr(taskq_activities.user_id, $11::INTEGER, $12::INTEGER) = $13::VARCHAR, false) AND taskq_activities.created_at < $14::TIMESTAMP WITH TIME ZONE AND taskq_activities.id BETWEEN $15::UUID AND $16::UUID AND (strpos(lower(taskq_activities.error COLLATE "C"), $17::VARCHAR) > $18::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $19::VARCHAR) > $20::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $21::VARCHAR) > $22::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $23::VARCHAR) > $24::INTEGER) AND (strpos(lower(taskq_activities.payload COLLATE "C"), $25::VARCHAR) > $26::INTEGER AND strpos(lower(taskq_activities.payload COLLATE "C"), $27::VARCHAR) > $28::INTEGER AND strpos(lower(taskq_activities.payload COLLATE "C"), $29::VARCHAR) > $30::INTEGER OR strpos(lower(taskq_activities.payload COLLATE "C"), $31::VARCHAR) > $32::INTEGER OR strpos(lower(taskq_activities.payload COLLATE "C"), $33::VARCHAR) > $34::INTEGER) AND (strpos(lower(taskq_activities.type COLLATE "C"), $35::VARCHAR) > $36::INTEGER OR strpos(lower(taskq_activities.payload COLLATE "C"), $37::VARCHAR) > $38::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $39::VARCHAR) > $40::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $41::VARCHAR) > $42::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $43::VARCHAR) > $44::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $45::VARCHAR) > $46::INTEGER) ORDER BY taskq_activities.id DESC
 LIMIT $47::INTEGER;

-- search newest
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = $1::VARCHAR AND (strpos(lower(taskq_activities.type COLLATE "C"), $2::VARCHAR) > $3::INTEGER OR strpos(lower(taskq_activities.payload COLLATE "C"), $4::VARCHAR) > $5::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $6::VARCHAR) > $7::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $8::VARCHAR) > $9::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $10::VARCHAR) > $11::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $12::VARCHAR) > $13::INTEGER) AND taskq_activities.id = ANY (array((SELECT looked.id
FROM ((SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $14::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $15::UUID AND $16::UUID ORDER BY taskq_activities.id DESC
 LIMIT $17::INTEGER) UNION ALL (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $18::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $15::UUID AND $16::UUID ORDER BY taskq_activities.id DESC
 LIMIT $19::INTEGER) ORDER BY id DESC
 LIMIT $20::INTEGER) AS looked))) ORDER BY taskq_activities.id DESC
 LIMIT $21::INTEGER;

-- search newest: edge
SELECT taskq_activities.id, taskq_activities.created_at AS at, (SELECT count(*) AS count_1
FROM ((SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id DESC
 LIMIT $4::INTEGER) UNION ALL (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $5::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id DESC
 LIMIT $6::INTEGER) ORDER BY id DESC
 LIMIT $7::INTEGER) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM ((SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id DESC
 LIMIT $4::INTEGER) UNION ALL (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $5::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id DESC
 LIMIT $6::INTEGER) ORDER BY id DESC
 LIMIT $7::INTEGER) AS looked ORDER BY looked.id ASC
 LIMIT $8::INTEGER);

-- search newest: count
SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = $1::VARCHAR AND (strpos(lower(taskq_activities.type COLLATE "C"), $2::VARCHAR) > $3::INTEGER OR strpos(lower(taskq_activities.payload COLLATE "C"), $4::VARCHAR) > $5::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $6::VARCHAR) > $7::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $8::VARCHAR) > $9::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $10::VARCHAR) > $11::INTEGER OR strpos(lower(taskq_activities.error COLLATE "C"), $12::VARCHAR) > $13::INTEGER) AND taskq_activities.id = ANY (array((SELECT looked.id
FROM ((SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $14::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $15::UUID AND $16::UUID ORDER BY taskq_activities.id DESC
 LIMIT $17::INTEGER) UNION ALL (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $18::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $15::UUID AND $16::UUID ORDER BY taskq_activities.id DESC
 LIMIT $19::INTEGER) ORDER BY id DESC
 LIMIT $20::INTEGER) AS looked))) ORDER BY taskq_activities.id DESC
 LIMIT $21::INTEGER) AS found;

-- search oldest
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE CASE WHEN (taskq_activities.tags ~* $1::VARCHAR) THEN (CAST(taskq_activities.tags AS JSON) ->> $2::VARCHAR) = $3::VARCHAR ELSE $4::BOOLEAN END AND taskq_activities.id = ANY (array((SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $5::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $6::UUID AND $7::UUID ORDER BY taskq_activities.id ASC
 LIMIT $8::INTEGER) AS looked))) ORDER BY taskq_activities.id ASC
 LIMIT $9::INTEGER;

-- search oldest: edge
SELECT taskq_activities.id, taskq_activities.created_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id ASC
 LIMIT $4::INTEGER) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $1::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $2::UUID AND $3::UUID ORDER BY taskq_activities.id ASC
 LIMIT $4::INTEGER) AS looked ORDER BY looked.id DESC
 LIMIT $5::INTEGER);

-- search oldest: count
SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE CASE WHEN (taskq_activities.tags ~* $1::VARCHAR) THEN (CAST(taskq_activities.tags AS JSON) ->> $2::VARCHAR) = $3::VARCHAR ELSE $4::BOOLEAN END AND taskq_activities.id = ANY (array((SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = $5::VARCHAR AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN $6::UUID AND $7::UUID ORDER BY taskq_activities.id ASC
 LIMIT $8::INTEGER) AS looked))) ORDER BY taskq_activities.id ASC
 LIMIT $9::INTEGER) AS found;

-- search due
SELECT taskq_activities.id, taskq_activities.ready_at AS at
FROM taskq_activities
WHERE (taskq_activities.status || '') IN ($6::VARCHAR) AND (taskq_activities.type || '') = $1::VARCHAR AND taskq_activities.id = ANY (array((SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > ($2::TIMESTAMP WITH TIME ZONE, $3::UUID) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $4::INTEGER) AS looked))) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $5::INTEGER;

-- search due: edge
SELECT taskq_activities.id, taskq_activities.ready_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > ($1::TIMESTAMP WITH TIME ZONE, $2::UUID) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $3::INTEGER) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > ($1::TIMESTAMP WITH TIME ZONE, $2::UUID) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $3::INTEGER) AS looked ORDER BY looked.ready_at DESC, looked.id DESC
 LIMIT $4::INTEGER);

-- search due: count
SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS at
FROM taskq_activities
WHERE (taskq_activities.status || '') IN ($4::VARCHAR) AND (taskq_activities.type || '') = $1::VARCHAR AND taskq_activities.id = ANY (array((SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $2::INTEGER) AS looked))) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT $3::INTEGER) AS found;

-- search started
SELECT taskq_activities.id, coalesce(taskq_activities.started_at, taskq_activities.created_at) AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = $1::VARCHAR AND taskq_activities.status = 'processing' AND (coalesce(taskq_activities.started_at, taskq_activities.created_at), taskq_activities.id) > ($2::TIMESTAMP WITH TIME ZONE, $3::UUID) ORDER BY coalesce(taskq_activities.started_at, taskq_activities.created_at) ASC, taskq_activities.id ASC
 LIMIT $4::INTEGER;

-- search started: count
SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, coalesce(taskq_activities.started_at, taskq_activities.created_at) AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = $1::VARCHAR AND taskq_activities.status = 'processing' ORDER BY coalesce(taskq_activities.started_at, taskq_activities.created_at) ASC, taskq_activities.id ASC
 LIMIT $2::INTEGER) AS found;

-- search: along indexes
SELECT set_config($1::VARCHAR, $2::VARCHAR, true) AS set_config_1, set_config($3::VARCHAR, $4::VARCHAR, true) AS set_config_4, set_config($5::VARCHAR, $6::VARCHAR, true) AS set_config_7, set_config($7::VARCHAR, $8::VARCHAR, true) AS set_config_10, set_config($9::VARCHAR, $10::VARCHAR, true) AS set_config_13;
