/**
 * What settlements do to the state in memory.
 */
import type { IntegrationId } from "../domain/Ids.ts"
import { NoticeId } from "../domain/Ids.ts"
import type { IntegrationNotice, NewNotice, Notice } from "../domain/Notice.ts"
import type { Settled, Settlement } from "../ports/DeliveryStore.ts"
import type { Applied } from "../rules/Consequences.ts"
import { consequencesOf, warningOf } from "../rules/Consequences.ts"
import { reasonToEnd, settled } from "../rules/Standing.ts"
import type { StoredDelivery } from "./DeliveryTable.ts"
import type { MemoryState } from "./MemoryState.ts"
import { switchIntegration } from "./MemoryState.ts"

type State = MemoryState["Service"]

/** Applies settlements at a time. */
export const settleAll = (
  state: State,
  settlements: ReadonlyArray<Settlement>,
  now: number,
  disableAfter: number
): Settled => {
  const applied = new Map<IntegrationId, Array<Applied>>()
  const current = currentOf(state, settlements)
  for (const [delivery, settlement] of current) {
    const from = delivery.standing
    const to = settled(from, settlement, now, reasonToEnd(state.integrations.get(delivery.integration_id)))
    if (settlement.attempt !== null) delivery.history.push(settlement.attempt)
    state.deliveries.move(delivery, to)
    const siblings = applied.get(delivery.integration_id)
    if (siblings === undefined) applied.set(delivery.integration_id, [{ settlement, from, to }])
    else siblings.push({ settlement, from, to })
  }
  const changed: Array<IntegrationId> = []
  const notices: Array<Notice<IntegrationNotice>> = []
  // Afterwards, so that what was acknowledged in the same batch stays so.
  for (const [id, batch] of [...applied].toSorted(([a], [b]) => a - b)) {
    const integration = state.integrations.get(id)
    if (integration === undefined) continue
    const failing = state.failing.get(id) ?? null
    const follows = consequencesOf({ integration, failing }, batch, now, disableAfter)
    if (follows.failing === null) state.failing.delete(id)
    else state.failing.set(id, follows.failing)
    if (follows.disable !== null)
      switchIntegration(state, id, { status: "disabled", disabled_reason: follows.disable }, now)
    if (follows.enable) switchIntegration(state, id, { status: "enabled", disabled_reason: null }, now)
    if (follows.enable || follows.disable !== null) changed.push(id)
    for (const notice of follows.notices) notices.push(note(state, notice))
  }
  const dueAgain = current.keys().some(({ standing }) => standing.state === "pending")
  return { applied: new Set(current.keys().map(({ id }) => id)), changed, notices, dueAgain }
}

/** Tells of integrations that are due to be told of. */
export const warnAll = (
  state: State,
  now: number,
  disableAfter: number,
  limit: number
): ReadonlyArray<Notice<IntegrationNotice>> => {
  const notices: Array<Notice<IntegrationNotice>> = []
  for (const [id, failing] of [...state.failing].toSorted(([a], [b]) => a - b)) {
    if (notices.length >= limit) break
    const integration = state.integrations.get(id)
    const warning = integration === undefined ? null : warningOf({ integration, failing }, now, disableAfter)
    if (warning === null) continue
    state.failing.set(id, warning.failing)
    notices.push(note(state, warning.notice))
  }
  return notices
}

/** The settlements whose tokens are current, with their deliveries. */
const currentOf = (
  { deliveries }: State,
  settlements: ReadonlyArray<Settlement>
): ReadonlyMap<StoredDelivery, Settlement> => {
  const found = new Map<StoredDelivery, Settlement>()
  for (const settlement of settlements) {
    const delivery = deliveries.get(settlement.delivery_id)
    if (delivery?.standing.lease_token !== settlement.token || found.has(delivery)) continue
    found.set(delivery, settlement)
  }
  return found
}

/** Keeps a notice. */
export const note = <Kind extends NewNotice>(state: State, notice: Kind): Notice<Kind> => {
  const kept = { ...notice, id: NoticeId.make(++state.lastNotice) }
  state.notices.push(kept)
  return kept
}
