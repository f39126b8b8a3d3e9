/**
 * Statements that find and lease the deliveries that a claim can take.
 *
 * The index `queue_due` (lane, integration_id, due_at, id) contains the active deliveries that are not leased.
 * `waiting` skips through the index from integration to integration and reads the first entry of each. `firstDue` reads
 * the first due entries of the chosen integrations. The cost of both does not depend on the size of the backlog.
 */

/** The first due time per lane and integration, for integrations with waiting deliveries and no cancellation. */
const heads = `WITH RECURSIVE groups (lane, integration_id) AS (
    SELECT l.lane, (
      SELECT d.integration_id FROM queue AS d
      WHERE d.lane = l.lane AND d.worker IS NULL ORDER BY d.integration_id LIMIT 1
    )
    FROM (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS l (lane)
    UNION ALL
    SELECT g.lane, (
      SELECT d.integration_id FROM queue AS d
      WHERE d.lane = g.lane AND d.integration_id > g.integration_id AND d.worker IS NULL
      ORDER BY d.integration_id LIMIT 1
    )
    FROM groups AS g WHERE g.integration_id IS NOT NULL
  ),
  heads AS MATERIALIZED (
    SELECT g.lane, g.integration_id, (
      SELECT d.due_at FROM queue AS d
      WHERE d.lane = g.lane AND d.integration_id = g.integration_id AND d.worker IS NULL
      ORDER BY d.due_at LIMIT 1
    ) AS due_at
    FROM groups AS g
    WHERE g.integration_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = g.integration_id)
  )`

/**
 * The lanes and integrations with waiting deliveries, and the first due time of each. Cost: two index searches per lane
 * and integration.
 */
export const waiting = `${heads} SELECT lane, integration_id, due_at FROM heads WHERE due_at IS NOT NULL`

const columns =
  "due.id, due.event_id, due.integration_id, due.created_at, due.attempts, due.early, due.lane, due.due_at, due.resend"

/**
 * Locks the first due deliveries of integrations in a lane, up to a given number per integration. Skips deliveries that
 * another transaction has locked, and integrations whose cancellation began after the heads were read. Cost: one index
 * search per integration.
 */
export const firstDue = `SELECT d.*
  FROM unnest($1::bigint[]) AS wanted (integration_id) CROSS JOIN LATERAL (
    SELECT ${columns} FROM queue AS due
    WHERE due.lane = $2 AND due.integration_id = wanted.integration_id AND due.due_at <= $3 AND due.worker IS NULL
    ORDER BY due.due_at, due.id LIMIT $4
    FOR UPDATE SKIP LOCKED
  ) AS d
  WHERE NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = wanted.integration_id)`

/**
 * Locks an integration's oldest retries that are not due yet. Skips retries that another transaction has locked. Cost:
 * one range of `queue_by_integration`.
 */
export const earlyRetries = `SELECT ${columns} FROM queue AS due
  WHERE due.integration_id = $1 AND due.state = 'retrying' AND due.due_at > $2 AND due.id > 0
    AND NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = $1)
  ORDER BY due.id LIMIT $3
  FOR UPDATE SKIP LOCKED`

/** Removes the locks from a statement above, for an engine without SKIP LOCKED. */
export const withoutLocks = (statement: string): string => statement.replace("FOR UPDATE SKIP LOCKED", "")

/** Locks deliveries in order of id, waiting for others, and returns the ids of those that are not leased then. */
export const lockStillFree = `SELECT id FROM queue WHERE id = ANY($1) AND worker IS NULL ORDER BY id FOR UPDATE`

/**
 * Leases locked deliveries to a worker, like core's `Transitions.claim`, and updates the counts. Returns each of their
 * events once, and the id of each existing integration with the transaction that last wrote its row.
 */
export const lease = `WITH chosen AS MATERIALIZED (
    SELECT old.id, old.place, old.state FROM unnest($2::bigint[]) AS wanted (id)
      CROSS JOIN LATERAL (SELECT id, ctid AS place, state FROM queue WHERE id = wanted.id OFFSET 0) AS old
  ),
  leased AS (
    UPDATE queue AS q SET state = 'delivering', worker = $1::text, resend = least(q.resend, 1)
    FROM chosen AS c WHERE q.ctid = c.place RETURNING q.event_id, q.integration_id
  ),
  counted AS (
    INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, -count(*) FILTER (WHERE state = 'pending'), count(*), -count(*) FILTER (WHERE state = 'retrying'), 0, 0, 0, 0, 0
    FROM chosen HAVING count(*) > 0
  )
  SELECT NULL::bigint AS integration_id, NULL::bigint AS version, e.id, e.resource_type, e.action, e.building_id,
    e.tenant_ids, e.data, e.created_at
  FROM (SELECT DISTINCT event_id FROM leased) AS l
    CROSS JOIN LATERAL (SELECT * FROM events WHERE events.id = l.event_id OFFSET 0) AS e
  UNION ALL
  SELECT i.id, i.xmin::text::bigint, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT integration_id FROM leased) AS l
    CROSS JOIN LATERAL (SELECT id, xmin FROM integrations WHERE integrations.id = l.integration_id OFFSET 0) AS i`
