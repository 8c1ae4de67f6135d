-- insert_activities
INSERT INTO taskq_activities (id, queue, type, status, priority, payload, result, error, error_kind, fingerprint, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, retry_count, crash_count, claim, worker, lease_until, isolate, cancel_requested_at, cancel_tree, parent_id, root_id, origin_id, depth, generation, step, progress, expires_at, deadline_at, created_at, ready_at, started_at, finished_at) VALUES (:id, :queue, :type, :status, :priority, :payload, :result, :error, :error_kind, :fingerprint, :max_retries, :max_crashes, :timeout_ms, :policy, :metadata, :tags, :source, :correlation_id, :user_id, :idempotency_key, :retry_count, :crash_count, :claim, :worker, :lease_until, :isolate, :cancel_requested_at, :cancel_tree, :parent_id, :root_id, :origin_id, :depth, :generation, :step, :progress, :expires_at, :deadline_at, :created_at, :ready_at, :started_at, :finished_at) ON CONFLICT (id) DO NOTHING;

-- existing
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- key_holders
SELECT taskq_keys.hash, taskq_keys.digest, taskq_activities.id, taskq_activities.status, taskq_activities.created_at, CASE WHEN (taskq_keys.digest IS NULL) THEN taskq_activities.payload END AS payload, taskq_activities.parent_id, taskq_activities.claim
FROM taskq_keys JOIN taskq_activities ON taskq_keys.activity_id = taskq_activities.id
WHERE taskq_keys.hash IN (__[POSTCOMPILE_hashes]) AND (taskq_keys.expires_at IS NULL OR taskq_keys.expires_at > :now);

-- point_keys
INSERT INTO taskq_keys (hash, queue, type, activity_id, digest, created_at, expires_at) VALUES (:hash, :queue, :type, :activity_id, :digest, :created_at, :expires_at) ON CONFLICT (hash) DO UPDATE SET queue = excluded.queue, type = excluded.type, activity_id = excluded.activity_id, digest = excluded.digest, created_at = excluded.created_at, expires_at = excluded.expires_at;

-- waiting_types
WITH RECURSIVE steps(type) AS
(SELECT (SELECT min(taskq_activities.type) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue) AS type UNION ALL SELECT (SELECT min(taskq_activities.type) AS min_2
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type > steps.type) AS anon_1
FROM steps
WHERE steps.type IS NOT NULL)
 SELECT steps.type
FROM steps
WHERE steps.type IS NOT NULL;

-- overdue
SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.expires_at <= :now ORDER BY taskq_activities.expires_at
 LIMIT :limit OFFSET :param_1) AS anon_1 UNION ALL SELECT anon_2.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.deadline_at <= :now ORDER BY taskq_activities.deadline_at
 LIMIT :limit OFFSET :param_2) AS anon_2
 LIMIT :limit OFFSET :param_3;

-- claim_overdue
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT anon_2.id AS id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.expires_at <= :now ORDER BY taskq_activities.expires_at
 LIMIT :limit OFFSET :param_1) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.status IN ('pending', 'scheduled', 'retrying') AND taskq_activities.deadline_at <= :now ORDER BY taskq_activities.deadline_at
 LIMIT :limit OFFSET :param_2) AS anon_3
 LIMIT :limit OFFSET :param_3) AS anon_1) RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- holdings
SELECT taskq_activities.id, taskq_activities.status, taskq_activities.worker, taskq_activities.claim, taskq_activities.lease_until, taskq_activities.cancel_requested_at, taskq_activities.ready_at, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.isolate, taskq_activities.cancel_tree, taskq_activities.started_at, taskq_activities.expires_at
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]) ORDER BY taskq_activities.id;

-- settle
UPDATE taskq_activities SET status=:new_status, result=:new_result, error=:new_error, error_kind=:new_error_kind, fingerprint=:new_fingerprint, retry_count=:new_retry_count, crash_count=:new_crash_count, worker=:new_worker, lease_until=:lease_until, isolate=:new_isolate, cancel_requested_at=:cancel_requested_at, expires_at=:new_expires_at, ready_at=:new_ready_at, finished_at=:new_finished_at WHERE taskq_activities.id = :of_id AND taskq_activities.worker = :of_worker AND taskq_activities.claim = :of_claim AND taskq_activities.status = 'processing';

-- insert_events
INSERT INTO taskq_events (id, activity_id, at, kind, attempt, claim, worker, detail) VALUES (:id, :activity_id, :at, :kind, :attempt, :claim, :worker, :detail);

-- held
SELECT taskq_activities.id, taskq_activities.claim, taskq_activities.cancel_requested_at
FROM taskq_activities
WHERE taskq_activities.status = 'processing' AND taskq_activities.worker = :worker;

-- renew
UPDATE taskq_activities SET lease_until=:until WHERE taskq_activities.id = :of_id AND taskq_activities.worker = :of_worker AND taskq_activities.claim = :of_claim AND taskq_activities.status = 'processing';

-- expired
SELECT taskq_activities.id, taskq_activities.worker, taskq_activities.claim, taskq_activities.type, taskq_activities.queue, taskq_activities.payload, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.parent_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.priority, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.policy, taskq_activities.metadata, taskq_activities.tags, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.started_at, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.isolate
FROM taskq_activities
WHERE taskq_activities.status = 'processing' AND taskq_activities.lease_until < :now ORDER BY taskq_activities.lease_until, taskq_activities.id
 LIMIT :limit OFFSET :param_1;

-- next_due
SELECT taskq_activities.ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') ORDER BY taskq_activities.ready_at
 LIMIT :param_1 OFFSET :param_2;

-- promote
UPDATE taskq_activities SET status=:status WHERE taskq_activities.id IN (SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.ready_at <= :now ORDER BY taskq_activities.ready_at, taskq_activities.id
 LIMIT :limit OFFSET :param_1);

-- cancel
UPDATE taskq_activities SET status=:status, error=:new_error, error_kind=:new_error_kind, finished_at=:now WHERE taskq_activities.id = :of_id AND taskq_activities.status = :was;

-- request_cancel
UPDATE taskq_activities SET cancel_requested_at=:now WHERE taskq_activities.id = :of_id AND taskq_activities.status = 'processing';

-- request_cancel_of_tree
UPDATE taskq_activities SET cancel_tree=1 WHERE taskq_activities.id = :of_id AND taskq_activities.status = 'processing';

