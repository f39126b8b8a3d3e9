/**
 * Statements that store and change deliveries. Rows are passed as one array per column, so a statement's text does not
 * depend on the number of rows. Statements lock rows in order of id, and rows of `queue` before rows of `deliveries`.
 */
import { Transitions } from "@doorhook/core"
import { announceLastIds } from "../Watermarks.ts"
import { lockClasses } from "../Primitives.ts"
import { lastOf } from "./CancellationStatements.ts"
import { addToTalliesIf } from "./TallyStatements.ts"

/** The columns of a delivery that never change. */
const identity = "id, event_id, integration_id, created_at"

const queuedNames = `${identity}, state, attempts, early, lane, due_at, worker, resend`

/**
 * Locks the memberships of workers to which deliveries are leased. A heartbeat that ends such a membership therefore
 * runs before or after this transaction, and releases all leases of this transaction or none. A worker without a
 * membership gets one that has already lapsed, so the next heartbeat releases its leases.
 */
const keepMembers = (workers: string, from: string) => `member AS MATERIALIZED (
    SELECT m.worker FROM unnest(${workers}) AS w (worker)
      CROSS JOIN LATERAL (SELECT worker FROM members WHERE members.worker = w.worker FOR KEY SHARE) AS m
  ),
  joined AS (
    INSERT INTO members (worker, until) SELECT w.worker, 0 FROM ${from}unnest(${workers}) AS w (worker)
    WHERE w.worker <> ALL (ARRAY(SELECT worker FROM member))
    ON CONFLICT (worker) DO UPDATE SET until = members.until
  )`

/** `keepMembers` as a separate statement, executed before the deliveries to lease are locked. */
export const keepWorkers = `WITH ${keepMembers("$1::text[]", "")} SELECT 1 FROM member`

/** The workers of cancelled deliveries whose attempts are still running. */
export const workersOfEnded = `SELECT DISTINCT worker FROM deliveries WHERE id = ANY($1) AND worker IS NOT NULL ORDER BY worker`

/** The integrations of the events' buildings and tenants, as they are now. */
const scoped = `SELECT id, version FROM integrations WHERE scope_type = 'building' AND scope_id = ANY($40::bigint[])
    UNION ALL SELECT id, version FROM integrations WHERE scope_type = 'tenant' AND scope_id = ANY($41::bigint[])`

/**
 * Appends events with their active and ended deliveries, which get ids in the given order. Updates the counts, and
 * wakes the workers in other processes if deliveries are due.
 *
 * Stores nothing if a matched integration was deleted, was changed, is being changed, or is disabled although a delivery
 * requires it enabled. Otherwise the matched integrations stay locked until the transaction ends. If the integrations of the
 * events' scopes differ from the candidates ($38, by id) in number or version ($39), the statement also stores nothing,
 * and returns one row without an id.
 *
 * Returns the ids of the deliveries, or one null if there are none.
 */
