/**
 * The statements of the delivery store on SQLite, and the codes of states.
 *
 * Each delivery has one row, which is updated in place. A delivery that its own publisher sends immediately is "kept":
 * it has no due time and is in no partial index, so that an acknowledgement changes no index. Statements without a list
 * parameter run once per row.
 */
import type { DeliveryFilter } from "@doorhook/core"
import { latencyBounds } from "@doorhook/core"
import { latestFirst, notePurged, readable } from "../statements/RecordStatements.ts"

/**
 * Codes of stored states. Codes 0 and 2 mean open, codes above 1 mean unacknowledged. `delivering` is not stored,
 * because leases are in the owner's memory.
 */
export const codes = {
  pending: 0,
  delivered: 1,
  retrying: 2,
  exhausted: 3,
  expired: 4,
  cancelled: 5,
  skipped: 6
} as const

export type StoredState = keyof typeof codes

export const storedStates = [
  "pending",
  "delivered",
  "retrying",
  "exhausted",
  "expired",
  "cancelled",
  "skipped"
] as const satisfies ReadonlyArray<StoredState>

const attemptColumns = `attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail,
    attempt_excerpt`

const setAttempt = `attempt_started_at = ?, attempt_duration_ms = ?, attempt_outcome = ?, attempt_status = ?,
    attempt_detail = ?, attempt_excerpt = ?`

export const owner = `SELECT event, delivery, listed_event, listed_delivery, low, events, ${storedStates.join(", ")} FROM owner`
export const setOwner = `UPDATE owner SET event = ?, delivery = ?, listed_event = ?, listed_delivery = ?, low = ?, events = ?,
    ${storedStates.map((state) => `${state} = ?`).join(", ")}`
/** The new time must differ from the stored one, because SQLite does not write an unchanged page. */
export const renewOwner = `UPDATE owner SET beat_at = ?`
/** Updates the counts in transactions outside the delivery store, which do not have the counts in memory. */
export const countCancelled = `UPDATE owner SET pending = pending - ?1, retrying = retrying - ?2,
    cancelled = cancelled + ?1 + ?2`
export const cancellations = `SELECT integration, last_delivery, reason FROM cancellations`

/** Makes due the deliveries that an ended process had kept since their publication. Cost: one range of the table. */
export const recoverLeases = `UPDATE deliveries
  SET due_at = coalesce((SELECT e.created_at FROM events AS e WHERE e.seq = deliveries.event), 0)
  WHERE id >= ? AND due_at IS NULL AND state IN (0, 2)`

/** A number that changes whenever another connection changes the file. */
export const dataVersion = `PRAGMA data_version`

