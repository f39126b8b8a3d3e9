/**
 * The id up to which a list in order of id is complete: the feeds of deliveries and events, and the notifications.
 *
 * Transactions take ids before they commit and may commit in any order, so a list could skip an id that commits later.
 * Before a transaction takes ids, it therefore announces the last assigned id, by a shared advisory lock that lasts
 * until the transaction ends. All ids up to the smallest announced one belong to transactions that have ended. While a
 * transaction that has taken ids is open, such as a host's that publishes, the list does not show later ids. No other
 * transaction waits.
 */
import type { FeedEnds } from "@doorhook/core"
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

/** The sequence numbers of events. The class is "evnt" in ASCII. */
const events: Ids = {
  lockClass: 0x65766e74,
  last: `coalesce(pg_sequence_last_value('doorhook.event_numbers'), 0)`
}

/** The class is "note" in ASCII. */
const notifications: Ids = {
  lockClass: 0x6e6f7465,
  last: `coalesce(pg_sequence_last_value('doorhook.notices_id_seq'), 0)`
}

const announce = ({ last, lockClass }: Ids): string =>
  `pg_advisory_xact_lock_shared(${lockClass}, (${last} & ${keys - 1})::integer)`

/** SQL that announces the last assigned ids of a delivery and of an event. Must run before the transaction takes ids. */
export const announceLastIds = `${announce(deliveries)}, ${announce(events)}`

/** Announces the last assigned id of a notification. Must run before the transaction takes ids. */
export const announceNotifications = `SELECT ${announce(notifications)}`

/** Reads the last assigned id. */
const lastOf = (sql: SqlClient.SqlClient, { last }: Ids) =>
  Effect.map(sql.unsafe<{ readonly id: number }>(`SELECT ${last} AS id`), ([row]) => row?.id ?? 0)

/**
 * Reads the id up to which no further row can appear. The order of statements matters: the last id, then the announced
 * ones, then the caller's rows. Each statement sees the transactions that were committed before it.
 */
const watermark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { lockClass }: Ids, assigned: number) {
  const open = yield* sql.unsafe<{ readonly key: number }>(`SELECT objid::bigint AS key FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${lockClass} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  return open.reduce(
    (least, { key }) => Math.min(least, assigned - ((((assigned - key) % keys) + keys) % keys)),
    assigned
  )
})

const read = (sql: SqlClient.SqlClient, ids: Ids) =>
  Effect.flatMap(lastOf(sql, ids), (assigned) => watermark(sql, ids, assigned))

/** Reads the id up to which no further delivery can appear. */
export const deliveryWatermark = (sql: SqlClient.SqlClient) => read(sql, deliveries)

/** Reads the sequence number up to which no further event can appear. */
export const eventWatermark = (sql: SqlClient.SqlClient) => read(sql, events)

/** Like `eventWatermark`; `after` if no event has a greater number. The usual case needs one statement. */
export const eventWatermarkAfter = (sql: SqlClient.SqlClient, after: number) =>
  Effect.flatMap(lastOf(sql, events), (assigned) =>
    assigned <= after ? Effect.succeed(after) : watermark(sql, events, assigned)
  )

/** Reads the id up to which no further notification can appear. */
export const notificationWatermark = (sql: SqlClient.SqlClient) => read(sql, notifications)

/** Reads the ends of the feeds. */
export const feedEnds = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const endOf = Effect.fnUntraced(function* (ids: Ids) {
    const assigned = yield* lastOf(sql, ids)
    return { assigned, complete: yield* watermark(sql, ids, assigned) }
  })
  return { deliveries: yield* endOf(deliveries), events: yield* endOf(events) } satisfies FeedEnds
})
