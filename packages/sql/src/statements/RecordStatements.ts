/**
 * Statements that list and purge events and notifications, for both databases.
 */
import type { NotificationFilter } from "@doorhook/core"
import type { Dialect } from "../Dialect.ts"

/**
 * Condition that selects the events of one type that a scope may read, from a time up to a position. Cost: one range of
 * `events_of`.
 */
export const readable = `o.scope_type = ? AND o.scope_id = ? AND o.resource_type = ?
  AND o.created_at >= ? AND (o.created_at, o.event_seq) <= (?, ?)`
export const latestFirst = "ORDER BY o.created_at DESC, o.event_seq DESC"

const later = (column: string): string =>
  `${column} = CASE WHEN excluded.${column} > purged.${column} THEN excluded.${column} ELSE purged.${column} END`

/**
 * Notes the last position and the latest time of purged items of feeds, which a query selects. Rows are written in the
 * order of their keys, so that processes that purge at the same time don't deadlock.
 */
export const notePurged = (
  items: string
): string => `INSERT INTO purged (source_type, source_id, resource_type, position, created_at)
  SELECT source_type, source_id, resource_type, max(position) AS position, max(created_at) AS created_at
  FROM (${items}) AS items GROUP BY source_type, source_id, resource_type ORDER BY 1, 2, 3
  ON CONFLICT (source_type, source_id, resource_type)
    DO UPDATE SET ${later("position")}, ${later("created_at")}`

export const recordStatements = ({ isOneOfIds, isOneOfTexts, lockFree, numbersIn, text }: Dialect) => {
  return {
    /** Notes the purged events in the feeds of buildings and tenants. Takes the events' numbers twice. */
    notePurgedEvents: text(
      notePurged(`SELECT 'building' AS source_type, building_id AS source_id, resource_type, seq AS position, created_at
          FROM events WHERE ${isOneOfIds("seq")}
        UNION ALL
        SELECT 'tenant', t.value, e.resource_type, e.seq, e.created_at
          FROM events AS e CROSS JOIN ${numbersIn("e.tenant_ids")} AS t WHERE ${isOneOfIds("e.seq")}`)
    ),
    /** The last position and latest time of the purged items of a feed, of some types or of all; null if there are none. */
    lastPurged: (ofTypes: boolean) =>
      text(`SELECT max(position) AS position, max(created_at) AS created_at FROM purged
        WHERE source_type = ? AND source_id = ?${ofTypes ? ` AND ${isOneOfTexts("resource_type")}` : ""}`),
    /** The buildings and tenants of the events after a number, up to another. Cost: one range of the table. */
    newScopes: text(`SELECT seq, building_id, tenant_ids FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`),
    /** The event at an offset from a position. Cost: `offset` index entries. */
    eventBehind: text(`SELECT o.created_at, o.event_seq FROM events_of AS o
      WHERE ${readable} ${latestFirst} LIMIT 1 OFFSET ?`),
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
    deleteEvents: text(`DELETE FROM events WHERE ${isOneOfIds("seq")}`),

    /** Returns the new id. */
    insertNotification: text(`INSERT INTO notices (kind, integration_id, scope_type, scope_id, at, details)
      VALUES (?, ?, ?, ?, ?, ?) RETURNING id`),
    /**
     * A page of notifications. Parameters: the integration, if one is given; the position to begin after; a limit. Cost:
     * one range of the table, or of the index on integrations.
     */
    notifications: ({ integration_id, order }: Pick<NotificationFilter, "integration_id" | "order">) => {
      const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"]
      const ofIntegration = integration_id === undefined ? "" : "integration_id = ? AND "
      return text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
        WHERE ${ofIntegration}id ${beyond} ? ORDER BY id ${direction} LIMIT ?`)
    },
    /**
     * Deletes notifications from before a time. Parameters: the current time, a limit, and that time. Examines the oldest
     * notifications, up to the limit. Those that a wrong clock dated after the current time are skipped and don't count.
     */
    deleteNotifications: text(`DELETE FROM notices
      WHERE id IN (SELECT id FROM notices WHERE at <= ? ORDER BY id LIMIT ? ${lockFree}) AND at < ?`)
  }
}
