/**
 * Statements on endings (`stores/Cancellations`).
 */
import { lastId } from "../FeedWatermark.ts"

/** All endings, as a table that a plan begins with: there are few, and mostly none. */
export const allCancellations = `SELECT * FROM endings ORDER BY integration_id OFFSET 0`

/** Up to which id all of an integration is cancelled, null if it has no ending. One search by id. */
export const lastOf = (integration: string): string =>
  `(SELECT e.last_id FROM endings AS e WHERE e.integration_id = ${integration})`

/** What names a delivery and never changes. */
const identity = "id, event_id, integration_id, created_at"

/**
 * Begins to end all active deliveries of an integration, which is locked for change, for a reason, if there are any. Whoever published
 * to it before has committed: no id of theirs is greater than the last that was given out. Returns it if it was begun.
 */
export const beginCancellation = `INSERT INTO endings (integration_id, last_id, reason)
  SELECT $1::bigint, ${lastId}, $2::text WHERE EXISTS (SELECT 1 FROM queue WHERE integration_id = $1)
  ON CONFLICT (integration_id) DO NOTHING RETURNING integration_id`

/** Which integrations have one. */
export const cancellations = `SELECT integration_id AS id FROM endings ORDER BY integration_id`

/** The key of the lock of who moves: «ends» in ASCII. */
const lockClass = 0x656e6473

/** Whether nobody else moves what endings have cancelled: until this transaction ends, nobody will. */
export const takeTurn = `SELECT pg_try_advisory_xact_lock(${lockClass}, 0) AS mine`

/** The first deliveries of an integration's ending in a state after one, locked; what others keep is passed over. */
export const someToCancel = `SELECT id FROM queue
  WHERE integration_id = $1 AND state = $2 AND id > $3 AND id <= ${lastOf("$1")}
  ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED`

/** All that is left of it, locked. What is found is sorted: in the order of ids it would be looked for among all. */
export const restToCancel = `SELECT id FROM queue WHERE integration_id = $1 AND id <= ${lastOf("$1")}
  ORDER BY id + 0 FOR UPDATE`

/** Moves certain deliveries, which are locked already, to what has ended, if they are of endings. Counts them. */
export const cancelLocked = `WITH moved AS (
    DELETE FROM queue AS q WHERE q.id = ANY($1) AND q.id <= ${lastOf("q.integration_id")}
    RETURNING *, (SELECT e.reason FROM endings AS e WHERE e.integration_id = q.integration_id) AS ended_for
  ),
  cancelled AS (
    INSERT INTO deliveries (${identity}, state, reason, attempts, early, lane, worker)
    SELECT ${identity}, 'cancelled', ended_for, attempts, early, lane, worker FROM moved
  )
  SELECT state, count(*) AS count FROM moved GROUP BY state`

/** Forgets an ending of which nothing is left, not even what others keep. */
export const finishCancellation = `DELETE FROM endings AS e WHERE e.integration_id = $1
  AND (SELECT q.id FROM queue AS q WHERE q.integration_id = e.integration_id AND q.id <= e.last_id LIMIT 1) IS NULL`