-- descendants
WITH RECURSIVE found(top, id, parent_id, status, claim) AS
(SELECT taskq_activities.id AS top, taskq_activities.id AS id, taskq_activities.parent_id AS parent_id, taskq_activities.status AS status, taskq_activities.claim AS claim
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_tops]) UNION SELECT found.top AS top, child.id AS id, child.parent_id AS parent_id, child.status AS status, child.claim AS claim
FROM found, taskq_activities AS child
WHERE child.parent_id = found.id AND child.parent_id IS NOT NULL)
 SELECT found.top, found.id, found.parent_id, found.status, found.claim
FROM found;

-- report_progress
UPDATE taskq_activities SET progress=:new_progress WHERE taskq_activities.id = :of_id AND taskq_activities.worker = :of_worker AND taskq_activities.claim = :of_claim AND taskq_activities.status = 'processing';

-- last_beat
SELECT taskq_workers.beat
FROM taskq_workers
WHERE taskq_workers.id = :worker;

-- put_worker
INSERT INTO taskq_workers (id, name, host, pid, queues, types, concurrency, slots_used, suspended, threads_stuck, state, version, async_backend, started_at, seen_at, beat, detail) VALUES (:id, :name, :host, :pid, :queues, :types, :concurrency, :slots_used, :suspended, :threads_stuck, :state, :version, :async_backend, :started_at, :seen_at, :beat, :detail) ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid, queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency, slots_used = excluded.slots_used, suspended = excluded.suspended, threads_stuck = excluded.threads_stuck, state = excluded.state, version = excluded.version, async_backend = excluded.async_backend, started_at = excluded.started_at, seen_at = excluded.seen_at, beat = excluded.beat, detail = excluded.detail;

-- retire
DELETE FROM taskq_workers WHERE taskq_workers.id = :worker;

-- forget_workers
DELETE FROM taskq_workers WHERE taskq_workers.seen_at < :last;

-- bucket
SELECT taskq_rollup.count, taskq_rollup.waits, taskq_rollup.runs
FROM taskq_rollup
WHERE taskq_rollup.span = :span AND taskq_rollup.minute = :minute AND taskq_rollup.queue = :queue AND taskq_rollup.type = :type AND taskq_rollup.outcome = :outcome;

-- put_bucket
INSERT INTO taskq_rollup (span, minute, queue, type, outcome, count, waits, runs) VALUES (:span, :minute, :queue, :type, :outcome, :count, :waits, :runs) ON CONFLICT (span, minute, queue, type, outcome) DO UPDATE SET count = excluded.count, waits = excluded.waits, runs = excluded.runs;

-- get
SELECT taskq_activities.id, taskq_activities.type, taskq_activities.queue, taskq_activities.status, taskq_activities.priority, taskq_activities.payload, taskq_activities.result, taskq_activities.error, taskq_activities.fingerprint, taskq_activities.retry_count, taskq_activities.crash_count, taskq_activities.max_retries, taskq_activities.max_crashes, taskq_activities.timeout_ms, taskq_activities.created_at, taskq_activities.ready_at, taskq_activities.started_at, taskq_activities.finished_at, taskq_activities.lease_until, taskq_activities.cancel_requested_at, taskq_activities.worker, taskq_activities.claim, taskq_activities.isolate, taskq_activities.parent_id, taskq_activities.root_id, taskq_activities.origin_id, taskq_activities.depth, taskq_activities.generation, taskq_activities.step, taskq_activities.expires_at, taskq_activities.deadline_at, taskq_activities.idempotency_key, taskq_activities.source, taskq_activities.correlation_id, taskq_activities.user_id, taskq_activities.progress, taskq_activities.tags, taskq_activities.metadata, taskq_activities.error_kind
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- inside
SELECT taskq_activities.id, taskq_activities.type, taskq_activities.payload, taskq_activities.error, taskq_activities.error_kind, taskq_activities.tags
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- outcomes
SELECT taskq_activities.id, taskq_activities.status, taskq_activities.result, taskq_activities.error, taskq_activities.error_kind
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- timeline
SELECT taskq_events.id, taskq_events.activity_id, taskq_events.at, taskq_events.kind, taskq_events.attempt, taskq_events.claim, taskq_events.worker, taskq_events.detail
FROM taskq_events
WHERE taskq_events.activity_id = :activity ORDER BY taskq_events.id;

-- root_of
SELECT coalesce(taskq_activities.root_id, taskq_activities.id) AS coalesce_1
FROM taskq_activities
WHERE taskq_activities.id = :id;

-- of_tree
SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id = :root ORDER BY taskq_activities.id
 LIMIT :limit OFFSET :param_1) AS anon_1 UNION ALL SELECT anon_2.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.parent_id IS NOT NULL AND taskq_activities.root_id = :root AND taskq_activities.id != :root ORDER BY taskq_activities.id
 LIMIT :limit OFFSET :param_2) AS anon_2 ORDER BY id
 LIMIT :limit OFFSET :param_3;

-- live_workers
SELECT taskq_workers.id, taskq_workers.name, taskq_workers.host, taskq_workers.pid, taskq_workers.queues, taskq_workers.types, taskq_workers.concurrency, taskq_workers.slots_used, taskq_workers.suspended, taskq_workers.threads_stuck, taskq_workers.state, taskq_workers.version, taskq_workers.async_backend, taskq_workers.started_at, taskq_workers.seen_at, taskq_workers.beat, taskq_workers.detail
FROM taskq_workers
WHERE taskq_workers.seen_at >= :since ORDER BY taskq_workers.started_at DESC, taskq_workers.id DESC;

-- series
SELECT taskq_rollup.span, taskq_rollup.minute, taskq_rollup.queue, taskq_rollup.type, taskq_rollup.outcome, taskq_rollup.count, taskq_rollup.waits, taskq_rollup.runs
FROM taskq_rollup
WHERE taskq_rollup.span = :span AND taskq_rollup.minute >= :since AND taskq_rollup.minute < :until ORDER BY taskq_rollup.minute, taskq_rollup.queue, taskq_rollup.type, taskq_rollup.outcome;

-- orphans
SELECT taskq_activities.id
FROM taskq_activities AS parent JOIN taskq_activities ON taskq_activities.parent_id = parent.id
WHERE parent.id IN (__[POSTCOMPILE_parents]) AND (taskq_activities.status || '') IN ('pending', 'scheduled', 'processing', 'retrying') AND taskq_activities.step IS NULL AND taskq_activities.idempotency_key IS NULL AND (taskq_activities.type NOT IN (parent.type || ':on_dead_letter', parent.type || ':on_failure'));

