/**
 * Statements that look up and purge events and deliveries.
 */
import type { DeliveryFilter, DeliveryState } from "@doorhook/core"
import { activeStates, latencyBounds } from "@doorhook/core"
import { allCancellations, lastOf } from "./CancellationStatements.ts"
import { isUnacknowledged } from "./DeliveryStatements.ts"
import { latestFirst, notePurged, readable } from "../../statements/RecordStatements.ts"
import { postgres } from "../PostgresDialect.ts"

const ended = `SELECT id, event_id, integration_id, state, reason, attempts, NULL::bigint AS next_attempt_at, created_at
  FROM deliveries AS d`

/** Selects from `queue`. Shows deliveries that a cancellation (`e`) covers as cancelled. */
const queued = `SELECT d.id, d.event_id, d.integration_id,
    CASE WHEN e.reason IS NULL THEN d.state ELSE 'cancelled' END AS state, e.reason, d.attempts,
    CASE WHEN e.reason IS NULL AND d.worker IS NULL THEN d.due_at END AS next_attempt_at, d.created_at
  FROM queue AS d LEFT JOIN endings AS e ON e.integration_id = d.integration_id AND d.id <= e.last_id`

/** Cost: one search by id in each table. */
export const deliveryById = `${queued} WHERE d.id = $1 UNION ALL ${ended} WHERE d.id = $1`

