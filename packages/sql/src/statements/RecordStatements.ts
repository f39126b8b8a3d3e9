/**
 * Statements that list and purge events and notifications.
 */
import type { Dialect } from "../Dialect.ts"

const event = "id, resource_type, action, building_id, tenant_ids, data, created_at"
const eventIn = (table: string): string => event.replaceAll(/\w+/g, (column) => `${table}.${column}`)

/**
 * Condition that selects the events of one type that a scope may read, from a time up to a position. Cost: one range of
 * `events_of`.
 */
const readable = `o.scope_type = ? AND o.scope_id = ? AND o.resource_type = ?
  AND o.created_at >= ? AND (o.created_at, o.event_seq) <= (?, ?)`
const latestFirst = "ORDER BY o.created_at DESC, o.event_seq DESC"

export const recordStatements = ({ isOneOfIds, isOneOfTexts, lockFree, numbersIn, text }: Dialect) => {
  return {
    /** The event at an offset from a position. Cost: `offset` index entries. */
    eventBehind: text(`SELECT o.created_at, o.event_seq FROM events_of AS o
      WHERE ${readable} ${latestFirst} LIMIT 1 OFFSET ?`),
    /**
     * A page of events that begins at a position, with their positions. Ends with the event whose data reaches a number
     * of bytes, the last parameter. Cost: one search by seq per event. Does not read the data of later events.
     */
    eventsOf: text(`SELECT ${event}, listed_at, event_seq, bytes FROM (
        SELECT ${eventIn("e")}, o.created_at AS listed_at, o.event_seq, octet_length(e.data) AS size,
          sum(octet_length(e.data)) OVER (${latestFirst} ROWS UNBOUNDED PRECEDING)::bigint AS bytes
        FROM (SELECT o.created_at, o.event_seq FROM events_of AS o WHERE ${readable} ${latestFirst} LIMIT ?) AS o
          JOIN events AS e ON e.seq = o.event_seq) AS page
      WHERE bytes - size < ? ORDER BY listed_at DESC, event_seq DESC`),
    /**
     * Number of events from a position on; null if the number exceeds a limit. Reads no further than the limit. Takes
     * the position as a parameter twice.
     */
    countOf: text(`SELECT CASE
        WHEN (SELECT o.event_seq FROM events_of AS o WHERE ${readable} ${latestFirst} LIMIT 1 OFFSET ?) IS NULL
        THEN (SELECT count(*) FROM events_of AS o WHERE ${readable})
      END AS count`),

    /** The first events after a position. Cost: one range of the table. */
    oldEvents: text(`SELECT seq, id, created_at, first_delivery, last_delivery FROM events
      WHERE seq > ? ORDER BY seq LIMIT ? ${lockFree}`),
    // The next statements take ranges of delivery ids. The ranges may include deliveries of other events, so the
    // statements also take event ids.
    /**
     * Locks the ended deliveries of some events. A transaction that would revive such a delivery waits, and then finds
     * the delivery deleted. Skips deliveries that others have locked. Cost: one search by id per row.
     */
    lockEndedOf: text(`SELECT id FROM deliveries WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      ORDER BY id ${lockFree}`),
    /**
     * Locks the deliveries of some events that a cancellation covers. Skips deliveries that others have locked. Cost:
     * one search by id per row.
     */
    endedOf: text(`SELECT id FROM queue WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
        AND id <= (SELECT e.last_id FROM endings AS e WHERE e.integration_id = queue.integration_id)
      ORDER BY id ${lockFree}`),
    /**
     * Selects the given events that have an active delivery, or an ended one that is not locked. Uses one statement,
     * because two could miss a delivery that moves between the tables. Cost: one search by id per row.
     */
    withUnkept: text(`SELECT event_id FROM queue WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      UNION SELECT event_id FROM deliveries
      WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")} AND NOT ${isOneOfIds("id")}`),
    /** Deletes the ended deliveries of some events. Cost: one search by id per row. Returns ids and states. */
    deleteEndedOf: text(`DELETE FROM deliveries WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      RETURNING id, state`),
    deleteAttempts: text(`DELETE FROM attempts WHERE ${isOneOfIds("delivery_id")}`),
    /** Cost per event: one search by seq and one by the whole key. */
    deleteOfBuildings:
      text(`DELETE FROM events_of WHERE (scope_type, scope_id, resource_type, created_at, event_seq) IN (
      SELECT 'building', e.building_id, e.resource_type, e.created_at, e.seq
      FROM events AS e WHERE ${isOneOfIds("e.seq")})`),
    deleteOfTenants: text(`DELETE FROM events_of WHERE (scope_type, scope_id, resource_type, created_at, event_seq) IN (
      SELECT 'tenant', t.value, e.resource_type, e.created_at, e.seq
      FROM events AS e CROSS JOIN ${numbersIn("e.tenant_ids")} AS t WHERE ${isOneOfIds("e.seq")})`),
    deleteEvents: text(`DELETE FROM events WHERE ${isOneOfIds("seq")}`),

    /**
     * The last attempts of some deliveries. Takes the ids as a parameter twice. Cost per id: one search in each of two
     * tables.
     */
    lastAttempts: text(`SELECT a.delivery_id, a.number, a.started_at, a.duration_ms, a.outcome, a.status, a.detail
      FROM attempts AS a WHERE ${isOneOfIds("a.delivery_id")}
        AND a.number = (SELECT max(b.number) FROM attempts AS b WHERE b.delivery_id = a.delivery_id)
      UNION ALL
      SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail
      FROM deliveries WHERE ${isOneOfIds("id")} AND attempt_outcome IS NOT NULL
      ORDER BY 1, 2`),

    /** Returns the new id. */
    insertNotification: text(`INSERT INTO notices (kind, integration_id, scope_type, scope_id, at, details)
      VALUES (?, ?, ?, ?, ?, ?) RETURNING id`),
    /** Cost: one range of the table, or of the index on integrations. */
    notifications: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE id > ? ORDER BY id LIMIT ?`),
    notificationsOfIntegration: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE integration_id = ? AND id > ? ORDER BY id LIMIT ?`),
    newestNotifications: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE id < ? ORDER BY id DESC LIMIT ?`),
    newestNotificationsOfIntegration:
      text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE integration_id = ? AND id < ? ORDER BY id DESC LIMIT ?`),
    /**
     * Deletes notifications from before a time. Parameters: the current time, a limit, and that time. Examines the oldest
     * notifications, up to the limit. Those that a wrong clock dated after the current time are skipped and don't count.
     */
    deleteNotifications: text(`DELETE FROM notices
      WHERE id IN (SELECT id FROM notices WHERE at <= ? ORDER BY id LIMIT ? ${lockFree}) AND at < ?`)
  }
}