-- queues
WITH RECURSIVE steps(value) AS
(SELECT (SELECT min(taskq_activities.queue) AS min_1
FROM taskq_activities) AS value UNION ALL SELECT (SELECT min(taskq_activities.queue) AS min_2
FROM taskq_activities
WHERE taskq_activities.queue > steps.value) AS anon_1
FROM steps
WHERE steps.value IS NOT NULL)
 SELECT steps.value
FROM steps
WHERE steps.value IS NOT NULL;

-- due_types
WITH RECURSIVE steps(value) AS
(SELECT (SELECT min(taskq_activities.type) AS min_1
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = :queue) AS value UNION ALL SELECT (SELECT min(taskq_activities.type) AS min_2
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = :queue AND taskq_activities.type > steps.value) AS anon_1
FROM steps
WHERE steps.value IS NOT NULL)
 SELECT steps.value
FROM steps
WHERE steps.value IS NOT NULL;

-- count_by_status
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'pending'
 LIMIT :cap OFFSET :param_1) AS anon_1) AS pending, (SELECT count(*) AS count_2
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'scheduled'
 LIMIT :cap OFFSET :param_2) AS anon_2) AS scheduled, (SELECT count(*) AS count_3
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'processing'
 LIMIT :cap OFFSET :param_3) AS anon_3) AS processing, (SELECT count(*) AS count_4
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'retrying'
 LIMIT :cap OFFSET :param_4) AS anon_4) AS retrying, (SELECT count(*) AS count_5
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'completed'
 LIMIT :cap OFFSET :param_5) AS anon_5) AS completed, (SELECT count(*) AS count_6
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'failed'
 LIMIT :cap OFFSET :param_6) AS anon_6) AS failed, (SELECT count(*) AS count_7
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'dead_letter'
 LIMIT :cap OFFSET :param_7) AS anon_7) AS dead_letter, (SELECT count(*) AS count_8
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'cancelled'
 LIMIT :cap OFFSET :param_8) AS anon_8) AS cancelled;

-- count_pending
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_1
 LIMIT :cap OFFSET :param_1) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_2
 LIMIT :cap OFFSET :param_2) AS anon_4) AS anon_3, (SELECT count(*) AS count_3
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_3
 LIMIT :cap OFFSET :param_3) AS anon_6) AS anon_5, (SELECT count(*) AS count_4
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_4
 LIMIT :cap OFFSET :param_4) AS anon_8) AS anon_7, (SELECT count(*) AS count_5
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_5
 LIMIT :cap OFFSET :param_5) AS anon_10) AS anon_9, (SELECT count(*) AS count_6
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_6
 LIMIT :cap OFFSET :param_6) AS anon_12) AS anon_11, (SELECT count(*) AS count_7
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_7
 LIMIT :cap OFFSET :param_7) AS anon_14) AS anon_13, (SELECT count(*) AS count_8
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_8
 LIMIT :cap OFFSET :param_8) AS anon_16) AS anon_15, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_1) AS anon_17, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_2) AS anon_18, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_3) AS anon_19, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_4) AS anon_20, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_5) AS anon_21, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_6) AS anon_22, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_7) AS anon_23, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_8) AS anon_24;

-- count_waiting
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type
 LIMIT :cap OFFSET :param_1) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = :queue AND taskq_activities.type = :type
 LIMIT :cap OFFSET :param_2) AS anon_4) AS anon_3;

-- chosen
SELECT taskq_activities.id, taskq_activities.status, taskq_activities.error, taskq_activities.claim, taskq_activities.max_crashes, taskq_activities.priority, taskq_activities.ready_at
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]) ORDER BY taskq_activities.id;

-- calls
SELECT taskq_activities.id, taskq_activities.status, taskq_activities.type, taskq_activities.step, taskq_activities.payload
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- retry
UPDATE taskq_activities SET status=:new_status, result=:result, error=:error, error_kind=:error_kind, fingerprint=:fingerprint, retry_count=:retry_count, crash_count=:crash_count, isolate=:alone, cancel_tree=0, progress=:progress, expires_at=CASE WHEN (taskq_activities.expires_at > :now) THEN taskq_activities.expires_at END, deadline_at=CASE WHEN (taskq_activities.deadline_at > :now) THEN taskq_activities.deadline_at END, ready_at=:new_ready_at, finished_at=:finished_at WHERE taskq_activities.id = :of_id AND taskq_activities.status = :was;

-- edit
UPDATE taskq_activities SET payload=:new_payload WHERE taskq_activities.id = :of_id;

-- renew_keys
UPDATE taskq_keys SET digest=:new_digest WHERE taskq_keys.activity_id = :of_id AND taskq_keys.digest IS NOT NULL;

-- reschedule
UPDATE taskq_activities SET status=:new_status, ready_at=:new_ready_at WHERE taskq_activities.id = :of_id AND taskq_activities.status = :was;

-- set_priority
UPDATE taskq_activities SET priority=:new_priority WHERE taskq_activities.id = :of_id AND taskq_activities.status = :was;

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
 LIMIT :most OFFSET :param_1;

-- ends
SELECT taskq_activities.queue, taskq_activities.status, 1, taskq_activities.finished_at AS first, taskq_activities.finished_at AS last
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- claim (one queue)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_0 AND taskq_activities.isolate = :alone ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT :limit OFFSET :param_1) AS anon_1) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- claim (one type)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_0 AND taskq_activities.isolate = :alone AND taskq_activities.type = :type_0 ORDER BY taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT :limit OFFSET :param_1) AS anon_1) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- claim (two queues, and two types of others)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_0 AND taskq_activities.isolate = :alone UNION ALL SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_1 AND taskq_activities.isolate = :alone UNION ALL SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_2 AND taskq_activities.isolate = :alone AND taskq_activities.type = :type_2 UNION ALL SELECT taskq_activities.id AS id, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue_3 AND taskq_activities.isolate = :alone AND taskq_activities.type = :type_3 ORDER BY priority DESC, ready_at, id
 LIMIT :limit OFFSET :param_1) AS anon_1) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- claim (children, 1)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = :queue_0 AND taskq_activities.isolate = :alone AND taskq_activities.type IN (SELECT anon_2.value
FROM json_each(:types) AS anon_2) ORDER BY taskq_activities.depth DESC, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT :limit OFFSET :param_1) AS anon_1) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- claim (children, 2)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = :queue_0 AND taskq_activities.isolate = :alone UNION ALL SELECT taskq_activities.id AS id, taskq_activities.depth AS depth, taskq_activities.priority AS priority, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.queue = :queue_1 AND taskq_activities.isolate = :alone ORDER BY depth DESC, priority DESC, ready_at, id
 LIMIT :limit OFFSET :param_1) AS anon_1) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- link
