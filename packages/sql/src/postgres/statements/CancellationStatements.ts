/**
 * Statements on cancellations (`stores/Cancellations`), which are rows of the table `endings`.
 */
import { lockClasses } from "../Primitives.ts"
import { lastId } from "../Watermarks.ts"

/** All cancellations. `OFFSET 0` makes plans start with this small table. */
export const allCancellations = `SELECT * FROM endings ORDER BY integration_id OFFSET 0`

/**
 * SQL for the id up to which an integration's deliveries are cancelled; null without a cancellation. Cost: one search
 * by id.
 */
export const lastOf = (integration: string): string =>
  `(SELECT e.last_id FROM endings AS e WHERE e.integration_id = ${integration})`

/** The columns of a delivery that never change. */
const identity = "id, event_id, integration_id, created_at"

/**
 * Begins a cancellation for an integration if it has active deliveries. Returns a row if the cancellation has begun.
 * The integration must be locked for change: earlier publications have then committed, and their ids are at most the
 * last assigned one.
 */
export const beginCancellation = `INSERT INTO endings (integration_id, last_id, reason)
  SELECT $1::bigint, ${lastId}, $2::text WHERE EXISTS (SELECT 1 FROM queue WHERE integration_id = $1)
  ON CONFLICT (integration_id) DO NOTHING RETURNING integration_id`

/** The integrations that have a cancellation. */
export const cancellations = `SELECT integration_id AS id FROM endings ORDER BY integration_id`

/**
 * Takes the lock for moving cancelled rows until the transaction ends. Returns false if another transaction has the
 * lock.
 */
export const takeTurn = `SELECT try_hold(${lockClasses.cancellations}, 0) AS mine`

/**
 * Locks the first deliveries in a state, after an id, that a cancellation covers. Skips rows that others have locked.
 */
export const someToCancel = `SELECT id FROM queue
  WHERE integration_id = $1 AND state = $2 AND id > $3 AND id <= ${lastOf("$1")}
  ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED`

/**
 * Locks all remaining deliveries that a cancellation covers. With `id + 0`, PostgreSQL sorts the rows instead of
 * scanning the primary key.
 */
export const restToCancel = `SELECT id FROM queue WHERE integration_id = $1 AND id <= ${lastOf("$1")}
  ORDER BY id + 0 FOR UPDATE`

/** Moves locked deliveries that a cancellation covers to `deliveries`, and returns their number by state. */
export const cancelLocked = `WITH moved AS (
    DELETE FROM queue AS q WHERE q.id = ANY($1) AND q.id <= ${lastOf("q.integration_id")}
    RETURNING *, (SELECT e.reason FROM endings AS e WHERE e.integration_id = q.integration_id) AS ended_for
  ),
  cancelled AS (
    INSERT INTO deliveries (${identity}, state, reason, attempts, early, lane, worker)
    SELECT ${identity}, 'cancelled', ended_for, attempts, early, lane, worker FROM moved
  )
  SELECT state, count(*) AS count FROM moved GROUP BY state`

/** Deletes a cancellation that covers no more rows. */
export const finishCancellation = `DELETE FROM endings AS e WHERE e.integration_id = $1
  AND (SELECT q.id FROM queue AS q WHERE q.integration_id = e.integration_id AND q.id <= e.last_id LIMIT 1) IS NULL`
