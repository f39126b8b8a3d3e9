/**
 * Statements that store deliveries and move them on. Each comment says how SQLite carries the statement out, and what
 * it costs beyond the rows it touches.
 */
import type { DeliveryId } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { multiRow } from "./MultiRow.ts"

/** Appends to the table; one search in the index over ids. Returns `seq`. */
export const insertEvents = multiRow<{ readonly seq: number }>(
  `INSERT INTO events (id, resource_type, action, building_id, tenant_ids, data, created_at) VALUES`,
  7,
  `RETURNING seq`
)

/** Appends to the table and to each of its indexes. Returns `id`. */
export const insertDeliveries = multiRow<{ readonly id: DeliveryId }>(
  `INSERT INTO deliveries
    (event_seq, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend) VALUES`,
  10,
  `RETURNING id`
)

/** Which of some integrations exist, and whether they are enabled. One search by id each. */
export const integrationStatuses = `SELECT id, status FROM integrations WHERE id IN (SELECT value FROM json_each(?))`

/** Where some deliveries stand. One search by id each. */
export const standings = `SELECT id, event_seq, integration_id, state, reason, attempts, lane, due_at, lease_token, resend
  FROM deliveries WHERE id IN (SELECT value FROM json_each(?))`

/** Moves deliveries to where they stand next. One search by id each, and one in the index of what is active. */
export const moveDeliveries = multiRow(
  `WITH moved (id, state, reason, attempts, lane, due_at, lease_token, resend) AS (VALUES`,
  8,
  `) UPDATE deliveries SET state = moved.state, reason = moved.reason, attempts = moved.attempts, lane = moved.lane,
      due_at = moved.due_at, lease_token = moved.lease_token, resend = moved.resend
    FROM moved WHERE deliveries.id = moved.id`
)

/** One search by delivery and number each; no other index. */
export const insertAttempts = multiRow(
  `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, response_excerpt, detail) VALUES`,
  8
)

/** The active deliveries of one integration: four searches in the index of what is active. */
const activeOf = `due_at IS NOT NULL AND lane IN (0, 1, 2, 3) AND integration_id = ?`

/** How many active deliveries an integration has in each state. */
export const countActive = `SELECT state, count(*) AS count FROM deliveries WHERE ${activeOf} GROUP BY state`

/** Ends all active deliveries of an integration, for a reason. One under lease keeps its token. */
export const cancelActive = `UPDATE deliveries SET state = 'cancelled', reason = ?, due_at = NULL, resend = 0
  WHERE ${activeOf}`

const quoted = (texts: ReadonlyArray<string>): string => texts.map((text) => `'${text}'`).join(", ")

/** In these words, because only so does SQLite see that the partial indexes serve. */
export const isUnacknowledged = `state IN (${quoted(Standing.recoverableStates)})`

const recoverable = `integration_id = ? AND ${isUnacknowledged} AND created_at >= ?`

/** How much there is to recover in each state. Only what the integration did not acknowledge is looked at. */
export const countRecoverable = `SELECT state, count(*) AS count FROM deliveries WHERE ${recoverable} GROUP BY state`

/** Makes due at a time what an integration did not acknowledge: `rules/Standing.resent`, for all of it. */
export const recover = `UPDATE deliveries SET state = 'pending', reason = NULL, due_at = ?, lease_token = NULL, resend = 1
  WHERE ${recoverable}`

/** Adds to tallies. One search by name each; the table has a handful of rows. */
export const addToTallies = multiRow(
  `INSERT INTO tallies (name, count) VALUES`,
  2,
  `ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`
)

export const tallies = `SELECT name, count FROM tallies`