INSERT INTO taskq_events (id, activity_id, at, kind, attempt, claim, worker, detail) VALUES (:id, :activity_id, :at, :kind, :attempt, :claim, :worker, :detail) ON CONFLICT (activity_id, detail) WHERE kind = 'linked' DO NOTHING;

-- counted_of
SELECT anon_1.queue, anon_1.status, count(*) AS count_1, min(anon_1.finished_at) AS min_1, max(anon_1.finished_at) AS max_1
FROM (SELECT taskq_activities.queue AS queue, taskq_activities.status AS status, taskq_activities.finished_at AS finished_at
FROM taskq_activities
WHERE taskq_activities.fingerprint = :cause AND (taskq_activities.queue || '') IN (__[POSTCOMPILE_param_1]) AND (taskq_activities.user_id || '') IS NOT NULL ORDER BY taskq_activities.id DESC
 LIMIT :cap OFFSET :param_2) AS anon_1 GROUP BY anon_1.queue, anon_1.status;

-- newest_of
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.fingerprint = :cause AND (taskq_activities.queue || '') IN (__[POSTCOMPILE_param_1]) AND (taskq_activities.user_id || '') IS NOT NULL ORDER BY taskq_activities.id DESC
 LIMIT :param_2 OFFSET :param_3;

-- prune (trees)
WITH RECURSIVE found(top, id, status, since) AS
(SELECT taskq_activities.id AS top, taskq_activities.id AS id, taskq_activities.status AS status, coalesce(taskq_activities.finished_at, taskq_activities.created_at) AS since
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_tops]) UNION SELECT found.top AS top, child.id AS id, child.status AS status, coalesce(child.finished_at, child.created_at) AS coalesce_1
FROM found, taskq_activities AS child
WHERE child.parent_id = found.id AND child.parent_id IS NOT NULL)
 SELECT found.top, found.id, found.status, found.since
FROM found;

-- prune (kept still)
SELECT taskq_activities.id, taskq_activities.status, coalesce(taskq_activities.finished_at, taskq_activities.created_at) AS since
FROM taskq_activities
WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]) ORDER BY taskq_activities.id;

-- prune (next queue)
SELECT min(taskq_activities.queue) AS min_1
FROM taskq_activities
WHERE taskq_activities.queue > :queue;

-- prune (due tops)
SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.parent_id AS parent_id, taskq_activities.created_at AS created_at, coalesce(taskq_activities.finished_at, taskq_activities.created_at) AS since
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = :status AND taskq_activities.id > :after ORDER BY taskq_activities.id
 LIMIT 1000 OFFSET :param_1) AS looked
WHERE looked.since <= :cutoff AND (SELECT mother.id
FROM taskq_activities AS mother
WHERE mother.id = looked.parent_id
 LIMIT 1 OFFSET :param_2) IS NULL ORDER BY looked.id
 LIMIT :limit OFFSET :param_3;

-- prune (end of look)
WITH looked AS
(SELECT taskq_activities.id AS id, taskq_activities.parent_id AS parent_id, taskq_activities.created_at AS created_at, coalesce(taskq_activities.finished_at, taskq_activities.created_at) AS since
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = :status AND taskq_activities.id > :after ORDER BY taskq_activities.id
 LIMIT 1000 OFFSET :param_1)
 SELECT (SELECT looked.id
FROM looked ORDER BY looked.id DESC
 LIMIT 1 OFFSET :param_2) AS last, (SELECT count(*) AS count_1
FROM looked) >= 1000 AS more, EXISTS (SELECT *
FROM looked
WHERE looked.created_at <= :cutoff) AS earlier;

-- prune (keys of)
SELECT taskq_keys.hash, taskq_keys.activity_id
FROM taskq_keys
WHERE taskq_keys.activity_id IN (__[POSTCOMPILE_ids]);

-- prune (keys kept still)
SELECT taskq_keys.hash, taskq_keys.activity_id
FROM taskq_keys
WHERE taskq_keys.hash IN (__[POSTCOMPILE_hashes]) ORDER BY taskq_keys.hash;

-- prune (delete keys)
DELETE FROM taskq_keys WHERE taskq_keys.hash IN (__[POSTCOMPILE_hashes]);

-- prune (delete events)
DELETE FROM taskq_events WHERE taskq_events.activity_id IN (__[POSTCOMPILE_ids]);

-- prune (delete activities)
DELETE FROM taskq_activities WHERE taskq_activities.id IN (__[POSTCOMPILE_ids]);

-- prune (any expired)
SELECT taskq_keys.hash
FROM taskq_keys
WHERE taskq_keys.expires_at IS NOT NULL AND taskq_keys.expires_at <= :now ORDER BY taskq_keys.expires_at
 LIMIT :param_1 OFFSET :param_2;

-- prune (expired keys)
SELECT taskq_keys.hash
FROM taskq_keys
WHERE taskq_keys.expires_at IS NOT NULL AND taskq_keys.expires_at <= :now ORDER BY taskq_keys.expires_at
 LIMIT :limit OFFSET :param_1;

-- pauses pauses
SELECT taskq_queues.kind, taskq_queues.name, taskq_queues.paused_at, taskq_queues.paused_by, taskq_queues.reason
FROM taskq_queues
WHERE taskq_queues.paused_at IS NOT NULL ORDER BY taskq_queues.kind, taskq_queues.name;

-- pauses pause_on_sqlite
INSERT INTO taskq_queues (kind, name, paused_at, paused_by, reason, updated_at, counted, counted_at, vouched) VALUES (:kind, :name, :paused_at, :paused_by, :reason, :updated_at, :counted, :counted_at, :vouched) ON CONFLICT (kind, name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by, reason = excluded.reason, updated_at = excluded.updated_at WHERE taskq_queues.paused_at IS NULL;

-- pauses end_pause
DELETE FROM taskq_queues WHERE taskq_queues.kind = :of_kind AND taskq_queues.name = :of_name AND taskq_queues.paused_at IS NOT NULL;

-- loads held
SELECT taskq_activities.type, taskq_activities.queue, count(*) AS number
FROM taskq_activities
WHERE taskq_activities.status = 'processing' GROUP BY taskq_activities.type, taskq_activities.queue;

-- loads waiting_of_type
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type
 LIMIT :cap OFFSET :param_1) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT taskq_activities.status AS status
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = :queue AND taskq_activities.type = :type
 LIMIT :cap OFFSET :param_2) AS anon_4
