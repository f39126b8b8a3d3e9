/**
 * Statements that find out what can be claimed.
 *
 * The index `queue_due` (lane, integration_id, due_at, id) holds what is active. One statement
 * hops through it from integration to integration, looking at the first entry of each; the other takes the first few due
 * entries of those that were chosen. So the size of a backlog never shows.
 */

/** For each lane and integration that has something active, and is not being ended: when the first of it is due. */
const heads = `WITH RECURSIVE groups (lane, integration_id) AS (
    SELECT l.lane, (
      SELECT d.integration_id FROM queue AS d
      WHERE d.lane = l.lane ORDER BY d.integration_id LIMIT 1
    )
    FROM (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS l (lane)
    UNION ALL
    SELECT g.lane, (
      SELECT d.integration_id FROM queue AS d
      WHERE d.lane = g.lane AND d.integration_id > g.integration_id
      ORDER BY d.integration_id LIMIT 1
    )
    FROM groups AS g WHERE g.integration_id IS NOT NULL
  ),
  heads AS MATERIALIZED (
    SELECT g.lane, g.integration_id, (
      SELECT d.due_at FROM queue AS d
      WHERE d.lane = g.lane AND d.integration_id = g.integration_id
      ORDER BY d.due_at LIMIT 1
    ) AS due_at
    FROM groups AS g
    WHERE g.integration_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = g.integration_id)
  )`

/** The lanes and integrations that have something due. Two searches in the index for each that has anything active. */
export const dueHeads = `${heads} SELECT lane, integration_id, due_at FROM heads WHERE due_at <= $1`

/** The earliest time at which anything can be claimed. */
export const nextDue = `${heads} SELECT min(due_at) AS due_at FROM heads`

/**
 * The first due deliveries of some integrations in a lane, up to a time, at most so many of each, locked. What another
 * transaction has locked is passed over, and never waited for; so is what has been ended since the heads were found. One
 * search in the index for each integration.
 */
export const firstDue = `SELECT d.*
  FROM unnest($1::bigint[]) AS wanted (integration_id) CROSS JOIN LATERAL (
    SELECT due.id, due.event_id, due.integration_id, due.created_at, due.state, due.reason, due.attempts, due.lane, due.due_at,
      due.lease_token, due.resend
    FROM queue AS due
    WHERE due.lane = $2 AND due.integration_id = wanted.integration_id AND due.due_at <= $3
    ORDER BY due.due_at, due.id LIMIT $4
    FOR UPDATE SKIP LOCKED
  ) AS d
  WHERE NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = wanted.integration_id)`