/** Cost: one search in the index on ids. */
export const insertEvent = `INSERT INTO events
    (seq, id, resource_type, action, building_id, tenant_ids, created_at, first_delivery, last_delivery, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
/** Inserts a kept delivery, which is in no index. */
export const insertHeld = `INSERT INTO deliveries (id, event, integration, state, lane, attempts, early, resend)
  VALUES (?, ?, ?, 0, ?, 0, 0, 0)`
/** Inserts any other delivery. Cost: one search in each of up to three indexes. */
export const insertDelivery = `INSERT INTO deliveries
    (id, event, integration, state, reason, lane, attempts, early, resend, due_at) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?)`

/**
 * Adds a range of events to the event lists of their buildings, in the order of the table `events_of`. Cost: one range
 * of the events.
 */
export const listByBuilding = `INSERT INTO events_of (scope_type, scope_id, resource_type, created_at, event_seq)
  SELECT 'building', building_id, resource_type, created_at, seq FROM events WHERE seq > ? AND seq <= ? ORDER BY 2, 3, 4, 5`
/**
 * Adds a range of events to the event list of each of their tenants. Ignores duplicates, because an event may name a
 * tenant twice.
 */
export const listByTenant = `INSERT OR IGNORE INTO events_of (scope_type, scope_id, resource_type, created_at, event_seq)
  SELECT 'tenant', t.value, resource_type, created_at, seq FROM events CROSS JOIN json_each(tenant_ids) AS t
  WHERE seq > ? AND seq <= ? ORDER BY 2, 3, 4, 5`
/**
 * Adds a range of deliveries to the delivery lists of their integrations, in the order of the table `deliveries_of`.
 * Cost: one range of the deliveries.
 */
export const listByIntegration = `INSERT INTO deliveries_of (integration, delivery)
  SELECT integration, id FROM deliveries WHERE id > ? AND id <= ? ORDER BY 1, 2`

export const findKey = `SELECT 1 FROM idempotency_keys WHERE key = ? AND expires_at > ?`

/**
 * Ends a delivery. Cost: one search by id. Changes an index only if the delivery was due or ends without an
 * acknowledgement.
 */
export const end = `UPDATE deliveries SET state = ?, reason = ?, lane = ?, attempts = ?, early = ?, resend = 0,
    due_at = NULL, ${setAttempt} WHERE id = ?`
/** Makes a delivery wait until a due time. Cost: one search by id, and one in each index whose entry changes. */
export const wait = `UPDATE deliveries SET state = ?, reason = NULL, lane = ?, attempts = ?, early = ?, resend = ?,
    due_at = ? WHERE id = ?`
/** Records an attempt of a delivery that was cancelled during the attempt. */
export const updateEnded = `UPDATE deliveries SET attempts = ?, early = ?, ${setAttempt} WHERE id = ?`
/** Cancels a delivery under lease. */
export const cancelOne = `UPDATE deliveries SET state = 5, reason = ?, resend = 0, due_at = NULL WHERE id = ?`

const toAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)`
export const insertAttempt = `${toAttempts} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
/** Copies the attempt that ended a delivery to `attempts`. */
export const keepEndingAttempt = `${toAttempts} SELECT id, attempts, ${attemptColumns} FROM deliveries
  WHERE id = ? AND attempt_outcome IS NOT NULL`
/** Makes an ended delivery due again. */
export const requeue = `UPDATE deliveries SET state = 0, reason = NULL, resend = 1, due_at = ?,
    ${attemptColumns.replaceAll(/(\w+)/g, "$1 = NULL")} WHERE id = ?`

export const standing = `SELECT integration, state, reason, lane, attempts, early, resend, due_at FROM deliveries WHERE id = ?`

/** The lanes and integrations with a due time. Cost: two index searches per lane and integration. */
export const heads = `WITH RECURSIVE groups (lane, integration) AS (
    SELECT column1, (SELECT min(integration) FROM deliveries INDEXED BY deliveries_due
      WHERE lane = column1 AND due_at IS NOT NULL)
    FROM (VALUES (0), (1), (2), (3))
    UNION ALL
    SELECT lane, (
      SELECT min(later.integration) FROM deliveries AS later INDEXED BY deliveries_due
      WHERE later.lane = groups.lane AND later.integration > groups.integration AND later.due_at IS NOT NULL
    )
    FROM groups WHERE integration IS NOT NULL
  )
  SELECT lane, integration FROM groups WHERE integration IS NOT NULL`

const due = `SELECT due_at, id FROM deliveries INDEXED BY deliveries_due WHERE lane = ?1 AND integration = ?2`
/** The due times and ids in a lane of an integration after a position, the earliest first. Cost: two index ranges. */
export const dueAfter = `${due} AND due_at = ?3 AND due_at IS NOT NULL AND id > ?4
  UNION ALL ${due} AND due_at > ?3 AND due_at IS NOT NULL ORDER BY 1, 2`
/** Retries of an integration, the oldest delivery first. Cost: one index range. */
export const retries = `SELECT due_at, id FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
  WHERE integration = ? AND state = 2 AND state > 1 AND due_at IS NOT NULL ORDER BY id`
/** A delivery with its event. Cost: one search by id in each table. */
export const claimed = `SELECT d.integration, d.state, d.lane, d.attempts, d.early, d.resend, d.due_at,
    e.id, e.resource_type, e.action, e.building_id, e.tenant_ids, e.data, e.created_at, d.event
  FROM deliveries AS d LEFT JOIN events AS e ON e.seq = d.event WHERE d.id = ?`

const firstPending = `SELECT id FROM deliveries INDEXED BY deliveries_pending_by_integration
  WHERE integration = ?1 AND state = 0 AND due_at IS NOT NULL AND id <= ?2`
const firstRetrying = `SELECT id FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
  WHERE integration = ?1 AND state = 2 AND state > 1 AND id <= ?2`
const cancel = (which: string): string => `UPDATE deliveries SET state = 5, reason = ?3, resend = 0, due_at = NULL
  WHERE id IN (${which} ORDER BY id LIMIT ?4)`
/** Cancels an integration's first open deliveries up to an id. Cost: the start of an index range. */
export const cancelPending = cancel(firstPending)
export const cancelRetrying = cancel(firstRetrying)
/** Number of waiting deliveries of an integration, and how many of them wait for a retry. Reads only indexes. */
export const countOpen = `SELECT (SELECT count(*) FROM deliveries INDEXED BY deliveries_due
      WHERE lane IN (0, 1, 2, 3) AND integration = ?1 AND due_at IS NOT NULL),
    (SELECT count(*) FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
      WHERE integration = ?1 AND state = 2 AND state > 1)`
export const beginCancellation = `INSERT INTO cancellations (integration, last_delivery, reason) VALUES (?, ?, ?)`
export const endCancellation = `DELETE FROM cancellations WHERE integration = ?`

const unacknowledged = [codes.exhausted, codes.expired, codes.cancelled, codes.skipped]
const ofUnacknowledged = (state: number, order: "ASC" | "DESC"): string =>
  `SELECT * FROM (SELECT id, event, state FROM deliveries INDEXED BY deliveries_unacknowledged_by_integration
    WHERE integration = ?1 AND state = ${state} AND state > 1 AND id ${order === "ASC" ? ">" : "<"} ?2
    ORDER BY id ${order} LIMIT ?3)`
/**
 * The deliveries of an integration that ended without an acknowledgement and whose id is below a given one; highest ids
 * first. Cost: the end of one index range per state.
 */
export const newestUnacknowledged = `SELECT id FROM (${unacknowledged.map((state) => ofUnacknowledged(state, "DESC")).join(" UNION ALL ")})
  ORDER BY id DESC LIMIT ?3`
/**
 * The unacknowledged deliveries of an integration, ended or waiting for a retry, that follow a given id, with the
 * creation times and types of their events; lowest ids first. Cost: the start of one index range per state.
 */
export const recoverable = `SELECT u.id, (SELECT e.created_at FROM events AS e WHERE e.seq = u.event),
    (SELECT e.resource_type FROM events AS e WHERE e.seq = u.event)
  FROM (${[codes.retrying, ...unacknowledged].map((state) => ofUnacknowledged(state, "ASC")).join(" UNION ALL ")}) AS u
  ORDER BY u.id LIMIT ?3`

/** The columns of a listed delivery, whose id is in the column `id`. */
const shownOf = (
  id: string
): string => `${id}, d.event, e.id, d.integration, d.state, d.reason, d.attempts, d.due_at, e.created_at, d.attempt_started_at,
    d.attempt_duration_ms, d.attempt_outcome, d.attempt_status, d.attempt_detail, d.attempt_excerpt`
const withEvent = "LEFT JOIN events AS e ON e.seq = d.event"
export const findDelivery = `SELECT ${shownOf("d.id")}, e.resource_type FROM deliveries AS d ${withEvent} WHERE d.id = ?`
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, detail, response_excerpt
  FROM attempts WHERE delivery_id = ? ORDER BY number`
