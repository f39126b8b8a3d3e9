/**
 * Statements that store deliveries and move them on. Rows come as one array for each column, so that a statement has one
 * text whatever its number of rows. Several rows are always locked in the order of their ids, and those of `queue` before
 * those of `deliveries`.
 */
import { Standing } from "@doorhook/core"
import { announce } from "../Horizon.ts"
import { lastOf } from "./EndingStatements.ts"
import { addToTalliesIf } from "./TallyStatements.ts"

/**
 * Appends events and their deliveries, the active ones and the others, with numbers in the order given, and counts them.
 * All of it, or nothing, if one of some integrations (none, if that is known already) is not enabled, changed or deleted;
 * they stay as they are until the transaction ends. Returns the numbers.
 */
export const insert = `WITH locked AS MATERIALIZED (
    SELECT i.status = 'enabled' AND i.version = m.version AS sound
    FROM unnest($1::bigint[], $2::bigint[]) AS m (id, version)
      CROSS JOIN LATERAL (SELECT status, version FROM integrations WHERE id = m.id FOR KEY SHARE) AS i
  ),
  announced AS MATERIALIZED (
    SELECT ${announce} FROM locked HAVING count(*) FILTER (WHERE sound) = cardinality($1::bigint[])
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
    INSERT INTO queue (id, event_id, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend)
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.lane, d.due_at,
      d.lease_token, d.resend
    FROM taken AS t CROSS JOIN unnest($17::bigint[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::text[],
        $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::bigint[])
      AS d (place, event_id, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend)
  ),
  stored_ended AS (
    INSERT INTO deliveries (id, event_id, integration_id, created_at, state, reason, attempts, lane, lease_token)
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.lane,
      d.lease_token
    FROM taken AS t CROSS JOIN unnest($28::bigint[], $29::text[], $30::bigint[], $31::bigint[], $32::text[], $33::text[],
        $34::bigint[], $35::bigint[], $36::text[])
      AS d (place, event_id, integration_id, created_at, state, reason, attempts, lane, lease_token)
  ),
  counted AS (${addToTalliesIf("FROM taken", 37)})
  SELECT unnest(ids) AS id FROM taken`

/** Puts deliveries, which were taken from what has ended, to what is active. */
export const insertQueued = `INSERT INTO queue
    (id, event_id, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])`

const endedColumns = `id, event_id, integration_id, created_at, state, reason, attempts, lane, lease_token,
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt`

const toAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)`

/**
 * Moves active deliveries, given in the order of their ids, to what has ended, with their attempts, and counts them. All of
 * them, or none, if one is not under the lease that is given, or was cancelled, or is to be sent again, or if one of some
 * integrations is disabled, failing or deleted. Returns a row if they were moved.
 */
export const settle = `WITH held AS MATERIALIZED (
    SELECT q.id, q.event_id, q.integration_id, q.created_at, s.state, s.reason, s.attempts, s.lane,
      s.started_at, s.duration_ms, s.outcome, s.status, s.detail, s.excerpt
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::text[], $10::bigint[], $11::text[], $12::text[])
      AS s (id, token, state, reason, attempts, lane, started_at, duration_ms, outcome, status, detail, excerpt)
      CROSS JOIN LATERAL (
        SELECT id, event_id, integration_id, created_at FROM queue
        WHERE id = s.id AND lease_token = s.token AND state = 'delivering' AND resend < 2 FOR UPDATE
      ) AS q
  ),
  sound AS MATERIALIZED (
    SELECT 1 FROM integrations WHERE id = ANY($13::bigint[]) AND status = 'enabled' AND failing_since IS NULL
    HAVING count(*) = cardinality($13::bigint[])
  ),
  complete AS MATERIALIZED (SELECT 1 FROM held CROSS JOIN sound HAVING count(*) = cardinality($1::bigint[])),
  taken AS (
    DELETE FROM queue AS q USING complete WHERE q.id = ANY (ARRAY(SELECT id FROM held))
  ),
  ended AS (
    INSERT INTO deliveries (${endedColumns})
    SELECT id, event_id, integration_id, created_at, state, reason, attempts, lane, NULL, started_at, duration_ms, outcome,
      status, detail, excerpt
    FROM complete CROSS JOIN held
  ),
  counted AS (${addToTalliesIf("FROM complete", 14)})
  SELECT 1 FROM complete`

/** Moves active deliveries, which are locked already, to what has ended. */
export const end = `WITH taken AS (DELETE FROM queue WHERE id = ANY($1))
  INSERT INTO deliveries (${endedColumns})
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::text[], $15::text[])`

/**
 * Which of some integrations exist, and what they are. The rows are shared with whoever asks the same; who would change
 * them (`lockForChange`) waits until what was decided by them is stored, and then sees it. Who only notes how they fail
 * does not wait.
 */
export const targets = `SELECT id, status, version FROM integrations WHERE id = ANY($1) ORDER BY id FOR KEY SHARE`

const integrationsOf = (ids: string): string => `SELECT integration_id AS id FROM queue WHERE id = ANY(${ids})
    UNION SELECT integration_id AS id FROM deliveries WHERE id = ANY(${ids})`

/** The integrations of some deliveries. */
export const integrationsOfDeliveries = integrationsOf("$1")

/** Locks an integration, beside who publishes to it. */
export const lockIntegration = `SELECT id FROM integrations WHERE id = $1 FOR NO KEY UPDATE`

/** Locks an integration whose status or version may change: who published to it before has committed, who would waits. */
export const lockForChange = `SELECT id FROM integrations WHERE id = $1 FOR UPDATE`

/** The first key of the locks on scopes: «scop» in ASCII. */
const scopeLocks = 0x73636f70

/** Locks the integrations of a scope against further ones, by the name of the scope, until the transaction ends. */
export const lockScope = `SELECT pg_advisory_xact_lock(${scopeLocks}, hashtext($1))`

/** Locks those of some integrations that nobody else keeps in a way that excludes this one, and returns them. */
export const lockFreeIntegrations = `SELECT id FROM integrations WHERE id = ANY($1) ORDER BY id
  FOR NO KEY UPDATE SKIP LOCKED`

/** Locks for change those of some integrations that nobody publishes to, and returns them. */
export const lockFreeForChange = `SELECT id FROM integrations WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED`

/** In these words, because only so is it seen that the partial indexes serve. */
export const isUnacknowledged = `state <> 'delivered'`

/**
 * The newest delivery of an integration that ended without an acknowledgement and is not under way: the end of a range of
 * an index for each state. What it held under lease when it was changed last is over if that was no later than a time.
 */
export const newestUnacknowledged = `SELECT max(id) AS id FROM (${Standing.unacknowledgedStates
  .map(
    (state) => `(SELECT id FROM deliveries WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged}
        AND (lease_token IS NULL OR (SELECT updated_at FROM integrations WHERE id = $1) <= $2::bigint)
      ORDER BY id DESC LIMIT 1)`
  )
  .join(" UNION ALL ")}) AS newest`

/** What names a delivery and never changes. */
const identity = "id, event_id, integration_id, created_at"

/** Where some active deliveries stand, locked, and whether they are of endings. */
export const queuedStandings = `SELECT ${identity}, state, reason, attempts, lane, due_at, lease_token, resend,
    coalesce(id <= ${lastOf("queue.integration_id")}, false) AS ending
  FROM queue WHERE id = ANY($1) ORDER BY id FOR UPDATE`

/** The same of ended ones. */
export const endedStandings = `SELECT ${identity}, state, reason, attempts, lane, NULL::bigint AS due_at, lease_token,
    0 AS resend
  FROM deliveries WHERE id = ANY($1) ORDER BY id FOR UPDATE`

/**
 * From rows that come as parameters to the rows of a table with the same ids. Written so that the first are always the outer
 * ones: a plan that was made while the table was small would else walk through all of it.
 */
const rowsOf = (table: string, given: string): string =>
  `CROSS JOIN LATERAL (SELECT ctid AS place FROM ${table} WHERE id = ${given}.id OFFSET 0) AS old`

/** Moves active deliveries, which are locked already, to where they stand next. */
export const requeue = `UPDATE queue AS d SET state = moved.state, reason = moved.reason, attempts = moved.attempts,
    lane = moved.lane, due_at = moved.due_at, lease_token = moved.lease_token, resend = moved.resend
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
    AS moved (id, state, reason, attempts, lane, due_at, lease_token, resend)
    ${rowsOf("queue", "moved")}
  WHERE d.ctid = old.place`

/** Changes ended deliveries, which are locked already. Their state stays. */
export const amend = `UPDATE deliveries AS d SET attempts = e.attempts, lease_token = e.lease_token,
    attempt_started_at = e.started_at, attempt_duration_ms = e.duration_ms, attempt_outcome = e.outcome,
    attempt_status = e.status, attempt_detail = e.detail, attempt_excerpt = e.excerpt
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::text[],
      $9::text[])
    AS e (id, attempts, lease_token, started_at, duration_ms, outcome, status, detail, excerpt)
    ${rowsOf("deliveries", "e")}
  WHERE d.ctid = old.place`

export const insertAttempts = `${toAttempts}
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
    $8::text[])`

/**
 * Takes deliveries, which are locked already, from what has ended. The attempts that ended them are kept. `insertQueued`
 * comes after it.
 */
export const takeEnded = `WITH ended AS (DELETE FROM deliveries WHERE id = ANY($1) RETURNING *)
  ${toAttempts}
  SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail,
    attempt_excerpt
  FROM ended WHERE attempt_outcome IS NOT NULL`

/**
 * The first deliveries of an integration after one that ended without an acknowledgement or wait for a retry: the beginning
 * of a range of an index for each state.
 */
export const recoverable = `SELECT id, created_at FROM (${Standing.unacknowledgedStates
  .map(
    (state) => `(SELECT id, created_at FROM deliveries
      WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged} AND id > $2 ORDER BY id LIMIT $3)`
  )
  .join(" UNION ALL ")}
    UNION ALL (SELECT id, created_at FROM queue
      WHERE integration_id = $1 AND state = 'retrying' AND id > $2 ORDER BY id LIMIT $3)
  ) AS found ORDER BY id LIMIT $3`
