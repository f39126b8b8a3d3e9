/**
 * Statements that find out what can be claimed.
 *
 * The index `queue_due` (lane, integration_id, due_at, id) holds the active deliveries that are not leased. One statement
 * hops through it from integration to integration, looking at the first entry of each; the other takes the first few due
 * entries of those that were chosen. So the size of a backlog never shows.
 */

/** For each lane and integration that has deliveries waiting and is not being ended: when the first is due. */
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
 * The lanes and integrations that have deliveries waiting, and when the first is due. Two searches in the index for each
 * that has any.
 */
export const waiting = `${heads} SELECT lane, integration_id, due_at FROM heads WHERE due_at IS NOT NULL`

const columns =
  "due.id, due.event_id, due.integration_id, due.created_at, due.attempts, due.early, due.lane, due.due_at, due.resend"

/**
 * The first due deliveries of some integrations in a lane, up to a time, at most so many of each, locked. What another
 * transaction has locked is passed over; so is what was ended since the heads were found. One search in the index for each
 * integration.
 */
export const firstDue = `SELECT d.*
  FROM unnest($1::bigint[]) AS wanted (integration_id) CROSS JOIN LATERAL (
    SELECT ${columns} FROM queue AS due
    WHERE due.lane = $2 AND due.integration_id = wanted.integration_id AND due.due_at <= $3 AND due.worker IS NULL
    ORDER BY due.due_at, due.id LIMIT $4
    FOR UPDATE SKIP LOCKED
  ) AS d
  WHERE NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = wanted.integration_id)`

/** The oldest retries of an integration that are not due at a time, locked. As above. A range of the other index. */
export const earlyRetries = `SELECT ${columns} FROM queue AS due
  WHERE due.integration_id = $1 AND due.state = 'retrying' AND due.due_at > $2 AND due.id > 0
    AND NOT EXISTS (SELECT 1 FROM endings AS e WHERE e.integration_id = $1)
  ORDER BY due.id LIMIT $3
  FOR UPDATE SKIP LOCKED`

/**
 * Leases deliveries, which are locked already, to a worker: core's `Transitions.claimed`. Counts them by the state in which
 * they were. Returns their events, each once, and the ids of their integrations, with the transactions
 * that wrote their rows last; those that are there.
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