WHERE anon_4.status = 'scheduled') AS anon_3, (SELECT count(*) AS count_3
FROM (SELECT taskq_activities.status AS status
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND taskq_activities.queue = :queue AND taskq_activities.type = :type
 LIMIT :cap OFFSET :param_3) AS anon_4
WHERE anon_4.status = 'retrying') AS anon_5, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_1) AS anon_6, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_2) AS anon_7, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_3) AS anon_8, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 0 AND taskq_activities.priority = :priority_4) AS anon_9, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_5) AS anon_10, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_6) AS anon_11, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_7) AS anon_12, (SELECT min(taskq_activities.ready_at) AS min_1
FROM taskq_activities
WHERE taskq_activities.status = 'pending' AND taskq_activities.queue = :queue AND taskq_activities.type = :type AND taskq_activities.isolate = 1 AND taskq_activities.priority = :priority_8) AS anon_13;

-- turn
INSERT INTO taskq_queues (kind, name, updated_at, vouched) VALUES (:kind, :queue, :now, 0) ON CONFLICT (kind, name) DO UPDATE SET updated_at = :now, vouched = (CASE WHEN (taskq_queues.vouched > 0) THEN taskq_queues.vouched ELSE 0 END - :wanted) RETURNING updated_at, counted, counted_at, vouched;

-- room
SELECT (SELECT count(*) AS count_1
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'pending' ORDER BY taskq_activities.isolate, taskq_activities.priority DESC, taskq_activities.ready_at, taskq_activities.id
 LIMIT :cap OFFSET :param_1) AS anon_2) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT 1
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status IN ('scheduled', 'retrying') ORDER BY taskq_activities.type
 LIMIT :cap OFFSET :param_2) AS anon_4) AS anon_3;

-- oldest roots
SELECT anon_1.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'pending' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT :limit OFFSET :param_1) AS anon_1 UNION ALL SELECT anon_2.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'scheduled' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT :limit OFFSET :param_2) AS anon_2 UNION ALL SELECT anon_3.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue AND taskq_activities.status = 'retrying' AND taskq_activities.parent_id IS NULL ORDER BY taskq_activities.id
 LIMIT :limit OFFSET :param_3) AS anon_3 ORDER BY id
 LIMIT :limit OFFSET :param_4;

-- claim (aging)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT "each".id
FROM (SELECT lines.queue AS queue, lines.level AS level
FROM (SELECT json_extract(places.value, '$[0]') AS queue, levels.value AS level
FROM json_each(:places) AS places JOIN json_each('[1, 2, 3, 4]') AS levels ON 1 = 1) AS lines JOIN taskq_activities AS head ON head.id = (SELECT waiting.id
FROM taskq_activities AS waiting
WHERE waiting.status = 'pending' AND waiting.queue = lines.queue AND waiting.isolate = :alone AND waiting.priority = lines.level ORDER BY waiting.ready_at, waiting.id
 LIMIT 1 OFFSET :param_1) ORDER BY min(CASE WHEN (head.ready_at <= :risen_3) THEN lines.level + 3 WHEN (head.ready_at <= :risen_2) THEN lines.level + 2 WHEN (head.ready_at <= :risen_1) THEN lines.level + 1 ELSE lines.level END, 4) DESC, head.ready_at, head.id
 LIMIT :limit OFFSET :param_2) AS best JOIN taskq_activities AS "each" ON "each".id IN (SELECT waiting.id
FROM taskq_activities AS waiting
WHERE waiting.status = 'pending' AND waiting.queue = best.queue AND waiting.isolate = :alone AND waiting.priority = best.level ORDER BY waiting.ready_at, waiting.id
 LIMIT :limit OFFSET :param_3) ORDER BY min(CASE WHEN ("each".ready_at <= :risen_3) THEN best.level + 3 WHEN ("each".ready_at <= :risen_2) THEN best.level + 2 WHEN ("each".ready_at <= :risen_1) THEN best.level + 1 ELSE best.level END, 4) DESC, "each".ready_at, "each".id
 LIMIT :limit OFFSET :param_4) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- claim of types (aging)
UPDATE taskq_activities SET status=:status, claim=(taskq_activities.claim % 9007199254740991 + 1), worker=:holder, lease_until=:until, started_at=:now WHERE taskq_activities.id IN (SELECT "each".id
FROM (SELECT lines.queue AS queue, lines.level AS level, lines.type AS type
FROM (SELECT json_extract(places.value, '$[0]') AS queue, levels.value AS level, json_extract(places.value, '$[1]') AS type
FROM json_each(:places) AS places JOIN json_each('[1, 2, 3, 4]') AS levels ON 1 = 1) AS lines JOIN taskq_activities AS head ON head.id = (SELECT waiting.id
FROM taskq_activities AS waiting
WHERE waiting.status = 'pending' AND waiting.queue = lines.queue AND waiting.isolate = :alone AND waiting.priority = lines.level AND waiting.type = lines.type ORDER BY waiting.ready_at, waiting.id
 LIMIT 1 OFFSET :param_1) ORDER BY min(CASE WHEN (head.ready_at <= :risen_3) THEN lines.level + 3 WHEN (head.ready_at <= :risen_2) THEN lines.level + 2 WHEN (head.ready_at <= :risen_1) THEN lines.level + 1 ELSE lines.level END, 4) DESC, head.ready_at, head.id
 LIMIT :limit OFFSET :param_2) AS best JOIN taskq_activities AS "each" ON "each".id IN (SELECT waiting.id
FROM taskq_activities AS waiting
WHERE waiting.status = 'pending' AND waiting.queue = best.queue AND waiting.isolate = :alone AND waiting.priority = best.level AND waiting.type = best.type ORDER BY waiting.ready_at, waiting.id
 LIMIT :limit OFFSET :param_3) ORDER BY min(CASE WHEN ("each".ready_at <= :risen_3) THEN best.level + 3 WHEN ("each".ready_at <= :risen_2) THEN best.level + 2 WHEN ("each".ready_at <= :risen_1) THEN best.level + 1 ELSE best.level END, 4) DESC, "each".ready_at, "each".id
 LIMIT :limit OFFSET :param_4) AND taskq_activities.status = 'pending' RETURNING id, worker, claim, type, queue, payload, root_id, origin_id, created_at, ready_at, parent_id, depth, generation, step, priority, retry_count, crash_count, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, started_at, expires_at, deadline_at, isolate;

