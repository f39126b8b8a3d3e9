/**
 * Statements that look events and deliveries up.
 */
import type { DeliveryFilter, DeliveryState } from "@doorhook/core"
import { activeStates } from "@doorhook/core"
import { isUnacknowledged } from "./DeliveryStatements.ts"

const common = "id, event_id, integration_id, state, reason, attempts"
const queued = `SELECT ${common}, due_at AS next_attempt_at, created_at FROM queue`
const ended = `SELECT ${common}, NULL::bigint AS next_attempt_at, created_at FROM deliveries`

/** One delivery. One search by id in each table. */
export const deliveryById = `${queued} WHERE id = $1 UNION ALL ${ended} WHERE id = $1`

/** The attempts of a delivery, the first one first: one range of one table, one row of another. */
export const attemptsOf = `SELECT number, started_at, duration_ms, outcome, status, response_excerpt, detail
    FROM attempts WHERE delivery_id = $1
  UNION ALL
  SELECT attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_excerpt,
      attempt_detail
    FROM deliveries WHERE id = $1 AND attempt_outcome IS NOT NULL
  ORDER BY number`

/** Some events. One search by id each. */
export const eventsById = `SELECT id, resource_type, action, building_id, tenant_ids, data, created_at
  FROM events WHERE id = ANY($1)`

const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/**
 * The deliveries that a filter selects, by growing id or by falling. States stand in the text, because only so is it seen
 * that the partial indexes serve.
 */
export const list = (
  filter: DeliveryFilter
): { readonly text: string; readonly params: ReadonlyArray<number | string> } => {
  const { event_id, integration_id, limit, order, state } = filter
  const newest = order === "newest"
  const by = newest ? "id DESC" : "id"
  const after = filter.after ?? (newest ? Number.MAX_SAFE_INTEGER : 0)
  const params: Array<number | string> = []
  const parameter = (value: number | string): string => `$${params.push(value)}`
  const conditions = [`id ${newest ? "<" : ">"} ${parameter(after)}`]
  if (event_id !== undefined) {
    const event = parameter(event_id)
    const range = ["first_delivery", "last_delivery"].map((end) => `(SELECT ${end} FROM events WHERE id = ${event})`)
    // Others that were stored at the same time can lie between.
    conditions.push(`id BETWEEN ${range.join(" AND ")}`, `event_id = ${event}`)
  }
  if (integration_id !== undefined) conditions.push(`integration_id = ${parameter(integration_id)}`)
  const ofIntegration = integration_id !== undefined && event_id === undefined
  const most = parameter(limit)
  // Each table on its own: together they would be asked for more than the limit.
  const first = (from: string, where: string): string => `(${from} WHERE ${where} ORDER BY ${by} LIMIT ${most})`
  const stateIs = (one: DeliveryState | undefined): string => (one === undefined ? "" : ` AND state = '${one}'`)
  // So that ids are walked in their order, and not all that an index over integrations has in this state.
  const stateIsToo = (one: DeliveryState): string => ` AND state || '' = '${one}'`
  const condition = conditions.join(" AND ")
  const parts: Array<string> = []
  if (state === undefined || isActive(state)) {
    // The active ones of an integration are in order state by state.
    const states = state === undefined && ofIntegration ? activeStates : [state]
    for (const one of states) {
      parts.push(first(queued, condition + (one === undefined || ofIntegration ? stateIs(one) : stateIsToo(one))))
    }
  }
  if (state === undefined || !isActive(state)) {
    // A term that says nothing new, but without which it is not seen that the partial indexes serve.
    const again = state === undefined || state === "delivered" ? "" : ` AND ${isUnacknowledged}`
    parts.push(first(ended, condition + stateIs(state) + again))
  }
  return {
    text: parts.length === 1 ? parts.join() : `${parts.join(" UNION ALL ")} ORDER BY ${by} LIMIT ${most}`,
    params
  }
}
