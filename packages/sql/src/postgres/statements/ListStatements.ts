/**
 * Statements that look deliveries up.
 */
import type { DeliveryFilter } from "@doorhook/core"
import { activeStates } from "@doorhook/core"

const delivery = `d.id, e.id AS event_id, d.integration_id, d.state, d.reason, d.attempts, d.due_at AS next_attempt_at,
    d.created_at`

/** One delivery. Searches by id and by seq. */
export const deliveryById = `SELECT ${delivery} FROM deliveries AS d JOIN events AS e ON e.seq = d.event_seq
  WHERE d.id = $1`

/** The attempts of a delivery, the first one first: one range of the primary key. */
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, response_excerpt, detail
  FROM attempts WHERE delivery_id = $1 ORDER BY number`

/** One event. Searches by id and by seq. */
export const eventById = `SELECT id, resource_type, action, building_id, tenant_ids, data, created_at
  FROM events WHERE id = $1`

/**
 * The deliveries that a filter selects, by growing id. States stand in the text, because only so is it seen that the
 * partial indexes serve.
 */
export const list = (
  filter: DeliveryFilter
): { readonly text: string; readonly params: ReadonlyArray<number | string> } => {
  const params: Array<number | string> = []
  const parameter = (value: number | string): string => `$${params.push(value)}`
  const conditions = [`d.id > ${parameter(filter.after ?? 0)}`]
  if (filter.event_id !== undefined) {
    conditions.push(`d.event_seq = (SELECT seq FROM events WHERE id = ${parameter(filter.event_id)})`)
  }
  if (filter.integration_id !== undefined) conditions.push(`d.integration_id = ${parameter(filter.integration_id)}`)
  if (filter.state !== undefined) conditions.push(`d.state = '${filter.state}'`)
  const isActive = activeStates.some((active) => active === filter.state)
  if (isActive) conditions.push("d.due_at IS NOT NULL", "d.lane IN (0, 1, 2, 3)")
  // What is active is sorted: in the order of ids it would be looked for among everything that was ever delivered.
  const order = isActive ? "d.id + 0" : "d.id"
  const text = `SELECT ${delivery} FROM deliveries AS d JOIN events AS e ON e.seq = d.event_seq
    WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT ${parameter(filter.limit)}`
  return { text, params }
}
