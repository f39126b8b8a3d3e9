/**
 * Statements that store deliveries and move them on. Rows come as one array for each column, so that a statement has one
 * text whatever its number of rows. Several rows are always locked in the order of their ids.
 */
import { Standing } from "@doorhook/core"

const quoted = (values: ReadonlyArray<string>): string => values.map((value) => `'${value}'`).join(", ")

/** Appends, numbering in the order given. Returns `seq`. */
export const insertEvents = `INSERT INTO events (id, resource_type, action, building_id, tenant_ids, data, created_at)
  SELECT e.id, e.resource_type, e.action, e.building_id, e.tenant_ids, e.data, e.created_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[]) WITH ORDINALITY
    AS e (id, resource_type, action, building_id, tenant_ids, data, created_at, place)
  ORDER BY e.place RETURNING seq`

/** Appends, numbering in the order given. Returns `id`. */
export const insertDeliveries = `INSERT INTO deliveries
    (event_seq, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend)
  SELECT d.event_seq, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.lane, d.due_at, d.lease_token,
    d.resend
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::text[], $10::bigint[]) WITH ORDINALITY
    AS d (event_seq, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend, place)
  ORDER BY d.place RETURNING id`

export const insertAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, response_excerpt, detail)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
    $8::text[])`

/**
 * Which of some integrations exist, and whether they are enabled. The rows are shared with whoever asks the same; who
 * would change them waits until what was decided by them is stored, and then sees it.
 */
export const integrationStatuses = `SELECT id, status FROM integrations WHERE id = ANY($1) ORDER BY id FOR SHARE`

/** Locks the integrations of some deliveries. */
export const lockIntegrationsOf = `SELECT id FROM integrations
  WHERE id IN (SELECT integration_id FROM deliveries WHERE id = ANY($1)) ORDER BY id FOR NO KEY UPDATE`

/**
 * Locks some deliveries, and what is active of the same integrations as others, in one go: taken one after the other,
 * the locks would be out of order.
 */
export const lockWithActive = `SELECT id FROM deliveries
  WHERE id IN (
    SELECT unnest($1::bigint[])
    UNION
    SELECT active.id FROM deliveries AS active
    WHERE active.due_at IS NOT NULL AND active.lane IN (0, 1, 2, 3)
      AND active.integration_id IN (SELECT other.integration_id FROM deliveries AS other WHERE other.id = ANY($2))
  )
  ORDER BY id FOR UPDATE`

/** Where some deliveries stand, locked. */
export const standings = `SELECT id, event_seq, integration_id, state, reason, attempts, lane, due_at, lease_token, resend
  FROM deliveries WHERE id = ANY($1) ORDER BY id FOR UPDATE`

/** Moves deliveries, which are locked already, to where they stand next. */
export const moveDeliveries = `UPDATE deliveries AS d SET state = moved.state, reason = moved.reason,
    attempts = moved.attempts, lane = moved.lane, due_at = moved.due_at, lease_token = moved.lease_token,
    resend = moved.resend
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
    AS moved (id, state, reason, attempts, lane, due_at, lease_token, resend)
  WHERE d.id = moved.id`

/** Ends all active deliveries of an integration, for a reason. Those under lease keep their token. Counts them. */
export const cancelActive = `WITH active AS (
    SELECT id, state FROM deliveries
    WHERE due_at IS NOT NULL AND lane IN (0, 1, 2, 3) AND integration_id = $1 ORDER BY id FOR UPDATE
  ),
  cancelled AS (
    UPDATE deliveries AS d SET state = 'cancelled', reason = $2, due_at = NULL, resend = 0
    FROM active WHERE d.id = active.id
  )
  SELECT state, count(*) AS count FROM active GROUP BY state`

/** In these words, because only so is it seen that the partial indexes serve. */
export const isUnacknowledged = `state IN (${quoted(Standing.recoverableStates)})`

/** Makes due at a time what an integration did not acknowledge since another. Counts it. */
export const recover = `WITH recoverable AS (
    SELECT id, state FROM deliveries
    WHERE integration_id = $1 AND ${isUnacknowledged} AND created_at >= $2 ORDER BY id FOR UPDATE
  ),
  recovered AS (
    UPDATE deliveries AS d SET state = 'pending', reason = NULL, due_at = $3, lease_token = NULL, resend = 1
    FROM recoverable WHERE d.id = recoverable.id
  )
  SELECT state, count(*) AS count FROM recoverable GROUP BY state`