export const lastAttempt = `SELECT number, started_at, duration_ms, outcome, status, detail, response_excerpt
  FROM attempts WHERE delivery_id = ? ORDER BY number DESC LIMIT 1`
const event = "e.id, e.resource_type, e.action, e.building_id, e.tenant_ids, e.data, e.created_at"
export const findEvent = `SELECT ${event} FROM events AS e WHERE e.seq = ?`
const latencyClass = `CASE WHEN d.state <> 1 OR d.attempt_duration_ms IS NULL THEN -1
  ${latencyBounds.map((bound, index) => `WHEN d.attempt_duration_ms <= ${bound} THEN ${index}`).join(" ")}
  ELSE ${latencyBounds.length - 1} END`

/** Counts deliveries by step, state and latency. Cost: one range of the deliveries, and one search for each event. */
export const figures = `SELECT e.created_at - e.created_at % CAST(?3 AS INTEGER), d.state, ${latencyClass}, count(*)
  FROM deliveries AS d JOIN events AS e ON e.seq = d.event
  WHERE d.id >= ?1 AND d.id < ?2 AND (?4 IS NULL OR d.integration = ?4) GROUP BY 1, 2, 3`

export const excerpt = `SELECT id, action, created_at, substr(data, 1, ?) FROM events WHERE id = ?`
export const findEventById = `SELECT ${event} FROM events AS e WHERE e.id = ?`
export const rangeOfEvent = `SELECT seq, first_delivery, last_delivery FROM events WHERE id = ?`

