/**
 * The delivery id up to which a feed is complete.
 *
 * Transactions take ids before they commit and may commit in any order, so a feed could skip an id that commits later.
 * Before a transaction takes ids, it therefore announces the last assigned id, by a shared advisory lock that lasts
 * until the transaction ends. All ids up to the smallest announced one belong to transactions that have ended. While a
 * host's transaction that publishes is open, the feed does not show later deliveries. No other transaction waits.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** First key of these advisory locks: "door" in ASCII. */
const lockClass = 0x646f6f72

/** Number of values of the second key, which is the low 31 bits of the id. */
const keys = 2 ** 31

/** SQL for the last assigned id; 0 if there is none. */
export const lastId = `coalesce(pg_sequence_last_value('doorhook.delivery_ids'), 0)`

/** SQL that announces the last assigned id. Must run before the transaction takes ids. */
export const announceLastId = `pg_advisory_xact_lock_shared(${lockClass}, (${lastId} & ${keys - 1})::integer)`

/**
 * The order of statements matters: `last`, then `announced`, then the rows. Each statement sees the transactions that
 * were committed before it.
 */
const last = `SELECT ${lastId} AS id`
const announced = `SELECT objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND classid = ${lockClass} AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** Reads the id up to which no further delivery can appear. */
export const feedWatermark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [given] = yield* sql.unsafe<{ readonly id: number }>(last)
  const end = given?.id ?? 0
  const open = yield* sql.unsafe<{ readonly key: number }>(announced)
  return open.reduce((least, { key }) => Math.min(least, end - ((((end - key) % keys) + keys) % keys)), end)
})
