/**
 * Statements on endings (`stores/Cancellations`).
 */
import { lastId } from "../FeedWatermark.ts"

/** All endings. OFFSET 0 makes plans start here, because there are few or none. */
export const allCancellations = `SELECT * FROM endings ORDER BY integration_id OFFSET 0`

/** The id up to which an integration's deliveries are cancelled; null without an ending. One search by id. */
export const lastOf = (integration: string): string =>
  `(SELECT e.last_id FROM endings AS e WHERE e.integration_id = ${integration})`

/** The columns of a delivery that never change. */
const identity = "id, event_id, integration_id, created_at"

/**
 * Begins to cancel all active deliveries of an integration, if it has any. The integration is locked for change, so earlier
 * publications have committed and no id of theirs is above the last one given out. Returns a row if it has begun.
 */
export const beginCancellation = `INSERT INTO endings (integration_id, last_id, reason)
  SELECT $1::bigint, ${lastId}, $2::text WHERE EXISTS (SELECT 1 FROM queue WHERE integration_id = $1)
  ON CONFLICT (integration_id) DO NOTHING RETURNING integration_id`

/** The integrations that have an ending. */
export const cancellations = `SELECT integration_id AS id FROM endings ORDER BY integration_id`

/** Key of the lock for moving rows: "ends" in ASCII. */
const lockClass = 0x656e6473

/** Takes the right to move cancelled rows until the transaction ends. False if another transaction has it. */
export const takeTurn = `SELECT pg_try_advisory_xact_lock(${lockClass}, 0) AS mine`

/** Locks the first deliveries of an ending in a state after an id. Skips rows that others have locked. */
export const someToCancel = `SELECT id FROM queue
  WHERE integration_id = $1 AND state = $2 AND id > $3 AND id <= ${lastOf("$1")}
  ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED`

/** Locks all remaining deliveries of an ending. `id + 0` makes it sort them instead of scanning the primary key. */
export const restToCancel = `SELECT id FROM queue WHERE integration_id = $1 AND id <= ${lastOf("$1")}
  ORDER BY id + 0 FOR UPDATE`

/** Moves locked deliveries to `deliveries`, if an ending covers them. Counts them by state. */
export const cancelLocked = `WITH moved AS (
    DELETE FROM queue AS q WHERE q.id = ANY($1) AND q.id <= ${lastOf("q.integration_id")}
    RETURNING *, (SELECT e.reason FROM endings AS e WHERE e.integration_id = q.integration_id) AS ended_for
  ),
  cancelled AS (
    INSERT INTO deliveries (${identity}, state, reason, attempts, early, lane, worker)
    SELECT ${identity}, 'cancelled', ended_for, attempts, early, lane, worker FROM moved
  )
  SELECT state, count(*) AS count FROM moved GROUP BY state`

/** Deletes an ending that covers no more rows. */
export const finishCancellation = `DELETE FROM endings AS e WHERE e.integration_id = $1
  AND (SELECT q.id FROM queue AS q WHERE q.integration_id = e.integration_id AND q.id <= e.last_id LIMIT 1) IS NULL`
