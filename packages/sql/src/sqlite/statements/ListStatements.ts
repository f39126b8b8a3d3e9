/**
 * Statements that look deliveries up.
 */
import type { DeliveryFilter, DeliveryState } from "@doorhook/core"
import { activeStates, Standing } from "@doorhook/core"
import { isUnacknowledged } from "./DeliveryStatements.ts"
import type { Value } from "./MultiRow.ts"

const delivery = `d.id, e.id AS event_id, d.integration_id, d.state, d.reason, d.attempts, d.due_at AS next_attempt_at,
    d.created_at`

/** One delivery. Searches by id and by seq. */
export const deliveryById = `SELECT ${delivery} FROM deliveries AS d JOIN events AS e ON e.seq = d.event_seq
  WHERE d.id = ?`

/** The attempts of a delivery, the first one first: one range of the table. */
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, response_excerpt, detail
  FROM attempts WHERE delivery_id = ? ORDER BY number`

/** One event. Searches by id and by seq. */
export const eventById = `SELECT id, resource_type, action, building_id, tenant_ids, data, created_at
  FROM events WHERE id = ?`

type StateKind = "any" | "active" | "unacknowledged" | "delivered"

const kindOf = (state: DeliveryState | undefined): StateKind => {
  if (state === undefined) return "any"
  if (activeStates.some((active) => active === state)) return "active"
  return Standing.recoverableStates.some((unacknowledged) => unacknowledged === state) ? "unacknowledged" : "delivered"
}

/**
 * The narrowest index for a filter. It is named in the statement, because SQLite would rather walk the whole table in
 * the order of ids than sort the few rows that an index gives.
 */
const indexOf = (filter: DeliveryFilter, kind: StateKind): string | null => {
  if (filter.event_id !== undefined) return "deliveries_by_event"
  if (kind === "active") return "deliveries_active"
  if (kind === "unacknowledged") {
    return filter.integration_id === undefined
      ? "deliveries_unacknowledged"
      : "deliveries_unacknowledged_by_integration"
  }
  // Most deliveries are delivered ones: in the order of ids they are found soon.
  return filter.integration_id === undefined ? null : "deliveries_by_integration"
}

/** The deliveries that a filter selects, by growing id. */
export const list = (filter: DeliveryFilter): { readonly text: string; readonly params: ReadonlyArray<Value> } => {
  const kind = kindOf(filter.state)
  const index = indexOf(filter, kind)
  const conditions: Array<string> = ["d.id > ?"]
  const params: Array<Value> = [filter.after ?? 0]
  if (filter.event_id !== undefined) {
    conditions.push("d.event_seq = (SELECT seq FROM events WHERE id = ?)")
    params.push(filter.event_id)
  }
  if (filter.integration_id !== undefined) {
    conditions.push("d.integration_id = ?")
    params.push(filter.integration_id)
  }
  if (filter.state !== undefined) {
    conditions.push("d.state = ?")
    params.push(filter.state)
  }
  // Terms that say nothing new, but without which SQLite does not see that the partial index serves.
  if (kind === "active") conditions.push("d.due_at IS NOT NULL", "d.lane IN (0, 1, 2, 3)")
  if (kind === "unacknowledged") conditions.push(`d.${isUnacknowledged}`)
  const text = `SELECT ${delivery}
    FROM deliveries AS d ${index === null ? "NOT INDEXED" : `INDEXED BY ${index}`} JOIN events AS e ON e.seq = d.event_seq
    WHERE ${conditions.join(" AND ")} ORDER BY d.id LIMIT ?`
  return { text, params: [...params, filter.limit] }
}
