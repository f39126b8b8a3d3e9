/**
 * Ways in which workers get into each other's way, and in which what they record goes wrong.
 */
import type { DeliveryId } from "@doorhook/core"
import { Effect } from "effect"
import type { Deliveries, Variant } from "./Breaking.ts"
import { engine, hour, store, within } from "./Breaking.ts"

/** A store that takes a settlement under any token for the current one. */
const unfenced = (deliveries: Deliveries): Partial<Deliveries> => {
  const tokens = new Map<DeliveryId, string>()
  return {
    claim: (request) =>
      Effect.tap(deliveries.claim(request), (claimed) =>
        Effect.sync(() => claimed.forEach(({ id, lease }) => tokens.set(id, lease.token)))
      ),
    settle: (settlements, now, disableAfter) =>
      deliveries.settle(
        settlements.map((settlement) => ({
          ...settlement,
          token: tokens.get(settlement.delivery_id) ?? settlement.token
        })),
        now,
        disableAfter
      )
  }
}

/** A store that claims what others hold. */
const greedy = (deliveries: Deliveries): Partial<Deliveries> => ({
  claim: (request) => deliveries.claim({ ...request, now: request.now + hour })
})

export const leasingVariants: ReadonlyArray<Variant> = [
  {
    name: "more requests open to one integration than allowed",
    check: "caps",
    seed: 17,
    breakage: engine(({ settings }) => ({
      settings: { ...settings, concurrencyPerIntegration: 4 * (settings.concurrencyPerIntegration ?? 10) }
    }))
  },
  {
    name: "workers that do not know of each other",
    check: "caps",
    seed: 15,
    breakage: {
      ...store(() => ({ beat: () => Effect.succeed({ workers: 1, rank: 0 }) })),
      scenario: within(
        { publish: 30, burst: 3, kill: 0, restart: 0, storeDown: 0, directoryDown: 0, clock: 0 },
        { concurrency: 64, concurrencyPerIntegration: 5, disableAfter: 24 * hour },
        { engines: 3, receivers: ["slow", "dead"] }
      )
    }
  },
  {
    name: "a store that hands out what others hold",
    check: "leases",
    seed: 4,
    breakage: store(greedy)
  },
  {
    name: "a store that takes stale settlements",
    check: "leases",
    seed: 24,
    breakage: {
      ...store(unfenced),
      // Leases run out under attempts when clocks jump.
      scenario: (scenario) => ({
        ...scenario,
        engines: 2,
        receivers: ["slow", "late"],
        actions: { ...scenario.actions, publish: 30, clock: 8 }
      })
    }
  },
  {
    name: "an engine that believes its leases last longer than they do",
    check: "leases",
    seed: 6,
    breakage: engine(({ stores }) => ({
      stores: {
        ...stores,
        deliveries: {
          ...stores.deliveries,
          claim: (request) => {
            const lease = { ...request.lease, until: request.now + 500 }
            const claimed = stores.deliveries.claim({ ...request, lease })
            return Effect.map(claimed, (all) => all.map((delivery) => ({ ...delivery, lease: request.lease })))
          }
        }
      }
    }))
  },
  {
    name: "clocks that are farther apart than leases allow for",
    check: "leases",
    seed: 8,
    breakage: {
      scenario: within({ clock: 0, publish: 30 }, {}, { skew: 20_000, engines: 3, receivers: ["slow", "late"] })
    }
  },
  {
    name: "a settlement that forgets its attempt",
    check: "attempt-numbers",
    seed: 18,
    breakage: store((deliveries) => ({
      settle: (settlements, now, disableAfter) =>
        deliveries.settle(
          settlements.map((settlement) =>
            settlement.attempt?.number === 2 ? { ...settlement, attempt: null } : settlement
          ),
          now,
          disableAfter
        )
    }))
  },
  {
    name: "a summary that counts wrong",
    check: "tallies",
    seed: 4,
    breakage: store((deliveries) => ({
      summary: (now) =>
        Effect.map(deliveries.summary(now), (summary) => ({
          ...summary,
          states: { ...summary.states, delivered: summary.states.delivered + 1 }
        }))
    }))
  }
]
