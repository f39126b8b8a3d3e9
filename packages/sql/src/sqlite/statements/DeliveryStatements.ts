/**
 * Statements that store deliveries and move them on. Each comment says how SQLite carries the statement out, and what
 * it costs beyond the rows it touches. Those without `?` lists run once for each row.
 */
import { latest, Standing } from "@doorhook/core"

/** Appends. One search in the index over ids. */
export const insertEvent = `INSERT INTO events
    (seq, id, resource_type, action, building_id, tenant_ids, created_at, first_delivery, last_delivery, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Up to which event there is one, and up to which `events_of` is filled. */
export const unindexed = `SELECT event, indexed FROM numbers`

/** Fills `events_of` for the events after one up to another, in its order. A range of the table. */
export const index = `INSERT INTO events_of (scope_type, scope_id, resource_type, created_at, event_seq)
  SELECT 'building', building_id, resource_type, created_at, seq FROM events WHERE seq > ?1 AND seq <= ?2
  UNION
  SELECT 'tenant', t.value, resource_type, created_at, seq FROM events CROSS JOIN json_each(tenant_ids) AS t
  WHERE seq > ?1 AND seq <= ?2
  ORDER BY 1, 2, 3, 4, 5`
export const setIndexed = `UPDATE numbers SET indexed = ?`

/** Takes so many numbers for events and for deliveries. Returns the last of each, and up to which event `events_of` is filled. */
export const takeNumbers = `UPDATE numbers SET event = event + ?, delivery = delivery + ?
  RETURNING event, delivery, indexed`

/** Appends to the table; one search in each of its indexes. */
export const insertQueued = `INSERT INTO queue
    (id, event_id, integration_id, created_at, state, reason, attempts, lane, due_at, lease_token, resend)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Appends to the table, or nearly so; one search in the index over integrations, and in two more if unacknowledged. */
export const insertEnded = `INSERT INTO deliveries
    (id, event_id, integration_id, created_at, state, reason, attempts, lane, lease_token, attempt_started_at,
    attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Which of some integrations exist, and what they are. One search by id each. */
export const targets = `SELECT id, status, version FROM integrations WHERE id IN (SELECT value FROM json_each(?))`

/** In these words, because only so does SQLite see that the partial indexes serve. */
export const isUnacknowledged = `state <> 'delivered'`

/**
 * The newest delivery of an integration that ended without an acknowledgement and is not under way: the end of a range of
 * an index for each state. What it held under lease when it was changed last is over if that was no later than a time.
 */
export const newestUnacknowledged = `SELECT max(id) AS id FROM (${Standing.unacknowledgedStates
  .map(
    (state) => `SELECT * FROM (SELECT id FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
      WHERE integration_id = ?1 AND state = '${state}' AND ${isUnacknowledged}
        AND (lease_token IS NULL OR (SELECT updated_at FROM integrations WHERE id = ?1) <= ?2)
      ORDER BY id DESC LIMIT 1)`
  )
  .join(" UNION ALL ")})`

/** What names a delivery and never changes. */
const identity = "id, event_id, integration_id, created_at"
const identityIn = (table: string): string => `id, event_id, ${table}.integration_id, created_at`

/** To be joined to `queue`: its `reason` is null for what is active, and not for what an ending has cancelled already. */
export const ending = `LEFT JOIN endings AS e ON e.integration_id = queue.integration_id AND queue.id <= e.last_id`

/** When an active delivery is due. What an earlier version put off beyond all times has the last: a number that can be read. */
export const readableDue = `min(due_at, ${latest})`

/** Where some active deliveries stand, and whether they are of endings. One search by id each. */
export const queuedStandings = `SELECT id, event_id, queue.integration_id, created_at, state, queue.reason, attempts, lane,
    ${readableDue} AS due_at, lease_token, resend, e.reason IS NOT NULL AS ending
  FROM queue ${ending} WHERE id IN (SELECT value FROM json_each(?))`

/** The same of ended ones. */
export const endedStandings = `SELECT ${identity}, state, reason, attempts, lane, NULL AS due_at, lease_token, 0 AS resend
  FROM deliveries WHERE id IN (SELECT value FROM json_each(?))`

/** One search by id, and one in the index of what is due. */
export const requeue = `UPDATE queue SET state = ?, reason = ?, attempts = ?, lane = ?, due_at = ?, lease_token = ?,
    resend = ?
  WHERE id = ?`

/** One search by id, and one in each index. */
export const deleteQueued = `DELETE FROM queue WHERE id = ?`

/** One search by id. The state stays. */
export const amendEnded = `UPDATE deliveries SET attempts = ?, lease_token = ?, attempt_started_at = ?,
    attempt_duration_ms = ?, attempt_outcome = ?, attempt_status = ?, attempt_detail = ?, attempt_excerpt = ?
  WHERE id = ?`

const toAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)`