type Select = (id: string, from: string, where: string) => string

/**
 * Selects deliveries of an integration (?3) before or after an id (?1), from `deliveries_of` and from newer rows of
 * `deliveries` that are not in `deliveries_of` yet. Cost: one range of each table.
 */
const ofIntegration = (select: Select, beyond: "<" | ">"): string =>
  `${select(
    "o.delivery",
    "deliveries_of AS o CROSS JOIN deliveries AS d ON d.id = o.delivery",
    `o.integration = ?3 AND o.delivery ${beyond} ?1`
  )} UNION ALL ${select(
    "d.id",
    "deliveries AS d NOT INDEXED",
    `d.integration = ?3 AND d.id ${beyond} ?1 AND d.id > (SELECT listed_delivery FROM owner)`
  )}`

/** Selects deliveries in a stored state: deliveries of an event (an id range), of an integration, or all. */
export const list = (
  state: StoredState | undefined,
  { event_id, integration_id, order }: Pick<DeliveryFilter, "event_id" | "integration_id" | "order">
): string => {
  const ofEvent = event_id !== undefined
  const beyond = order === "newest" ? "<" : ">"
  const also: Array<string> = []
  if (ofEvent) also.push("d.id BETWEEN ?4 AND ?5", "d.event = ?6")
  if (state !== undefined) also.push(`d.state = ${codes[state]}`)
  if (state === "pending" && !ofEvent) also.push("d.due_at IS NOT NULL")
  if (state !== undefined && codes[state] > 1) also.push("d.state > 1")
  const select: Select = (id, from, where) =>
    `SELECT ${shownOf(id)}, e.resource_type FROM ${from} ${withEvent} WHERE ${[where, ...also].join(" AND ")}`
  const selectIn = (index: string): string =>
    select(
      "d.id",
      `deliveries AS d ${index}`,
      `d.id ${beyond} ?1${integration_id === undefined ? "" : " AND d.integration = ?3"}`
    )
  const suffix = integration_id === undefined ? "" : "_by_integration"
  // Most deliveries are delivered, so a scan in order of id finds enough of them quickly.
  const isMost = state === undefined || state === "delivered"
  // Without the name of the index, SQLite would scan the whole table in order of id.
  const selected =
    ofEvent || (isMost && integration_id === undefined)
      ? selectIn("NOT INDEXED")
      : isMost
        ? ofIntegration(select, beyond)
        : selectIn(`INDEXED BY deliveries_${state === "pending" ? "pending" : "unacknowledged"}${suffix}`)
  return `${selected} ORDER BY 1 ${order === "newest" ? "DESC" : "ASC"} LIMIT ?2`
}

/** The columns of an event in a feed. `data` is null unless the event has one of the types in a JSON list, or it is null. */
const feedEventOf = (types: string): string =>
  event.replace(
    "e.data",
    `CASE WHEN ${types} IS NULL OR e.resource_type IN (SELECT value FROM json_each(${types})) THEN e.data END`
  )

