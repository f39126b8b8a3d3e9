/**
 * Statements on events as records, on notices and on workers, in every dialect.
 */
import type { Dialect } from "../Dialect.ts"

const event = "id, resource_type, action, building_id, tenant_ids, data, created_at"
const eventIn = (table: string): string => event.replaceAll(/\w+/g, (column) => `${table}.${column}`)

export const recordStatements = ({ isOneOfIds, lock, lockFree, numbersIn, text }: Dialect) => {
  const itsDeliveries = `events AS e JOIN deliveries AS d
    ON d.id BETWEEN e.first_delivery AND e.last_delivery AND d.event_id = e.id WHERE ${isOneOfIds("e.seq")}`
  return {
    /** One range of the index over buildings, backwards; what is before the page is stepped over. One search by seq each. */
    eventsOfBuilding: text(`SELECT ${event} FROM events WHERE building_id = ? AND resource_type = ?
      ORDER BY seq DESC LIMIT ? OFFSET ?`),
    countOfBuilding: text(`SELECT count(*) AS count FROM events WHERE building_id = ? AND resource_type = ?`),
    /** The same of the key of another table. */
    eventsOfTenant: text(`SELECT ${eventIn("e")} FROM events_of_tenants AS t JOIN events AS e ON e.seq = t.event_seq
      WHERE t.tenant_id = ? AND t.resource_type = ? ORDER BY t.event_seq DESC LIMIT ? OFFSET ?`),
    countOfTenant: text(`SELECT count(*) AS count FROM events_of_tenants WHERE tenant_id = ? AND resource_type = ?`),

    /** The first events after a place. A range of the table. */
    oldEvents: text(`SELECT seq, id, created_at FROM events WHERE seq > ? ORDER BY seq LIMIT ? ${lockFree}`),
    /** Keeps what has ended of some events as it is: whoever revives it waits, and finds it gone. A range of ids each. */
    lockEndedOf: text(`SELECT d.id FROM ${itsDeliveries} ORDER BY d.id ${lock}`),
    /** Those of some events of which something is active. A range of ids each. */
    eventsWithActive: text(`SELECT e.seq FROM events AS e WHERE ${isOneOfIds("e.seq")} AND EXISTS (
      SELECT 1 FROM queue AS q WHERE q.id BETWEEN e.first_delivery AND e.last_delivery AND q.event_id = e.id)`),
    /** Deletes what has ended of some events. A range of ids each. Returns ids and states. */
    deleteEndedOf: text(`DELETE FROM deliveries WHERE id IN (SELECT d.id FROM ${itsDeliveries}) RETURNING id, state`),
    deleteAttempts: text(`DELETE FROM attempts WHERE ${isOneOfIds("delivery_id")}`),
    deleteOfTenants: text(`DELETE FROM events_of_tenants WHERE (tenant_id, resource_type, event_seq) IN (
      SELECT t.value, e.resource_type, e.seq FROM events AS e CROSS JOIN ${numbersIn("e.tenant_ids")} AS t
      WHERE ${isOneOfIds("e.seq")})`),
    deleteEvents: text(`DELETE FROM events WHERE ${isOneOfIds("seq")}`),

    /** Appends. Returns the id. */
    insertNotice: text(`INSERT INTO notices (kind, integration_id, scope_type, scope_id, at, details)
      VALUES (?, ?, ?, ?, ?, ?) RETURNING id`),
    /** A range of the table, or of the index over integrations. */
    notices: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE id > ? ORDER BY id LIMIT ?`),
    noticesOfIntegration: text(`SELECT id, kind, integration_id, scope_type, scope_id, at, details FROM notices
      WHERE integration_id = ? AND id > ? ORDER BY id LIMIT ?`),
    /** Looks at the oldest so many. */
    deleteNotices: text(`DELETE FROM notices
      WHERE id IN (SELECT id FROM notices ORDER BY id LIMIT ? ${lockFree}) AND at < ?`),

    /** The table has a handful of rows. */
    beat: text(
      `INSERT INTO workers (name, until) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until`
    ),
    deleteDead: text(`DELETE FROM workers
      WHERE name IN (SELECT name FROM workers WHERE until <= ? ORDER BY name ${lockFree})`),
    roll: text(`SELECT count(*) AS workers, count(CASE WHEN name < ? THEN 1 END) AS rank FROM workers`),
    leave: text(`DELETE FROM workers WHERE name = ?`)
  }
}