const endingAttempt = `id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status,
    attempt_detail, attempt_excerpt`

/** Puts the attempt that ended a delivery to the ones before it. One search by id each. */
export const keepEndingAttempt = `${toAttempts} SELECT ${endingAttempt} FROM deliveries
  WHERE id = ? AND attempt_outcome IS NOT NULL`

/** One search by id, and one in each index that it is in. */
export const deleteEnded = `DELETE FROM deliveries WHERE id = ?`

/** One search by delivery and number each; no other index. */
export const insertAttempt = `${toAttempts} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

/** Begins to end all active deliveries of an integration, for a reason, if there are any. Returns it if it was begun. */
export const beginEnding = `INSERT INTO endings (integration_id, last_id, reason)
  SELECT ?1, delivery, ?2 FROM numbers WHERE EXISTS (SELECT 1 FROM queue WHERE integration_id = ?1)
  ON CONFLICT (integration_id) DO NOTHING RETURNING integration_id`

/** Which integrations have one. */
export const endings = `SELECT integration_id AS id FROM endings ORDER BY integration_id`

const lastOfEnding = `(SELECT last_id FROM endings WHERE integration_id = ?1)`

/** The first deliveries of an integration's ending in a state after one. A range of the index over integrations. */
export const someOfEnding = `SELECT id FROM queue
  WHERE integration_id = ?1 AND state = ?2 AND id > ?3 AND id <= ${lastOfEnding} ORDER BY id LIMIT ?4`

/** All of it. As above. */
export const restOfEnding = `SELECT id FROM queue WHERE integration_id = ?1 AND id <= ${lastOfEnding}`

/** Moves certain deliveries to what has ended, if they are of endings. Those under lease keep their token. By id. */
export const endThese = `INSERT INTO deliveries (${identity}, state, reason, attempts, lane, lease_token)
  SELECT ${identityIn("queue")}, 'cancelled', e.reason, attempts, lane, lease_token FROM queue ${ending}
  WHERE id IN (SELECT value FROM json_each(?)) AND e.reason IS NOT NULL`

/** What comes after it, for the same. Returns their former states. */
export const deleteThese = `DELETE FROM queue WHERE id IN (SELECT value FROM json_each(?))
  AND id <= (SELECT last_id FROM endings AS e WHERE e.integration_id = queue.integration_id) RETURNING state`

/** Forgets an ending of which nothing is left. */
export const finishEnding = `DELETE FROM endings
  WHERE integration_id = ?1 AND NOT EXISTS (SELECT 1 FROM queue WHERE integration_id = ?1 AND id <= endings.last_id)`

/**
 * The first deliveries of an integration after one that ended without an acknowledgement or wait for a retry: the beginning
 * of a range of an index for each state.
 */
export const recoverable = `${Standing.unacknowledgedStates
  .map(
    (state) => `SELECT id, created_at FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
      WHERE integration_id = ?1 AND state = '${state}' AND ${isUnacknowledged} AND id > ?2`
  )
  .join(" UNION ALL ")}
  UNION ALL SELECT id, created_at FROM queue INDEXED BY queue_by_integration
    WHERE integration_id = ?1 AND state = 'retrying' AND id > ?2
  ORDER BY id LIMIT ?3`

/** Adds to a tally. One search by name; the table has a handful of rows. */
export const addToTally = `INSERT INTO tallies (name, count) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`

const ofEndings = `FROM endings AS e CROSS JOIN queue ON queue.integration_id = e.integration_id AND queue.id <= e.last_id`

/** All counts. What endings have cancelled is counted in a range of an index, as long as it is not moved. */
export const tallies = `SELECT name, sum(count) AS count FROM (
    SELECT name, count FROM tallies
    UNION ALL SELECT state, -count(*) ${ofEndings} GROUP BY state
    UNION ALL SELECT 'cancelled', count(*) ${ofEndings}
  ) GROUP BY name`
