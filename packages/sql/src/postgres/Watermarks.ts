/**
 * The id up to which a list in order of id is complete: the feeds of deliveries, and the notifications.
 *
 * Transactions take ids before they commit and may commit in any order, so a list could skip an id that commits later.
 * Before a transaction takes ids, it therefore announces the last assigned id, by a shared advisory lock that lasts
 * until the transaction ends. All ids up to the smallest announced one belong to transactions that have ended. While a
 * transaction that has taken ids is open, such as a host's that publishes, the list does not show later ids. No other
 * transaction waits.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** A sequence of ids. */
interface Ids {
  /** First key of the advisory locks. */
  readonly lockClass: number
  /** SQL for the last assigned id; 0 if there is none. */
  readonly last: string
}

/** Number of values of the second key, which is the low 31 bits of the id. */
const keys = 2 ** 31

/** SQL for the last assigned id of a delivery; 0 if there is none. */
export const lastId = `coalesce(pg_sequence_last_value('doorhook.delivery_ids'), 0)`

/** The class is "door" in ASCII. */
const deliveries: Ids = { lockClass: 0x646f6f72, last: lastId }

/** The class is "note" in ASCII. */
const notifications: Ids = {
  lockClass: 0x6e6f7465,
  last: `coalesce(pg_sequence_last_value('doorhook.notices_id_seq'), 0)`
}

const announce = ({ last, lockClass }: Ids): string =>
  `pg_advisory_xact_lock_shared(${lockClass}, (${last} & ${keys - 1})::integer)`

/** SQL that announces the last assigned id of a delivery. Must run before the transaction takes ids. */
export const announceLastId = announce(deliveries)

/** Announces the last assigned id of a notification. Must run before the transaction takes ids. */
export const announceNotifications = `SELECT ${announce(notifications)}`

/**
 * Reads the id up to which no further row can appear. The order of statements matters: the last id, then the announced
 * ones, then the caller's rows. Each statement sees the transactions that were committed before it.
 */
const watermark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { last, lockClass }: Ids) {
  const [given] = yield* sql.unsafe<{ readonly id: number }>(`SELECT ${last} AS id`)
  const end = given?.id ?? 0
  const open = yield* sql.unsafe<{ readonly key: number }>(`SELECT objid::bigint AS key FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${lockClass} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  return open.reduce((least, { key }) => Math.min(least, end - ((((end - key) % keys) + keys) % keys)), end)
})

/** Reads the id up to which no further delivery can appear. */
export const feedWatermark = (sql: SqlClient.SqlClient) => watermark(sql, deliveries)

/** Reads the id up to which no further notification can appear. */
export const notificationWatermark = (sql: SqlClient.SqlClient) => watermark(sql, notifications)
