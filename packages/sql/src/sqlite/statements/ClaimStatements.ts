/**
 * Statements that find out what can be claimed.
 *
 * The index `queue_due` (lane, integration_id, due_at) holds what is active. Two statements
 * walk it: one hops from integration to integration, looking at the first entry of each; the other takes the first few
 * due entries of those that were chosen. So the size of a backlog never shows. Measured with 20 integrations, one of which
 * has a million due deliveries: the hops 0.03 ms, a whole claim of one delivery 0.3 ms, of 100 in turns 2.5 ms. With
 * 10,000 integrations that all have a backlog: the hops 8 ms, a claim of 100 deliveries 22 ms, of 1,000 37 ms.
 */
import { latest } from "@doorhook/core"

/** For each lane and integration that has something active, and is not being ended: when the first of it is due. */
const heads = `WITH RECURSIVE groups (lane, integration_id) AS (
    SELECT column1, (SELECT min(integration_id) FROM queue WHERE lane = column1)
    FROM (VALUES (0), (1), (2), (3))
    UNION ALL
    SELECT lane, (
      SELECT min(later.integration_id) FROM queue AS later
      WHERE later.lane = groups.lane AND later.integration_id > groups.integration_id
    )
    FROM groups WHERE integration_id IS NOT NULL
  ),
  heads AS (
    SELECT lane, integration_id, (
      SELECT min(first.due_at) FROM queue AS first
      WHERE first.lane = groups.lane AND first.integration_id = groups.integration_id
    ) AS due_at
    FROM groups WHERE integration_id IS NOT NULL AND integration_id NOT IN (SELECT integration_id FROM endings)
  )`

/** The lanes and integrations that have something due. Two searches in the index for each that has anything active. */
export const dueHeads = `${heads} SELECT lane, integration_id, due_at FROM heads WHERE due_at <= ?`

/** The earliest time at which anything can be claimed. */
export const nextDue = `${heads} SELECT min(min(due_at), ${latest}) AS due_at FROM heads`

/**
 * The first due deliveries of some integrations (a JSON list) in a lane, up to a time, at most so many of each. One
 * search in the index for each integration, one by id for each row.
 */
export const firstDue = `SELECT d.id, d.event_id, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.lane,
    d.due_at, d.lease_token, d.resend
  FROM json_each(?1) AS wanted CROSS JOIN queue AS d
  WHERE d.id IN (
    SELECT due.id FROM queue AS due
    WHERE due.lane = ?2 AND due.integration_id = wanted.value AND due.due_at <= ?3
    ORDER BY due.due_at, due.id LIMIT ?4
  )`
