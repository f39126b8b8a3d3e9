/**
 * The delivery id up to which a feed is complete.
 *
 * Transactions take ids before they commit and may commit in any order, so a feed could skip an id that commits later. A
 * transaction therefore announces the last id given out before it takes its own, as a shared advisory lock that lasts until
 * it ends. All ids up to the smallest announced id belong to transactions that have ended. Nothing waits: a long
 * transaction of a host delays what the feed shows, but blocks no one.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** The first key of these locks: "door" in ASCII. */
const lockClass = 0x646f6f72

/** The second key has 31 bits: the low bits of the id. */
const keys = 2 ** 31

/** The last id that was given out; 0 if none was. */
export const lastId = `coalesce(pg_sequence_last_value('doorhook.delivery_ids'), 0)`

/** SQL that announces the last id. It must run before ids are taken. */
export const announceLastId = `pg_advisory_xact_lock_shared(${lockClass}, (${lastId} & ${keys - 1})::integer)`

/** The order matters: `last`, then `announced`, then the rows. Each statement sees what was committed before it. */
const last = `SELECT ${lastId} AS id`
const announced = `SELECT objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND classid = ${lockClass} AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The id up to which no further delivery can appear. */
export const feedWatermark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [given] = yield* sql.unsafe<{ readonly id: number }>(last)
  const end = given?.id ?? 0
  const open = yield* sql.unsafe<{ readonly key: number }>(announced)
  return open.reduce((least, { key }) => Math.min(least, end - ((((end - key) % keys) + keys) % keys)), end)
})
