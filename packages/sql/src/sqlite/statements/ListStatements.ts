/**
 * Statements that look events and deliveries up.
 */
import type { DeliveryFilter, DeliveryState } from "@doorhook/core"
import { activeStates } from "@doorhook/core"
import type { Value } from "../SqliteClient.ts"
import { ending, isUnacknowledged, readableDue } from "./DeliveryStatements.ts"

const common = "id, event_id, integration_id, state, reason, attempts"
const ended = `SELECT ${common}, NULL AS next_attempt_at, created_at FROM deliveries`

/** What is active, and what an ending has cancelled already. */
const queued = (index: string): string => `SELECT id, event_id, queue.integration_id,
    iif(e.reason IS NULL, state, 'cancelled') AS state, coalesce(e.reason, queue.reason) AS reason, attempts,
    iif(e.reason IS NULL, ${readableDue}, NULL) AS next_attempt_at, created_at
  FROM queue ${index} ${ending}`

/** One delivery (its id is given twice). One search by id in each table. */
export const deliveryById = `${queued("")} WHERE id = ? UNION ALL ${ended} WHERE id = ?`

/** The attempts of a delivery (its id is given twice), the first one first: one range of one table, one row of another. */
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, response_excerpt, detail
    FROM attempts WHERE delivery_id = ?
  UNION ALL
  SELECT attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_excerpt,
      attempt_detail
    FROM deliveries WHERE id = ? AND attempt_outcome IS NOT NULL
  ORDER BY number`

/** Some events. One search in the index over ids each. */
export const eventsById = `SELECT id, resource_type, action, building_id, tenant_ids, data, created_at
  FROM events WHERE id IN (SELECT value FROM json_each(?))`

const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/**
 * The narrowest index of ended deliveries for a filter. It is named in the statement, because SQLite would rather walk
 * the whole table in the order of ids than sort the few rows that an index gives.
 */
const indexOfEnded = ({ event_id, integration_id }: DeliveryFilter, state: DeliveryState | undefined): string => {
  if (event_id !== undefined) return "NOT INDEXED"
  const ofIntegration = integration_id !== undefined
  // Most deliveries are delivered ones: in the order of ids they are found soon.
  if (state === undefined || state === "delivered") {
    return ofIntegration ? "INDEXED BY deliveries_by_integration" : "NOT INDEXED"
  }
  return `INDEXED BY deliveries_unacknowledged${ofIntegration ? "_by_integration" : ""}`
}

/**
 * The deliveries that a filter selects, by growing id or by falling. What an ending has cancelled already is with the
 * cancelled ones: the first of each ending and state are sorted, all else is walked in its order.
 */
export const list = (filter: DeliveryFilter): { readonly text: string; readonly params: ReadonlyArray<Value> } => {
  const { event_id, integration_id, limit, order, states = [undefined] } = filter
  const newest = order === "newest"
  const after = filter.after ?? (newest ? Number.MAX_SAFE_INTEGER : 0)
  const by = newest ? "id DESC" : "id"
  const params: Array<Value> = []
  const parameter = (value: Value): string => `?${params.push(value)}`
  const most = parameter(limit)
  const wanted = [(table: string) => `${table}.id ${newest ? "<" : ">"} ${parameter(after)}`]
  if (event_id !== undefined) {
    const event = parameter(event_id)
    const range = ["first_delivery", "last_delivery"].map((end) => `(SELECT ${end} FROM events WHERE id = ${event})`)
    wanted.push((table) => `${table}.id BETWEEN ${range.join(" AND ")}`)
  }
  if (integration_id !== undefined) wanted.push((table) => `${table}.integration_id = ${parameter(integration_id)}`)
  const where = (table: string, ...more: ReadonlyArray<string>): string =>
    [...wanted.map((condition) => condition(table)), ...more].join(" AND ")
  const ofIntegration = integration_id !== undefined && event_id === undefined
  const activeOnes = (state: DeliveryState | undefined): ReadonlyArray<string> => {
    const from = queued(ofIntegration ? "INDEXED BY queue_by_integration" : "NOT INDEXED")
    // The active ones of an integration are in order state by state.
    const each = state === undefined && ofIntegration ? activeStates : [state]
    const active = state === undefined ? [] : ["e.reason IS NULL"]
    return each.map((one) => {
      const is = one === undefined ? [] : [`queue.state = '${one}'`]
      return `${from} WHERE ${where("queue", ...is, ...active)}`
    })
  }
  const cancelledOnes = (): string => {
    const first = `SELECT q.id FROM queue AS q INDEXED BY queue_by_integration
      WHERE q.integration_id = e.integration_id AND q.state = s.column1 AND q.id <= e.last_id AND ${where("q")}
      ORDER BY q.${by} LIMIT ${most}`
    return `SELECT d.id, d.event_id, d.integration_id, 'cancelled' AS state, e.reason, d.attempts,
        NULL AS next_attempt_at, d.created_at
      FROM endings AS e CROSS JOIN (VALUES ${activeStates.map((each) => `('${each}')`).join(", ")}) AS s
        CROSS JOIN queue AS d
      WHERE d.id IN (${first})`
  }
  const endedOnes = (state: DeliveryState | undefined): string => {
    const is = state === undefined ? [] : [`deliveries.state = '${state}'`]
    // A term that says nothing new, but without which SQLite does not see that the partial index serves.
    const again = state === undefined || state === "delivered" ? [] : [isUnacknowledged]
    return `${ended} ${indexOfEnded(filter, state)} WHERE ${where("deliveries", ...is, ...again)}`
  }
  const parts = states.flatMap((state) => [
    ...(state === undefined || isActive(state) ? activeOnes(state) : []),
    ...(state === "cancelled" ? [cancelledOnes()] : []),
    ...(state === undefined || !isActive(state) ? [endedOnes(state)] : [])
  ])
  return { text: `${parts.join(" UNION ALL ")} ORDER BY ${by} LIMIT ${most}`, params }
}
