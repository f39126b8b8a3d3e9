/**
 * The id up to which a list in order of id is complete: the feeds of deliveries and events, and the notifications.
 *
 * Transactions take ids before they commit and may commit in any order, so a list could skip an id that commits later.
 * Before a transaction takes ids, it therefore announces the last assigned id until it ends (`Primitives`). All ids up
 * to the smallest announced one belong to transactions that have ended. While a transaction that has taken ids is open,
 * such as a host's that publishes, the list does not show later ids. No other transaction waits.
 */
import type { FeedEnds } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { lockClasses } from "./Primitives.ts"

/** A sequence of ids. */
interface Ids {
  readonly lockClass: number
  /** SQL for the last assigned id; 0 if there is none. */
  readonly last: string
}

/** SQL for the last assigned id of a delivery; 0 if there is none. */
export const lastId = `coalesce(pg_sequence_last_value('doorhook.delivery_ids'), 0)`

const deliveries: Ids = { lockClass: lockClasses.deliveries, last: lastId }

/** The sequence numbers of events. */
const events: Ids = {
  lockClass: lockClasses.events,
  last: `coalesce(pg_sequence_last_value('doorhook.event_numbers'), 0)`
}

const notifications: Ids = {
  lockClass: lockClasses.notifications,
  last: `coalesce(pg_sequence_last_value('doorhook.notices_id_seq'), 0)`
}

const announce = ({ last, lockClass }: Ids): string => `announce(${lockClass}, ${last})`

/** SQL that announces the last assigned ids of a delivery and of an event. Must run before the transaction takes ids. */
export const announceLastIds = `${announce(deliveries)}, ${announce(events)}`

/** Announces the last assigned id of a notification. Must run before the transaction takes ids. */
export const announceNotifications = `SELECT ${announce(notifications)}`

/**
 * Reads the last assigned id, and the id up to which no further row can appear. Must run before the statement that reads
 * the caller's rows, which then sees all transactions that have ended.
 */
const endOf = (sql: SqlClient.SqlClient, { last, lockClass }: Ids) =>
  Effect.map(
    sql.unsafe<FeedEnds["events"]>(
      `SELECT assigned, complete_to(${lockClass}, assigned) AS complete FROM (SELECT ${last} AS assigned OFFSET 0) AS last`
    ),
    ([found]) => found ?? { assigned: 0, complete: 0 }
  )

const read = (sql: SqlClient.SqlClient, ids: Ids) => Effect.map(endOf(sql, ids), ({ complete }) => complete)

/** Reads the id up to which no further delivery can appear. */
export const deliveryWatermark = (sql: SqlClient.SqlClient) => read(sql, deliveries)

/** Reads the sequence number up to which no further event can appear. */
export const eventWatermark = (sql: SqlClient.SqlClient) => read(sql, events)

/** Reads the id up to which no further notification can appear. */
export const notificationWatermark = (sql: SqlClient.SqlClient) => read(sql, notifications)

/** Reads the ends of the feeds. */
export const feedEnds = (sql: SqlClient.SqlClient): Effect.Effect<FeedEnds, SqlError.SqlError> =>
  Effect.all({ deliveries: endOf(sql, deliveries), events: endOf(sql, events) })
