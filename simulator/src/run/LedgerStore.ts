/** Wraps the store of an engine, and records stored and settled deliveries in a ledger. */
import { callKeyOf } from "@doorhook/core"
import type { DeliveryStore, Event, IntegrationId, IntegrationStore } from "@doorhook/core"
import { Effect } from "effect"
import type { Ledger } from "../results/Ledger.ts"
import type { IntegrationTotals } from "../results/Measurements.ts"

/** Lookups of a run's integrations for the ledger, and callbacks for their changes. */
export interface Recipients {
  /** Returns the integrations that should get an event. */
  readonly matching: (event: Event) => ReadonlySet<IntegrationId>
  readonly totals: (integration: IntegrationId) => IntegrationTotals
  /** Called when a retry is scheduled, with its due time in milliseconds since the epoch. */
  readonly due: (at: number) => void
  /** Called when a settlement has disabled an integration, or the end of a call has cancelled its delivery. */
  readonly ended: (integration: IntegrationId) => void
}

export const ledgerStore = (
  store: DeliveryStore["Service"],
  integrations: Pick<IntegrationStore["Service"], "find">,
  ledger: Ledger,
  { due, ended, matching, totals }: Recipients
): DeliveryStore["Service"] => {
  const endIfDisabled = (now: number) => (id: IntegrationId) =>
    Effect.map(integrations.find(id), (integration) => {
      if (integration?.status === "enabled") return
      ledger.integrationEnded(id, now)
      ended(id)
    })
  return {
    ...store,
    enqueue: (records, keys) =>
      Effect.map(store.enqueue(records, keys), (stored) => {
        records.forEach(({ call, deliveries, event }, at) => {
          const key = call === undefined ? null : callKeyOf(event, call)
          if (key !== null && call?.isEnd === true) for (const id of ledger.callEnded(key, event.created_at)) ended(id)
          ledger.matched(
            event,
            deliveries.map(({ integration_id }) => integration_id),
            matching(event)
          )
          deliveries.forEach(({ integration_id }, nth) => {
            const delivery = stored[at]?.[nth]
            if (delivery === undefined) return
            const begun = call?.isEnd === false ? key : null
            ledger.stored(delivery.id, delivery.state, event, integration_id, totals(integration_id), begun)
          })
        })
        return stored
      }),
    claim: (request) =>
      Effect.map(store.claim(request), (claimed) => {
        for (const { early_due_at, id } of claimed.deliveries) ledger.leased(id, early_due_at)
        return claimed
      }),
    settle: (outcomes, now, disableAfter) =>
      Effect.flatMap(store.settle(outcomes, now, disableAfter), (answer) => {
        const { applied, changed } = answer
        for (const { due_at } of outcomes.releases) due(due_at)
        for (const settlement of outcomes.settlements) {
          if (!applied.has(settlement.delivery_id)) continue
          ledger.settled(settlement, now)
          if (settlement.next_attempt_at !== null) due(settlement.next_attempt_at)
        }
        return changed.length === 0
          ? Effect.succeed(answer)
          : Effect.as(Effect.forEach(changed, endIfDisabled(now), { discard: true }), answer)
      }),
    purge: (request) =>
      Effect.tap(store.purge(request), ({ deliveries }) =>
        Effect.sync(() => {
          ledger.purged += deliveries
        })
      )
  }
}