export const insert = `WITH fresh AS MATERIALIZED (
    SELECT 1 WHERE $38::bigint[] IS NULL OR (
      SELECT coalesce(array_agg(now.id ORDER BY now.id), '{}') = $38::bigint[]
        AND coalesce(array_agg(now.version::bigint ORDER BY now.id), '{}') = $39::bigint[]
      FROM (${scoped}) AS now
    )
  ),
  locked AS MATERIALIZED (
    SELECT i.version = m.version AND (i.status = 'enabled' OR m.active = 0) AS sound
    FROM fresh CROSS JOIN unnest($1::bigint[], $2::bigint[], $42::bigint[]) AS m (id, version, active)
      CROSS JOIN LATERAL (SELECT status, version FROM integrations WHERE id = m.id FOR KEY SHARE SKIP LOCKED) AS i
  ),
  announced AS MATERIALIZED (
    SELECT ${announceLastIds} FROM locked HAVING count(*) FILTER (WHERE sound) = cardinality($1::bigint[])
      AND EXISTS (SELECT 1 FROM fresh)
  ),
  taken AS MATERIALIZED (
    SELECT ARRAY(SELECT nextval('delivery_ids') FROM generate_series(1, $3::bigint)) AS ids,
      ARRAY(SELECT nextval('event_numbers') FROM generate_series(1, $4::bigint)) AS seqs
    FROM announced
  ),
  stored_events AS (
    INSERT INTO events
      (seq, id, resource_type, action, building_id, tenant_ids, data, created_at, first_delivery, last_delivery)
    SELECT t.seqs[e.place], e.id, e.resource_type, e.action, e.building_id, e.tenant_ids, e.data, e.created_at,
      t.ids[e.first], t.ids[e.last]
    FROM taken AS t CROSS JOIN unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[],
        $11::bigint[], $12::bigint[], $13::bigint[]) WITH ORDINALITY
      AS e (id, resource_type, action, building_id, tenant_ids, data, created_at, first, last, place)
  ),
  stored_for_readers AS (
    INSERT INTO events_of (event_seq, created_at, scope_type, scope_id, resource_type)
    SELECT t.seqs[e.place], e.created_at, 'building', e.building_id, e.resource_type
    FROM taken AS t CROSS JOIN unnest($8::bigint[], $6::text[], $11::bigint[]) WITH ORDINALITY
      AS e (building_id, resource_type, created_at, place)
    UNION ALL
    SELECT t.seqs[e.place], ($11::bigint[])[e.place], 'tenant', e.tenant_id, e.resource_type
    FROM taken AS t CROSS JOIN unnest($14::bigint[], $15::bigint[], $16::text[]) AS e (place, tenant_id, resource_type)
  ),
  stored_active AS (
    INSERT INTO queue (${queuedNames})
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.attempts, d.early, d.lane, d.due_at,
      d.worker, d.resend
    FROM taken AS t CROSS JOIN unnest($17::bigint[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[],
        $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::bigint[])
      AS d (place, event_id, integration_id, created_at, state, attempts, early, lane, due_at, worker, resend)
  ),
  stored_ended AS (
    INSERT INTO deliveries (${identity}, state, reason, attempts, early, lane, worker)
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.early, d.lane,
      d.worker
    FROM taken AS t CROSS JOIN unnest($28::bigint[], $29::text[], $30::bigint[], $31::bigint[], $32::text[], $33::text[],
        $34::bigint[], $35::bigint[], $36::bigint[], $37::text[])
      AS d (place, event_id, integration_id, created_at, state, reason, attempts, early, lane, worker)
  ),
  counted AS (${addToTalliesIf("FROM taken", 45)}),
  ${keepMembers("$44::text[]", "taken CROSS JOIN ")},
  signalled AS MATERIALIZED (SELECT wake('') FROM taken WHERE $43::bigint > 0)
  SELECT unnest(CASE WHEN cardinality(ids) = 0 THEN ARRAY[NULL::bigint] ELSE ids END) AS id, false AS stale
    FROM taken LEFT JOIN signalled ON true
  UNION ALL SELECT NULL, true WHERE NOT EXISTS (SELECT 1 FROM fresh)`

/** Inserts into `queue` the deliveries that `takeEnded` has removed from `deliveries`. */
export const insertQueued = `INSERT INTO queue (${queuedNames})
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])`

const endedColumns = `${identity}, state, reason, attempts, early, lane, worker,
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt`

const toAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)`

/**
 * Ends acknowledged deliveries, given in order of id with their attempts, and updates the counts. A delivery is ended
 * only if it is leased to the worker, the attempt is its next one, and no resend is requested. Its integration must
 * also be enabled and not failing, unless $11 is null. Skips deliveries that another transaction has locked. Returns the
 * ids of the ended deliveries.
 */
export const acknowledge = `WITH sound AS MATERIALIZED (
    SELECT id FROM integrations WHERE id = ANY($11::bigint[]) AND status = 'enabled' AND failing_since IS NULL
  ),
  held AS MATERIALIZED (
    SELECT q.id, q.event_id, q.integration_id, q.created_at, s.attempts, s.early, s.lane, s.started_at, s.duration_ms,
      s.outcome, s.status, s.detail, s.excerpt
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $12::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::bigint[], $9::text[], $10::text[])
      AS s (id, attempts, early, lane, started_at, duration_ms, outcome, status, detail, excerpt)
      CROSS JOIN LATERAL (
        SELECT id, event_id, integration_id, created_at FROM queue
        WHERE id = s.id AND worker = $1::text AND attempts = s.attempts - 1 AND resend < 2
          AND ($11::bigint[] IS NULL OR integration_id = ANY(ARRAY(SELECT id FROM sound)))
          AND integration_id <> ALL (ARRAY(SELECT e.integration_id FROM endings AS e))
        FOR UPDATE SKIP LOCKED
      ) AS q
  ),
  taken AS (
    DELETE FROM queue AS q WHERE q.id = ANY (ARRAY(SELECT id FROM held))
  ),
  ended AS (
    INSERT INTO deliveries (${endedColumns})
    SELECT id, event_id, integration_id, created_at, 'delivered', NULL, attempts, early, lane, NULL, started_at, duration_ms,
      outcome, status, detail, excerpt
    FROM held
  ),
  counted AS (
    INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, 0, -count(*), 0, count(*), 0, 0, 0, 0 FROM held HAVING count(*) > 0
  )
  SELECT id FROM held`

/** SQL for the state after a release, like core's `Transitions.release`. */
const releasedState = `CASE WHEN attempts = 0 OR resend > 0 THEN 'pending' ELSE 'retrying' END`

/** SQL that updates the counts for released deliveries. The query `from` returns their new states. */
const countReleased = (from: string): string =>
  `INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, count(*) FILTER (WHERE state = 'pending'), -count(*), count(*) FILTER (WHERE state = 'retrying'), 0, 0, 0, 0, 0
    FROM ${from} HAVING count(*) > 0`

/**
 * Releases deliveries leased to a worker, given in order of id with their due times, and updates the counts. Clears the
 * worker of deliveries that were cancelled under the lease. Skips deliveries that another transaction has locked.
 * Returns the ids of both kinds.
 */
export const release = `WITH held AS MATERIALIZED (
    SELECT q.place, r.due_at FROM unnest($2::bigint[], $3::bigint[]) AS r (id, due_at) CROSS JOIN LATERAL (
      SELECT ctid AS place FROM queue WHERE id = r.id AND worker = $1::text FOR UPDATE SKIP LOCKED
    ) AS q
  ),
  released AS (
    UPDATE queue AS q SET state = ${releasedState}, worker = NULL, resend = least(q.resend, 1),
      due_at = CASE WHEN q.resend = 2 THEN least(held.due_at, q.due_at) ELSE held.due_at END
    FROM held WHERE q.ctid = held.place RETURNING q.id, q.state
  ),
  counted AS (${countReleased("released")}),
  forgotten AS (
    UPDATE deliveries SET worker = NULL WHERE id = ANY(ARRAY(
      SELECT id FROM deliveries
      WHERE (SELECT count(*) FROM released) < cardinality($2::bigint[]) AND id = ANY($2::bigint[]) AND worker = $1::text
      ORDER BY id FOR UPDATE SKIP LOCKED
    )) RETURNING id
  )
  SELECT id FROM released UNION ALL SELECT id FROM forgotten`

/** Selects the given deliveries that are leased to a worker or were cancelled under its lease. */
export const leasedAmong = `SELECT id FROM queue WHERE id = ANY($2) AND worker = $1
  UNION ALL SELECT id FROM deliveries WHERE id = ANY($2) AND worker = $1`

/**
 * Releases all leases of some workers ($1), with their former due times, and updates the counts. For one worker ($2),
 * releases only leases of deliveries created before a time ($3, 0 for none), except some ($4). Wakes the workers in
 * other processes if anything was released.
 *
 * Cost: one index search per integration with active deliveries, and all leased deliveries. This rare cost is lower
 * than that of writing every delivery to an index on workers. Without `OFFSET 0`, a plan made for a small table would
 * scan the whole index. `NOT IN` hashes the exceptions; `<> ALL` would compare each row with each of them.
 */
export const releaseAllOf = `WITH RECURSIVE holders (integration_id) AS (
    (SELECT integration_id FROM queue ORDER BY integration_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.integration_id FROM queue AS q WHERE q.integration_id > h.integration_id
      ORDER BY q.integration_id LIMIT 1)
    FROM holders AS h WHERE h.integration_id IS NOT NULL
  ),
  found AS MATERIALIZED (
    SELECT q.id FROM holders AS h CROSS JOIN LATERAL (
      SELECT id FROM queue WHERE integration_id = h.integration_id AND state = 'delivering' AND (worker = ANY($1::text[])
        OR (worker = $2::text AND created_at < $3::bigint AND id NOT IN (SELECT unnest($4::bigint[]))))
      OFFSET 0
    ) AS q
  ),
  held AS MATERIALIZED (
    SELECT ctid AS place FROM queue
    WHERE id = ANY(ARRAY(SELECT id FROM found)) AND (worker = ANY($1::text[]) OR worker = $2::text)
    ORDER BY id FOR UPDATE
  ),
  released AS (
    UPDATE queue AS q SET state = ${releasedState}, worker = NULL, resend = least(q.resend, 1)
    WHERE q.ctid = ANY(ARRAY(SELECT place FROM held)) RETURNING q.state
  ),
  counted AS (${countReleased("released")}),
  number AS MATERIALIZED (SELECT count(*) AS count FROM released),
  signalled AS MATERIALIZED (SELECT wake('') FROM number WHERE count > 0)
  SELECT count FROM number LEFT JOIN signalled ON true`

/**
 * Like `releaseAllOf`, for deliveries that were cancelled under a lease: clears their workers. Cost: ranges of an index
 * that contains only such deliveries.
 */
export const forget = `UPDATE deliveries SET worker = NULL WHERE id = ANY(ARRAY(
    SELECT id FROM deliveries
    WHERE worker IS NOT NULL AND worker = ANY($1::text[] || $2::text)
      AND (worker = ANY($1::text[]) OR (created_at < $3::bigint AND id NOT IN (SELECT unnest($4::bigint[]))))
    ORDER BY id + 0 FOR UPDATE
  ))`

/**
 * Locks a worker's own row and creates it if it is missing. Returns the end of the worker's membership; null without
 * one. As the first statement of a heartbeat, it waits without holding other locks.
 */
export const lockOwn = `INSERT INTO members (worker, until) VALUES ($1, 0)
  ON CONFLICT (worker) DO UPDATE SET until = members.until
  RETURNING CASE WHEN xmax <> 0 THEN until END AS until`

/**
 * Upgrades the lock on a worker's own row, so that no other transaction can lease deliveries to the worker. Must run
 * before anything else is locked.
 */
export const lockAlone = `SELECT worker FROM members WHERE worker = $1 FOR UPDATE`

/**
 * Locks the lapsed memberships of other workers. Skips memberships that another transaction has locked; a later
 * heartbeat ends them.
 */
export const lapsed = `SELECT worker FROM members WHERE until <= $1 AND worker <> $2 FOR UPDATE SKIP LOCKED`

/** Renews a membership whose row is locked. */
export const renewMembership = `UPDATE members SET until = $2 WHERE worker = $1`

/** Ends memberships whose rows are locked. */
export const leave = `DELETE FROM members WHERE worker = ANY($1::text[])`

export const roll = `SELECT count(*) AS workers, count(CASE WHEN worker < $1 THEN 1 END) AS rank FROM members`

/** Moves locked active deliveries to the ended ones. */
export const end = `WITH taken AS (DELETE FROM queue WHERE id = ANY($1))
  INSERT INTO deliveries (${endedColumns})
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[], $15::text[],
    $16::text[])`

/**
 * Reads integrations and makes `lockForChange` wait until the transaction ends. Updates of the failure state don't
 * wait.
 */
export const targets = `SELECT id, status, version FROM integrations WHERE id = ANY($1) ORDER BY id FOR KEY SHARE`

/** Like `targets`, but does not wait for changes. Returns whether each integration is locked. */
export const freeTargets = `WITH locked AS MATERIALIZED (
    SELECT id, status, version FROM integrations WHERE id = ANY($1) ORDER BY id FOR KEY SHARE SKIP LOCKED
  )
  SELECT id, status, version, true AS locked FROM locked
  UNION ALL
  SELECT id, status, version, false FROM integrations WHERE id = ANY($1) AND id <> ALL (ARRAY(SELECT id FROM locked))`

const integrationsOf = (ids: string): string => `SELECT integration_id AS id FROM queue WHERE id = ANY(${ids})
    UNION SELECT integration_id AS id FROM deliveries WHERE id = ANY(${ids})`

/** The integrations of some deliveries. */
export const integrationsOfDeliveries = integrationsOf("$1")

/** Locks an integration without excluding publications. */
export const lockIntegration = `SELECT id FROM integrations WHERE id = $1 FOR NO KEY UPDATE`

/**
 * Locks an integration whose status or version may change. Waits for earlier publications; later ones don't wait.
 */
export const lockForChange = `SELECT id FROM integrations WHERE id = $1 FOR UPDATE`

/** Takes the locks of idempotency keys until the transaction ends. Returns the keys that other transactions use. */
export const busyKeys = `SELECT k.key FROM unnest($1::text[]) AS k (key)
  WHERE NOT try_hold(${lockClasses.idempotencyKeys}, hashtext(k.key))`

/** Whether each of the calls has ended, in the given order (`migrations/PublishFunction`). */
export const noteCalls = `SELECT has_ended FROM note_calls($1::bigint[], $2::text[], $3::bigint[], $4::bigint[])`

/**
 * Prevents others from adding integrations to a scope until the transaction ends. The parameter is the scope's name.
 */
export const lockScope = `SELECT hold(${lockClasses.scopes}, hashtext($1))`

const subject = `id, scope_type, scope_id, status, disabled_reason, failing_since, failing_noticed, failing_attempts,
    failing_retry_after`

/**
 * Reads the columns of integrations that settlements need. Of these, locks the integrations that may be affected ($2,
 * and all that are failing or disabled) if they are free, without excluding publications. Returns whether each is
 * locked.
 */
export const lockSubjects = `WITH locked AS MATERIALIZED (
    SELECT ${subject} FROM integrations
    WHERE id = ANY($1) AND (id = ANY($2) OR status <> 'enabled' OR failing_since IS NOT NULL)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT ${subject}, true AS locked FROM locked
  UNION ALL
  SELECT ${subject}, false FROM integrations WHERE id = ANY($1) AND id <> ALL (ARRAY(SELECT id FROM locked))`

/** Locks integrations for change and returns them. Skips integrations to which a transaction is publishing. */
export const lockFreeForChange = `SELECT id FROM integrations WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED`

/** Must match the condition of the partial indexes literally, or PostgreSQL does not use them. */
export const isUnacknowledged = `state <> 'delivered'`

/**
 * The id of an integration's newest delivery that ended without an acknowledgement and is not being attempted. Cost:
 * the end of one index range per state.
 */
export const newestUnacknowledged = `SELECT max(id) AS id FROM (${Transitions.unacknowledgedStates
  .map(
    (state) => `(SELECT id FROM deliveries
        WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged} AND worker IS NULL
      ORDER BY id DESC LIMIT 1)`
  )
  .join(" UNION ALL ")}) AS newest`

const queuedAs = (lock: string): string => `SELECT ${identity}, state, NULL::text AS reason, attempts, early, lane,
    due_at, worker, resend, coalesce(id <= ${lastOf("queue.integration_id")}, false) AS ending
  FROM queue WHERE id = ANY($1) ORDER BY id ${lock}`

const endedAs = (lock: string): string => `SELECT ${identity}, state, reason, attempts, early, lane,
    NULL::bigint AS due_at, worker, 0 AS resend
  FROM deliveries WHERE id = ANY($1) ORDER BY id ${lock}`

/** Locks active deliveries and returns their rows, and whether a cancellation covers them. */
export const queuedStandings = queuedAs("FOR UPDATE")

/** Locks ended deliveries and returns their rows. */
export const endedStandings = endedAs("FOR UPDATE")

/** Like `queuedStandings`, but skips deliveries that another transaction has locked. */
export const freeQueuedStandings = queuedAs("FOR UPDATE SKIP LOCKED")

/** Like `endedStandings`, but skips deliveries that another transaction has locked. */
export const freeEndedStandings = endedAs("FOR UPDATE SKIP LOCKED")

/**
 * SQL that joins parameter rows with the rows of a table by id, with the parameters as the outer side. In another join
 * order, a plan made for a small table would scan the whole table.
 */
const rowsOf = (table: string, given: string): string =>
  `CROSS JOIN LATERAL (SELECT ctid AS place FROM ${table} WHERE id = ${given}.id OFFSET 0) AS old`

/** Updates locked active deliveries, and stores their last attempts. */
export const requeue = `WITH attempted AS (
    ${toAttempts}
    SELECT * FROM unnest($1::bigint[], $3::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::text[],
        $14::text[]) AS a (id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)
    WHERE a.outcome IS NOT NULL
  )
  UPDATE queue AS d SET state = moved.state, attempts = moved.attempts, early = moved.early,
    lane = moved.lane, due_at = moved.due_at, worker = moved.worker, resend = moved.resend
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
    AS moved (id, state, attempts, early, lane, due_at, worker, resend)
    ${rowsOf("queue", "moved")}
  WHERE d.ctid = old.place`

/** Updates locked ended deliveries, except for their state. */
export const updateEnded = `UPDATE deliveries AS d SET attempts = e.attempts, early = e.early, worker = e.worker,
    attempt_started_at = e.started_at, attempt_duration_ms = e.duration_ms, attempt_outcome = e.outcome,
    attempt_status = e.status, attempt_detail = e.detail, attempt_excerpt = e.excerpt
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[],
      $9::text[], $10::text[])
    AS e (id, attempts, early, worker, started_at, duration_ms, outcome, status, detail, excerpt)
    ${rowsOf("deliveries", "e")}
  WHERE d.ctid = old.place`

/**
 * Removes locked deliveries from the ended ones, and moves the attempts that ended them to `attempts`. Followed by
 * `insertQueued`.
 */
export const takeEnded = `WITH ended AS (DELETE FROM deliveries WHERE id = ANY($1) RETURNING *)
  ${toAttempts}
  SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail,
    attempt_excerpt
  FROM ended WHERE attempt_outcome IS NOT NULL`

/**
 * The unacknowledged deliveries of an integration, ended or waiting for a retry, that follow a given id; lowest ids
 * first. Cost: the start of one index range per state.
 */
export const recoverable = `SELECT id, created_at,
    (SELECT e.resource_type FROM events AS e WHERE e.id = found.event_id) AS resource_type FROM (${Transitions.unacknowledgedStates
      .map(
        (state) => `(SELECT id, created_at, event_id FROM deliveries
      WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged} AND id > $2 ORDER BY id LIMIT $3)`
      )
      .join(" UNION ALL ")}
    UNION ALL (SELECT id, created_at, event_id FROM queue
      WHERE integration_id = $1 AND state = 'retrying' AND id > $2 ORDER BY id LIMIT $3)
  ) AS found ORDER BY id LIMIT $3`

/** Wakes the workers in all processes when the transaction commits. */
export const signal = `SELECT wake('')`

/** Waits 3 ms, for other transactions to release the rows that a claim skipped. */
export const pause = "SELECT pg_sleep(0.003)"