/** Deliveries of an integration after an id, with their events (of types ?4). Skips deliveries whose event is missing. */
export const feed = `${ofIntegration(
  (id, from, where) =>
    `SELECT ${shownOf(id)}, ${feedEventOf("?4")} FROM ${from} CROSS JOIN events AS e ON e.seq = d.event WHERE ${where}`,
  ">"
)} ORDER BY 1 LIMIT ?2`

/** The first delivery of an integration after an id, whose event was published at a time (?2) or later. */
export const deliveryPlace = `${ofIntegration(
  (id, from, where) => `SELECT ${id}, e.created_at FROM ${from} CROSS JOIN events AS e ON e.seq = d.event
    WHERE ${where} AND e.created_at >= ?2`,
  ">"
)} ORDER BY 1 LIMIT 1`

/**
 * Selects events of a building or tenant (?3, ?4) after a number (?1), from `events_of` and from newer rows of `events`
 * that are not in `events_of` yet. Cost: one range of each table.
 */
const ofScope = (columns: string, also: string): string => `SELECT o.event_seq, ${columns}
    FROM events_of AS o INDEXED BY events_of_by_seq CROSS JOIN events AS e ON e.seq = o.event_seq
    WHERE o.scope_type = ?3 AND o.scope_id = ?4 AND o.event_seq > ?1${also}
  UNION ALL SELECT e.seq, ${columns} FROM events AS e NOT INDEXED
    WHERE e.seq > max(?1, (SELECT listed_event FROM owner)) AND CASE ?3 WHEN 'building' THEN e.building_id = ?4
      ELSE ?4 IN (SELECT value FROM json_each(e.tenant_ids)) END${also}
  ORDER BY 1`

/** Events of a building or tenant after a number, of types ?5, in storage order. */
export const eventFeed = `${ofScope(feedEventOf("?5"), "")} LIMIT ?2`

/** The first event of a building or tenant after a number, that was published at a time (?2) or later. */
export const eventPlace = `${ofScope("e.created_at", " AND e.created_at >= ?2")} LIMIT 1`

/** Remove events from the lists of their buildings and tenants. Cost: one search by key per entry. */
export const deleteOfBuildings = `DELETE FROM events_of WHERE (scope_type, scope_id, event_seq) IN (
    SELECT 'building', building_id, seq FROM events WHERE seq IN (SELECT value FROM json_each(?)))`
export const deleteOfTenants = `DELETE FROM events_of WHERE (scope_type, scope_id, event_seq) IN (
    SELECT 'tenant', t.value, e.seq FROM events AS e CROSS JOIN json_each(e.tenant_ids) AS t
    WHERE e.seq IN (SELECT value FROM json_each(?)))`

/** Notes purged deliveries in the feeds of their integrations. Cost: one range of the deliveries per event. */
export const notePurgedDeliveries = notePurged(`SELECT 'integration' AS source_type, d.integration AS source_id,
    e.resource_type, d.id AS position, e.created_at
  FROM events AS e CROSS JOIN deliveries AS d ON d.id BETWEEN e.first_delivery AND e.last_delivery AND d.event = e.seq
  WHERE e.seq IN (SELECT value FROM json_each(?))`)

/** A page of events that begins at a position, with their positions. Cost: one search by seq per event. */
export const eventsOf = `SELECT ${event}, o.created_at, o.event_seq FROM events_of AS o JOIN events AS e ON e.seq = o.event_seq
  WHERE ${readable} ${latestFirst} LIMIT ?`
/** The deliveries of an event, between its first and last delivery id. Cost: one range of the table. */
export const deliveriesOfEvent = `SELECT id, integration, state FROM deliveries WHERE id BETWEEN ? AND ? AND event = ?`
export const deleteDelivery = `DELETE FROM deliveries WHERE id = ?`
export const unlistDelivery = `DELETE FROM deliveries_of WHERE integration = ? AND delivery = ?`
export const deleteAttempts = `DELETE FROM attempts WHERE delivery_id = ?`
