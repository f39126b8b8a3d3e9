/**
 * Up to which delivery a feed is complete.
 *
 * Ids are given out before transactions commit, and these end in any order: a feed that is read meanwhile could pass over
 * an id that is committed afterwards. So whoever takes ids first announces the last one that was given out by then, as a
 * shared advisory lock until the transaction ends (`announce`). All ids up to the smallest that is announced belong to
 * transactions that have ended. Nobody waits for anybody: a host's long transaction holds the feed back, not up.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** The first key of these locks: «door» in ASCII. */
const lockClass = 0x646f6f72

/** The second key has 31 bits: the lowest of the id. */
const keys = 2 ** 31

/** The last id that was given out, 0 for none. */
export const lastId = `coalesce(pg_sequence_last_value('doorhook.delivery_ids'), 0)`

/** Announces, in SQL. Ids may only be taken after it. */
export const announceLastId = `pg_advisory_xact_lock_shared(${lockClass}, (${lastId} & ${keys - 1})::integer)`

/** Three statements, each of which sees what was committed before it, in this order: this, the next, and the rows. */
const last = `SELECT ${lastId} AS id`
const announced = `SELECT objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND classid = ${lockClass} AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The id up to which all deliveries that there will ever be are there to be read. */
export const feedWatermark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [given] = yield* sql.unsafe<{ readonly id: number }>(last)
  const end = given?.id ?? 0
  const open = yield* sql.unsafe<{ readonly key: number }>(announced)
  return open.reduce((least, { key }) => Math.min(least, end - ((((end - key) % keys) + keys) % keys)), end)
})