-- audit
INSERT INTO taskq_audit (id, at, actor, action, reason, target, detail, command_id) VALUES (:id, :at, :actor, :action, :reason, :target, :detail, :command_id) ON CONFLICT (command_id) DO NOTHING RETURNING id;

-- audit of what is left as it was
UPDATE taskq_audit SET detail=:new_detail WHERE taskq_audit.id = :of_id;

-- audit entries
SELECT taskq_audit.id, taskq_audit.at, taskq_audit.actor, taskq_audit.action, taskq_audit.reason, taskq_audit.target, taskq_audit.detail, taskq_audit.command_id
FROM taskq_audit
WHERE :before IS NULL OR taskq_audit.id < :before ORDER BY taskq_audit.id DESC
 LIMIT :limit OFFSET :param_1;

-- audit entries of commands
SELECT taskq_audit.id, taskq_audit.at, taskq_audit.actor, taskq_audit.action, taskq_audit.reason, taskq_audit.target, taskq_audit.detail, taskq_audit.command_id
FROM taskq_audit
WHERE taskq_audit.command_id IN (__[POSTCOMPILE_ids]);

-- all_schedules
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules ORDER BY taskq_schedules.name;

-- named_schedules
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules
WHERE taskq_schedules.name IN (__[POSTCOMPILE_names]) ORDER BY taskq_schedules.name;

-- lock_schedule
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules
WHERE taskq_schedules.name = :of_name;

-- lock_free_schedule
SELECT taskq_schedules.name, taskq_schedules.cron, taskq_schedules.every_ms, taskq_schedules.timezone, taskq_schedules.jitter_ms, taskq_schedules.catch_up, taskq_schedules.overlap, taskq_schedules.queue, taskq_schedules.type, taskq_schedules.payload, taskq_schedules.options, taskq_schedules.digest, taskq_schedules.revision, taskq_schedules.next_at, taskq_schedules.last_at, taskq_schedules.last_activity_id, taskq_schedules.fired, taskq_schedules.skipped, taskq_schedules.paused_at, taskq_schedules.created_at, taskq_schedules.updated_at
FROM taskq_schedules
WHERE taskq_schedules.name = :of_name;

-- waiting_schedules
SELECT anon_1.name, anon_1.next_at, anon_1.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'due' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at <= :now AND (taskq_schedules.next_at, taskq_schedules.name) > (:after_at, :after_name) AND (taskq_schedules.overlap != 'queue' OR (coalesce((SELECT taskq_activities.status
FROM taskq_activities
WHERE taskq_activities.id = taskq_schedules.last_activity_id), '') NOT IN ('pending', 'scheduled', 'processing', 'retrying'))) ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT :limit OFFSET :param_1) AS anon_1 UNION ALL SELECT anon_2.name, anon_2.next_at, anon_2.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'held' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at <= :now AND taskq_schedules.overlap = 'queue' AND coalesce((SELECT taskq_activities.status
FROM taskq_activities
WHERE taskq_activities.id = taskq_schedules.last_activity_id), '') IN ('pending', 'scheduled', 'processing', 'retrying') ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT :param_2 OFFSET :param_3) AS anon_2 UNION ALL SELECT anon_3.name, anon_3.next_at, anon_3.kind
FROM (SELECT taskq_schedules.name AS name, taskq_schedules.next_at AS next_at, 'ahead' AS kind
FROM taskq_schedules
WHERE taskq_schedules.paused_at IS NULL AND taskq_schedules.next_at IS NOT NULL AND taskq_schedules.next_at > :now ORDER BY taskq_schedules.next_at, taskq_schedules.name
 LIMIT :param_4 OFFSET :param_5) AS anon_3 ORDER BY next_at, name;

-- update_schedule
UPDATE taskq_schedules SET name=:name, cron=:cron, every_ms=:every_ms, timezone=:timezone, jitter_ms=:jitter_ms, catch_up=:catch_up, overlap=:overlap, queue=:queue, type=:type, payload=:payload, options=:options, digest=:digest, revision=:revision, next_at=:next_at, last_at=:last_at, last_activity_id=:last_activity_id, fired=:fired, skipped=:skipped, paused_at=:paused_at, created_at=:created_at, updated_at=:updated_at WHERE taskq_schedules.name = :of_name;

-- delete_schedule
DELETE FROM taskq_schedules WHERE taskq_schedules.name = :of_name;

-- last_state
SELECT taskq_activities.status, taskq_activities.finished_at
FROM taskq_activities
WHERE taskq_activities.id = :of_id;

-- add_on_sqlite
INSERT INTO taskq_schedules (name, cron, every_ms, timezone, jitter_ms, catch_up, overlap, queue, type, payload, options, digest, revision, next_at, last_at, last_activity_id, fired, skipped, paused_at, created_at, updated_at) VALUES (:name, :cron, :every_ms, :timezone, :jitter_ms, :catch_up, :overlap, :queue, :type, :payload, :options, :digest, :revision, :next_at, :last_at, :last_activity_id, :fired, :skipped, :paused_at, :created_at, :updated_at) ON CONFLICT (name) DO NOTHING;

-- fire_on_sqlite
INSERT INTO taskq_activities (id, queue, type, status, priority, payload, result, error, error_kind, fingerprint, max_retries, max_crashes, timeout_ms, policy, metadata, tags, source, correlation_id, user_id, idempotency_key, retry_count, crash_count, claim, worker, lease_until, isolate, cancel_requested_at, cancel_tree, parent_id, root_id, origin_id, depth, generation, step, progress, expires_at, deadline_at, created_at, ready_at, started_at, finished_at) VALUES (:id, :queue, :type, :status, :priority, :payload, :result, :error, :error_kind, :fingerprint, :max_retries, :max_crashes, :timeout_ms, :policy, :metadata, :tags, :source, :correlation_id, :user_id, :idempotency_key, :retry_count, :crash_count, :claim, :worker, :lease_until, :isolate, :cancel_requested_at, :cancel_tree, :parent_id, :root_id, :origin_id, :depth, :generation, :step, :progress, :expires_at, :deadline_at, :created_at, :ready_at, :started_at, :finished_at) ON CONFLICT (id) DO NOTHING;

