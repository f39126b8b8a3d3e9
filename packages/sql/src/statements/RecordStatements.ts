/**
 * Statements on events as records and on notifications, in every dialect.
 */
import type { Dialect } from "../Dialect.ts"

const event = "id, resource_type, action, building_id, tenant_ids, data, created_at"
const eventIn = (table: string): string => event.replaceAll(/\w+/g, (column) => `${table}.${column}`)

/** What a scope may read of one type, published at a time or later, from a place backwards. One range of `events_of AS o`. */
const readable = `o.scope_type = ? AND o.scope_id = ? AND o.resource_type = ?
  AND o.created_at >= ? AND (o.created_at, o.event_seq) <= (?, ?)`
const latestFirst = "ORDER BY o.created_at DESC, o.event_seq DESC"

export const recordStatements = ({ isOneOfIds, isOneOfTexts, listedAt, lock, lockFree, numbersIn, text }: Dialect) => {
  return {
    /** The event at an offset behind a place. Walks `offset` index entries. */
    eventBehind: text(`SELECT o.created_at, o.event_seq FROM events_of AS o
      WHERE ${readable} ${latestFirst} LIMIT 1 OFFSET ?`),
    /** A page that begins at a place. One search by seq for each event. */
    eventsOf: text(`SELECT ${eventIn("e")} FROM events_of AS o JOIN events AS e ON e.seq = o.event_seq
      WHERE ${readable} ${latestFirst} LIMIT ?`),
    /** How many there are from a place on; null if more than a number, beyond which it walks no further. Takes the place twice. */
    countOf: text(`SELECT CASE
        WHEN (SELECT o.event_seq FROM events_of AS o WHERE ${readable} ${latestFirst} LIMIT 1 OFFSET ?) IS NULL
        THEN (SELECT count(*) FROM events_of AS o WHERE ${readable})
      END AS count`),

    /** The first events after a place. A range of the table. */
    oldEvents: text(`SELECT seq, id, created_at, first_delivery, last_delivery FROM events
      WHERE seq > ? ORDER BY seq LIMIT ? ${lockFree}`),
    // What is found of events by the ids between which their deliveries are may be of others, too.
    /** Keeps what has ended of some events as it is: whoever revives it waits, and finds it gone. One search by id each. */
    lockEndedOf: text(`SELECT id FROM deliveries WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      ORDER BY id ${lock}`),
    /** What endings have cancelled of some events, but what others keep. One search by id each. */
    endedOf: text(`SELECT id FROM queue WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
        AND id <= (SELECT e.last_id FROM endings AS e WHERE e.integration_id = queue.integration_id)
      ORDER BY id ${lockFree}`),
    /** Those of some events of which something is active. One search by id each. */
    withActive: text(`SELECT DISTINCT event_id FROM queue WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}`),
    /**
     * Those of which something is active, or has ended and is not among what is kept: in one look, so that nothing is missed
     * that moves between the two. One search by id each.
     */
    withUnkept: text(`SELECT event_id FROM queue WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      UNION SELECT event_id FROM deliveries
      WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")} AND NOT ${isOneOfIds("id")}`),
    /** Deletes what has ended of some events. One search by id each. Returns ids and states. */
    deleteEndedOf: text(`DELETE FROM deliveries WHERE ${isOneOfIds("id")} AND ${isOneOfTexts("event_id")}
      RETURNING id, state`),
    deleteAttempts: text(`DELETE FROM attempts WHERE ${isOneOfIds("delivery_id")}`),
    /** One search by seq each, and one by the whole key. */
    deleteOfBuildings:
      text(`DELETE FROM events_of WHERE (scope_type, scope_id, resource_type, created_at, event_seq) IN (
      SELECT 'building', e.building_id, e.resource_type, ${listedAt("'building'", "e.building_id")}, e.seq
      FROM events AS e WHERE ${isOneOfIds("e.seq")})`),
    deleteOfTenants: text(`DELETE FROM events_of WHERE (scope_type, scope_id, resource_type, created_at, event_seq) IN (
      SELECT 'tenant', t.value, e.resource_type, ${listedAt("'tenant'", "t.value")}, e.seq
      FROM events AS e CROSS JOIN ${numbersIn("e.tenant_ids")} AS t WHERE ${isOneOfIds("e.seq")})`),
    deleteEvents: text(`DELETE FROM events WHERE ${isOneOfIds("seq")}`),

    /** The last attempts of some deliveries, which are given twice. One search by id each in two tables. */
    lastAttempts: text(`SELECT a.delivery_id, a.number, a.started_at, a.duration_ms, a.outcome, a.status, a.detail
      FROM attempts AS a WHERE ${isOneOfIds("a.delivery_id")}
        AND a.number = (SELECT max(b.number) FROM attempts AS b WHERE b.delivery_id = a.delivery_id)
      UNION ALL
      SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail
      FROM deliveries WHERE ${isOneOfIds("id")} AND attempt_outcome IS NOT NULL
      ORDER BY 1, 2`),

    /** Appends. Returns the id. */
    insertNotification: text(`INSERT INTO notices (kind, integration_id, scope_type, scope_id, at, details)
      VALUES (?, ?, ?, ?, ?, ?) RETURNING id`),
    /** A range of the table, or of the index over integrations. */
    notifications: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE id > ? ORDER BY id LIMIT ?`),
    notificationsOfIntegration: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE integration_id = ? AND id > ? ORDER BY id LIMIT ?`),
    newestNotifications: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE id < ? ORDER BY id DESC LIMIT ?`),
    newestNotificationsOfIntegration:
      text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE integration_id = ? AND id < ? ORDER BY id DESC LIMIT ?`),
    /** Looks at the oldest so many. */
    deleteNotifications: text(`DELETE FROM notices
      WHERE id IN (SELECT id FROM notices ORDER BY id LIMIT ? ${lockFree}) AND at < ?`)
  }
}