/** The attempts of a delivery in order. Cost: a range of one table and a row of the other. */
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, response_excerpt, detail
    FROM attempts WHERE delivery_id = $1
  UNION ALL
  SELECT attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_excerpt,
      attempt_detail
    FROM deliveries WHERE id = $1 AND attempt_outcome IS NOT NULL
  ORDER BY number`

/** Cost: one search by id per event. */
export const eventById = `SELECT id, resource_type, action, building_id, tenant_ids, data, created_at
  FROM events WHERE id = $1`

/** Index of the latency class of an acknowledged attempt. */
const latencyClass = `CASE WHEN state <> 'delivered' OR attempt_duration_ms IS NULL THEN -1
  ${latencyBounds.map((bound, index) => `WHEN attempt_duration_ms <= ${bound} THEN ${index}`).join(" ")}
  ELSE ${latencyBounds.length - 1} END`

/**
 * Counts deliveries with ids from $1 on and below $2 by step ($3), state and latency; of one integration ($4) or of all.
 * Cost: one range of each table, or of its index over integrations.
 */
export const figures = (ofIntegration: boolean): string => {
  const where = `id >= $1 AND id < $2${ofIntegration ? " AND integration_id = $4" : ""}`
  return `SELECT (created_at / $3) * $3 AS at, state, latency, count(*) AS count FROM (
      SELECT created_at, state, ${latencyClass} AS latency FROM deliveries WHERE ${where}
      UNION ALL
      SELECT created_at, CASE state WHEN 'retrying' THEN state ELSE 'pending' END, -1 FROM queue WHERE ${where}
    ) AS d GROUP BY 1, 2, 3`
}

/** The beginning of the data of events, at most `$2` characters each. Cost: one search by id per event. */
export const excerptsById = `SELECT id, action, created_at, left(data, $2) AS data FROM events WHERE id = ANY($1)`

/**
 * Events by a key, in the order of the keys, up to the event whose data reaches a number of bytes. Cost: one search by
 * key per event. Does not read the data of later events.
 */
const eventsBy = (
  key: "id" | "seq",
  type: "text" | "bigint"
): string => `SELECT seq, id, resource_type, action, building_id, tenant_ids, data, created_at, bytes FROM (
    SELECT e.*, n.at, octet_length(e.data) AS size,
      sum(octet_length(e.data)) OVER (ORDER BY n.at ROWS UNBOUNDED PRECEDING)::bigint AS bytes
    FROM unnest($1::${type}[]) WITH ORDINALITY AS n (key, at) JOIN events AS e ON e.${key} = n.key) AS page
  WHERE bytes - size < $2 ORDER BY at`

export const eventsById = eventsBy("id", "text")
export const eventsBySeq = eventsBy("seq", "bigint")

/** SQL for the feed of an entry of `events_of`, as in an index: the id of a building, or the negative id of a tenant. */
export const feedOf = `CASE scope_type WHEN 'tenant' THEN -scope_id ELSE scope_id END`

/** The events of a feed after a number, up to another, in storage order. Cost: one range of an index. */
export const eventFeed = `SELECT event_seq, resource_type, created_at FROM events_of
  WHERE (${feedOf}) = $1 AND event_seq > $2 AND event_seq <= $3 ORDER BY event_seq LIMIT $4`

/**
 * The first item of a scope's or an integration's feed after a position, that was published at a time or later. Cost:
 * the items before it.
 */
export const eventPlace = `SELECT event_seq AS position, created_at FROM events_of
  WHERE (${feedOf}) = $1 AND event_seq > $2 AND created_at >= $3 ORDER BY event_seq LIMIT 1`
export const deliveryPlace = `SELECT position, created_at FROM (
    (SELECT id AS position, created_at FROM deliveries
      WHERE integration_id = $1 AND id > $2 AND created_at >= $3 ORDER BY id LIMIT 1)
    ${activeStates
      .map(
        (state) => `UNION ALL (SELECT id, created_at FROM queue
      WHERE integration_id = $1 AND state = '${state}' AND id > $2 AND created_at >= $3 ORDER BY id LIMIT 1)`
      )
      .join("\n    ")}
  ) AS places ORDER BY position LIMIT 1`

/**
 * A page of events of a scope that begins at a position, with their positions. Ends with the event whose data reaches a
 * number of bytes, the last parameter. Cost: one search by seq per event. Does not read the data of later events.
 */
export const eventsOf = postgres.text(`SELECT id, resource_type, action, building_id, tenant_ids, data, created_at,
    listed_at, event_seq, bytes FROM (
      SELECT e.*, o.created_at AS listed_at, o.event_seq, octet_length(e.data) AS size,
        sum(octet_length(e.data)) OVER (${latestFirst} ROWS UNBOUNDED PRECEDING)::bigint AS bytes
      FROM (SELECT o.created_at, o.event_seq FROM events_of AS o WHERE ${readable} ${latestFirst} LIMIT ?) AS o
        JOIN events AS e ON e.seq = o.event_seq) AS page
  WHERE bytes - size < ? ORDER BY listed_at DESC, event_seq DESC`)

/** The last attempts of some deliveries. Cost per id: one search in each of two tables. */
export const lastAttempts = `SELECT a.delivery_id, a.number, a.started_at, a.duration_ms, a.outcome, a.status, a.detail
  FROM attempts AS a WHERE a.delivery_id = ANY($1)
    AND a.number = (SELECT max(b.number) FROM attempts AS b WHERE b.delivery_id = a.delivery_id)
  UNION ALL
  SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail
  FROM deliveries WHERE id = ANY($1) AND attempt_outcome IS NOT NULL
  ORDER BY 1, 2`

// The next statements take ranges of delivery ids ($1). The ranges may include deliveries of other events, so the
// statements also take event ids ($2).

const ofEvents = "id = ANY($1) AND event_id = ANY($2)"

/**
 * Locks the ended deliveries of some events. A transaction that would revive such a delivery waits, and then finds the
 * delivery deleted. Skips deliveries that others have locked. Cost: one search by id per row.
 */
export const lockEndedOf = `SELECT id FROM deliveries WHERE ${ofEvents} ORDER BY id FOR UPDATE SKIP LOCKED`

/**
 * Locks the deliveries of some events that a cancellation covers. Skips deliveries that others have locked. Cost: one
 * search by id per row.
 */
export const cancelledOf = `SELECT id FROM queue WHERE ${ofEvents} AND id <= ${lastOf("queue.integration_id")}
  ORDER BY id FOR UPDATE SKIP LOCKED`

/**
 * Selects the given events that have an active delivery, or an ended one that is not locked ($3). Uses one statement,
 * because two could miss a delivery that moves between the tables. Cost: one search by id per row.
 */
export const withUnkept = `SELECT event_id FROM queue WHERE ${ofEvents}
  UNION SELECT event_id FROM deliveries WHERE ${ofEvents} AND NOT id = ANY($3)`

/** Deletes the ended deliveries of some events. Cost: one search by id per row. Returns ids and states. */
export const deleteEndedOf = `DELETE FROM deliveries WHERE ${ofEvents} RETURNING id, state`

/**
 * Removes events from the lists of their buildings and tenants. Cost: one search by key per entry. In another join order,
 * a plan made for a small table would scan the whole index.
 */
export const deleteOfScopes = `DELETE FROM events_of WHERE ctid = ANY(ARRAY(
    SELECT o.place FROM (
      SELECT building_id AS feed, seq FROM events WHERE seq = ANY($1)
      UNION ALL
      SELECT -t.value, e.seq FROM events AS e CROSS JOIN ${postgres.numbersIn("e.tenant_ids")} AS t
        WHERE e.seq = ANY($1)
    ) AS e CROSS JOIN LATERAL (
      SELECT ctid AS place FROM events_of WHERE (${feedOf}) = e.feed AND event_seq = e.seq OFFSET 0
    ) AS o
  ))`

/** Notes purged deliveries in the feeds of their integrations. Cost: one search by id per row and event. */
export const notePurgedDeliveries = notePurged(`SELECT 'integration' AS source_type, d.integration_id AS source_id,
    e.resource_type, d.id AS position, d.created_at
  FROM (SELECT id, event_id, integration_id, created_at FROM deliveries WHERE ${ofEvents}) AS d
    JOIN events AS e ON e.id = d.event_id`)

export const deleteAttempts = `DELETE FROM attempts WHERE delivery_id = ANY($1)`

/** Cost: one search by id per event. */
export const typesById = `SELECT id, resource_type FROM events WHERE id = ANY($1)`

const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/**
 * Lists the deliveries that a filter selects, by id ascending or descending. Lists deliveries that a cancellation
 * covers as cancelled. PostgreSQL sorts only these deliveries (the first of each cancellation and state), and reads all
 * others in index order. States are literals in the text, because otherwise PostgreSQL does not use the partial
 * indexes.
 */
export const list = (
  filter: DeliveryFilter
): { readonly text: string; readonly params: ReadonlyArray<number | string> } => {
  const { event_id, integration_id, limit, order, states = [undefined] } = filter
  const newest = order === "newest"
  const by = newest ? "id DESC" : "id"
  const after = filter.after ?? (newest ? Number.MAX_SAFE_INTEGER : 0)
  const params: Array<number | string> = []
  const parameter = (value: number | string): string => `$${params.push(value)}`
  const conditions = [`d.id ${newest ? "<" : ">"} ${parameter(after)}`]
  if (event_id !== undefined) {
    const event = parameter(event_id)
    const range = ["first_delivery", "last_delivery"].map((end) => `(SELECT ${end} FROM events WHERE id = ${event})`)
    // The range may contain deliveries of other events stored at the same time.
    conditions.push(`d.id BETWEEN ${range.join(" AND ")}`, `d.event_id = ${event}`)
  }
  if (integration_id !== undefined) conditions.push(`d.integration_id = ${parameter(integration_id)}`)
  const ofIntegration = integration_id !== undefined && event_id === undefined
  const most = parameter(limit)
  // Without a limit for each table, PostgreSQL would read more rows than needed.
  const first = (from: string, where: string): string => `(${from} WHERE ${where} ORDER BY d.${by} LIMIT ${most})`
  const stateIs = (one: DeliveryState | undefined): string => (one === undefined ? "" : ` AND d.state = '${one}'`)
  // Makes PostgreSQL scan the primary key in order, not all rows of the state in an index over integrations.
  const stateIsToo = (one: DeliveryState): string => ` AND d.state || '' = '${one}'`
  const condition = conditions.join(" AND ")
  const activeOnes = (state: DeliveryState | undefined): ReadonlyArray<string> => {
    // The active deliveries of an integration are ordered by id only within a state.
    const each = state === undefined && ofIntegration ? activeStates : [state]
    const active = state === undefined ? "" : " AND e.reason IS NULL"
    return each.map((one) => {
      const is = one === undefined || ofIntegration ? stateIs(one) : stateIsToo(one)
      return first(queued, condition + is + active)
    })
  }
  const cancelledOnes = (): string => {
    const ofEnding = first(
      "SELECT * FROM queue AS d",
      `d.integration_id = e.integration_id AND d.state = s.state AND d.id <= e.last_id AND ${condition}`
    )
    return `(SELECT d.id, d.event_id, d.integration_id, 'cancelled' AS state, e.reason, d.attempts,
        NULL::bigint AS next_attempt_at, d.created_at
      FROM (${allCancellations}) AS e CROSS JOIN (VALUES ${activeStates.map((one) => `('${one}')`).join(", ")}) AS s (state)
        CROSS JOIN LATERAL ${ofEnding} AS d
      ORDER BY d.${by} LIMIT ${most})`
  }
  const endedOnes = (state: DeliveryState | undefined): string => {
    // This condition is redundant, but PostgreSQL does not use the partial indexes without it.
    const again = state === undefined || state === "delivered" ? "" : ` AND ${isUnacknowledged}`
    return first(ended, condition + stateIs(state) + again)
  }
  const parts = states.flatMap((state) => [
    ...(state === undefined || isActive(state) ? activeOnes(state) : []),
    ...(state === "cancelled" ? [cancelledOnes()] : []),
    ...(state === undefined || !isActive(state) ? [endedOnes(state)] : [])
  ])
  return {
    text: parts.length === 1 ? parts.join() : `${parts.join(" UNION ALL ")} ORDER BY ${by} LIMIT ${most}`,
    params
  }
}