-- listed (all)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id < :id_1 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2;

-- listed (by queue and status)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id < :id_1 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2;

-- listed (by two statuses)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id < :id_1 UNION ALL SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_2 AND taskq_activities.status = 'dead_letter' AND taskq_activities.id < :id_1 UNION ALL SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_3 AND taskq_activities.status = 'failed' AND taskq_activities.id < :id_1 UNION ALL SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_4 AND taskq_activities.status = 'dead_letter' AND taskq_activities.id < :id_1 ORDER BY id DESC
 LIMIT :param_1 OFFSET :param_2;

-- listed (by parent)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.parent_id = :parent_id_1 AND taskq_activities.id < :id_1 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2;

-- listed (by root)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.id = :id_1 AND coalesce(taskq_activities.root_id, taskq_activities.id) = :coalesce_1 AND taskq_activities.parent_id IS NULL AND taskq_activities.id < :id_2 UNION ALL SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.root_id = :root_id_1 AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.id != :id_3 AND taskq_activities.parent_id IS NULL AND taskq_activities.id < :id_2 ORDER BY id DESC
 LIMIT :param_1 OFFSET :param_2;

-- listed (by correlation, everything else)
SELECT taskq_activities.id
FROM taskq_activities
WHERE taskq_activities.correlation_id = :correlation_id_1 AND (taskq_activities.status || '') IN (__[POSTCOMPILE_param_1]) AND (taskq_activities.queue || '') IN (__[POSTCOMPILE_param_2]) AND (substr(taskq_activities.type, :substr_1, :substr_2) = :substr_3 OR (taskq_activities.type || '') = :param_3) AND taskq_activities.priority IN (__[POSTCOMPILE_priority_1]) AND (taskq_activities.user_id || '') = :param_4 AND (taskq_activities.source || '') = :param_5 AND EXISTS (SELECT *
FROM json_each(CASE WHEN (json_valid(taskq_activities.tags) = :json_valid_1) THEN taskq_activities.tags ELSE :param_6 END) AS tag
WHERE tag."key" = :param_7 AND tag.value = :param_8) = 1 AND taskq_activities.id < :id_1 ORDER BY taskq_activities.id DESC
 LIMIT :param_9 OFFSET :param_10;

-- listed (by every term)
SELECT taskq_activities.id
FROM taskq_activities
WHERE ((taskq_activities.type || '') = :param_1 OR substr(taskq_activities.type, :substr_1, :substr_2) = :substr_3) AND coalesce((taskq_activities.status || '') IN (__[POSTCOMPILE_param_2]), 0) = 0 AND taskq_activities.priority IN (__[POSTCOMPILE_priority_1]) AND coalesce((taskq_activities.user_id || '') IS NOT NULL, 0) = 0 AND ((taskq_activities.correlation_id || '') = :param_3 OR substr(taskq_activities.correlation_id, :substr_4, :substr_5) = :substr_6) AND taskq_activities.id BETWEEN :id_1 AND :id_2 AND coalesce(coalesce(taskq_activities.root_id, taskq_activities.id) BETWEEN :coalesce_1 AND :coalesce_2, 0) = 0 AND (EXISTS (SELECT *
FROM json_each(CASE WHEN (json_valid(taskq_activities.tags) = :json_valid_1) THEN taskq_activities.tags ELSE :param_4 END) AS tag
WHERE tag."key" = :param_5 AND tag.value = :param_6) = 1 OR (instr(lower(taskq_activities.tags), :param_7) > :instr_1) = 1 OR (instr(lower(taskq_activities.tags), :param_8) > :instr_2) = 1 OR (instr(lower(taskq_activities.tags), :param_9) > :instr_3) = 1) AND taskq_activities.created_at < :created_at_1 AND coalesce(taskq_activities.created_at >= :created_at_2, 0) = 0 AND (taskq_activities.error IS NOT NULL OR (instr(lower(taskq_activities.error), :param_10) > :instr_4) = 1 OR (instr(lower(taskq_activities.error), :param_11) > :instr_5) = 1 OR (instr(lower(taskq_activities.error), :param_12) > :instr_6) = 1 OR (instr(lower(taskq_activities.error), :param_13) > :instr_7) = 1) AND ((instr(lower(taskq_activities.payload), :param_14) > :instr_8) = 1 AND (instr(lower(taskq_activities.payload), :param_15) > :instr_9) = 1 AND ((instr(lower(taskq_activities.payload), :param_16) > :instr_10) = 1 OR (instr(lower(taskq_activities.payload), :param_17) > :instr_11) = 1) OR (instr(lower(taskq_activities.payload), :param_18) > :instr_12) = 1 OR (instr(lower(taskq_activities.payload), :param_19) > :instr_13) = 1) AND ((instr(lower(taskq_activities.payload), :param_20) > :instr_14) = 1 OR (instr(lower(taskq_activities.payload), :param_21) > :instr_15) = 1 OR (instr(lower(taskq_activities.payload), :param_22) > :instr_16) = 1) AND ((instr(lower(taskq_activities.type), :param_23) > :instr_17) = 1 OR (instr(lower(taskq_activities.payload), :param_24) > :instr_18) = 1 OR (instr(lower(taskq_activities.error), :param_25) > :instr_19) = 1 OR (instr(lower(taskq_activities.error), :param_26) > :instr_20) = 1 OR (instr(lower(taskq_activities.error), :param_27) > :instr_21) = 1 OR (instr(lower(taskq_activities.error), :param_28) > :instr_22) = 1) AND taskq_activities.id < :id_3 ORDER BY taskq_activities.id DESC
 LIMIT :param_29 OFFSET :param_30;

-- search (everything)
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2) AS looked) ORDER BY taskq_activities.id DESC
 LIMIT :param_3 OFFSET :param_4;

-- search (what an index serves)
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2) AS looked) ORDER BY taskq_activities.id DESC
 LIMIT :param_3 OFFSET :param_4;

-- search (what none serves)
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE substr(taskq_activities.type, :substr_1, :substr_2) = :substr_3 AND ((instr(lower(taskq_activities.type), :param_1) > :instr_1) = 1 OR (instr(lower(taskq_activities.payload), :param_2) > :instr_2) = 1 OR (instr(lower(taskq_activities.error), :param_3) > :instr_3) = 1 OR (instr(lower(taskq_activities.error), :param_4) > :instr_4) = 1 OR (instr(lower(taskq_activities.error), :param_5) > :instr_5) = 1 OR (instr(lower(taskq_activities.error), :param_6) > :instr_6) = 1) AND taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_2 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY id ASC
 LIMIT :param_7 OFFSET :param_8) AS looked) ORDER BY taskq_activities.id ASC
 LIMIT :param_9 OFFSET :param_10;

-- search (what none serves: the edge)
SELECT taskq_activities.id, taskq_activities.created_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_2 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY id ASC
 LIMIT :param_1 OFFSET :param_2) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_1 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.queue = :queue_2 AND taskq_activities.status = 'failed' AND taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY id ASC
 LIMIT :param_1 OFFSET :param_3) AS looked ORDER BY looked.id DESC
 LIMIT :param_4 OFFSET :param_5);

-- search (one tree)
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE EXISTS (SELECT *
FROM json_each(CASE WHEN (json_valid(taskq_activities.tags) = :json_valid_1) THEN taskq_activities.tags ELSE :param_1 END) AS tag
WHERE tag."key" = :param_2 AND tag.value = :param_3) = 1 AND taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id = :id_1 AND coalesce(taskq_activities.root_id, taskq_activities.id) = :coalesce_1 AND taskq_activities.id BETWEEN :id_2 AND :id_3 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.root_id = :root_id_1 AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.id != :id_4 AND taskq_activities.id BETWEEN :id_2 AND :id_3 ORDER BY id ASC
 LIMIT :param_4 OFFSET :param_5) AS looked) ORDER BY taskq_activities.id ASC
 LIMIT :param_6 OFFSET :param_7;

-- search (one tree: the edge)
SELECT taskq_activities.id, taskq_activities.created_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id = :id_1 AND coalesce(taskq_activities.root_id, taskq_activities.id) = :coalesce_1 AND taskq_activities.id BETWEEN :id_2 AND :id_3 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.root_id = :root_id_1 AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.id != :id_4 AND taskq_activities.id BETWEEN :id_2 AND :id_3 ORDER BY id ASC
 LIMIT :param_1 OFFSET :param_2) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id = :id_1 AND coalesce(taskq_activities.root_id, taskq_activities.id) = :coalesce_1 AND taskq_activities.id BETWEEN :id_2 AND :id_3 UNION ALL SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.root_id = :root_id_1 AND taskq_activities.parent_id IS NOT NULL AND taskq_activities.id != :id_4 AND taskq_activities.id BETWEEN :id_2 AND :id_3 ORDER BY id ASC
 LIMIT :param_1 OFFSET :param_3) AS looked ORDER BY looked.id DESC
 LIMIT :param_4 OFFSET :param_5);

-- search (a part of the ids)
SELECT taskq_activities.id, taskq_activities.created_at AS at
FROM taskq_activities
WHERE taskq_activities.id BETWEEN :id_1 AND :id_2 AND ((instr(lower(taskq_activities.error), :param_1) > :instr_1) = 1 OR (instr(lower(taskq_activities.error), :param_2) > :instr_2) = 1 OR (instr(lower(taskq_activities.error), :param_3) > :instr_3) = 1 OR (instr(lower(taskq_activities.error), :param_4) > :instr_4) = 1) AND taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id BETWEEN :id_3 AND :id_4 ORDER BY taskq_activities.id DESC
 LIMIT :param_5 OFFSET :param_6) AS looked) ORDER BY taskq_activities.id DESC
 LIMIT :param_7 OFFSET :param_8;

-- search (a part of the ids: the edge)
SELECT taskq_activities.id, taskq_activities.created_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_2) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id
FROM taskq_activities
WHERE taskq_activities.id BETWEEN :id_1 AND :id_2 ORDER BY taskq_activities.id DESC
 LIMIT :param_1 OFFSET :param_3) AS looked ORDER BY looked.id ASC
 LIMIT :param_4 OFFSET :param_5);

-- search (what is due)
SELECT taskq_activities.id, taskq_activities.ready_at AS at
FROM taskq_activities
WHERE (taskq_activities.status || '') IN (__[POSTCOMPILE_param_1]) AND (taskq_activities.type || '') = :param_2 AND taskq_activities.id IN (SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > (:param_3, :param_4) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT :param_5 OFFSET :param_6) AS looked) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT :param_7 OFFSET :param_8;

-- search (what is due: the edge)
SELECT taskq_activities.id, taskq_activities.ready_at AS at, (SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > (:param_1, :param_2) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT :param_3 OFFSET :param_4) AS looked) AS anon_1
FROM taskq_activities
WHERE taskq_activities.id = (SELECT looked.id
FROM (SELECT taskq_activities.id AS id, taskq_activities.ready_at AS ready_at
FROM taskq_activities
WHERE taskq_activities.status IN ('scheduled', 'retrying') AND (taskq_activities.ready_at, taskq_activities.id) > (:param_1, :param_2) ORDER BY taskq_activities.ready_at ASC, taskq_activities.id ASC
 LIMIT :param_3 OFFSET :param_5) AS looked ORDER BY looked.ready_at DESC, looked.id DESC
 LIMIT :param_6 OFFSET :param_7);

-- search (what runs)
SELECT taskq_activities.id, coalesce(taskq_activities.started_at, taskq_activities.created_at) AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = :param_1 AND taskq_activities.status = 'processing' AND (coalesce(taskq_activities.started_at, taskq_activities.created_at), taskq_activities.id) > (:param_2, :param_3) ORDER BY coalesce(taskq_activities.started_at, taskq_activities.created_at) ASC, taskq_activities.id ASC
 LIMIT :param_4 OFFSET :param_5;

-- search (a count)
SELECT count(*) AS count_1
FROM (SELECT taskq_activities.id AS id, coalesce(taskq_activities.started_at, taskq_activities.created_at) AS at
FROM taskq_activities
WHERE (taskq_activities.type || '') = :param_1 AND taskq_activities.status = 'processing' ORDER BY coalesce(taskq_activities.started_at, taskq_activities.created_at) ASC, taskq_activities.id ASC
 LIMIT :param_2 OFFSET :param_3) AS found;
