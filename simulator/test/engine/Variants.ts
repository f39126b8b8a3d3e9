/**
 * The engine, broken in one way after another, each with the check that must notice.
 */
import type { DeliveryId, DeliveryStore, LeasedDelivery, Settlement } from "@doorhook/core"
import { DeliveryId as Id } from "@doorhook/core"
import { Effect } from "effect"
import type { Breakage } from "../../src/engine/Simulation.ts"
import type { Ports } from "../../src/engine/Engine.ts"
import type { Stores } from "../../src/engine/world/WatchedStore.ts"

export interface Variant {
  readonly name: string
  /** The check that must fail. */
  readonly check: string
  readonly breakage: Breakage
}

type Deliveries = DeliveryStore["Service"]

const store = (change: (deliveries: Deliveries) => Partial<Deliveries>): Breakage => ({
  store: (stores) => ({ ...stores, deliveries: { ...stores.deliveries, ...change(stores.deliveries) } })
})

const integrations = (change: (stores: Stores) => Partial<Stores["integrations"]>): Breakage => ({
  store: (stores) => ({ ...stores, integrations: { ...stores.integrations, ...change(stores) } })
})

const engine = (change: (ports: Ports) => Partial<Ports>): Breakage => ({
  engine: (ports) => ({ ...ports, ...change(ports) })
})

/** An engine that decides something else than what the rules say. */
const settling = (change: (settlement: Settlement) => Settlement): Breakage =>
  engine(({ stores }) => ({
    stores: {
      ...stores,
      deliveries: {
        ...stores.deliveries,
        settle: (settlements, now) => stores.deliveries.settle(settlements.map(change), now)
      }
    }
  }))

const hour = 3_600_000

/** A store that takes a settlement under any token for the current one. */
const unfenced = (deliveries: Deliveries): Partial<Deliveries> => {
  const tokens = new Map<DeliveryId, string>()
  return {
    claim: (request) =>
      Effect.tap(deliveries.claim(request), (claimed) =>
        Effect.sync(() => claimed.forEach(({ id, lease }) => tokens.set(id, lease.token)))
      ),
    settle: (settlements, now) =>
      deliveries.settle(
        settlements.map((settlement) => ({
          ...settlement,
          token: tokens.get(settlement.delivery_id) ?? settlement.token
        })),
        now
      )
  }
}

/** A store that says of one event in ten that it has stored it. */
const forgetful = (deliveries: Deliveries): Partial<Deliveries> => {
  let count = 0
  return {
    enqueue: (records) => {
      const lost = records.map(() => ++count % 10 === 0)
      const kept = records.filter((_, at) => lost[at] !== true)
      return Effect.map(deliveries.enqueue(kept), (stored) => {
        const answers = [...stored]
        return records.map(({ deliveries: wanted }, at) =>
          lost[at] === true
            ? wanted.map(() => ({ id: Id.make(1_000_000 + at), state: "pending" as const }))
            : (answers.shift() ?? [])
        )
      })
    }
  }
}

/** A store that claims what others hold. */
const greedy = (deliveries: Deliveries): Partial<Deliveries> => ({
  claim: (request) => deliveries.claim({ ...request, now: request.now + hour })
})

const inBackground = (delivery: LeasedDelivery): LeasedDelivery => ({ ...delivery, lane: 2 })

export const variants: ReadonlyArray<Variant> = [
  {
    name: "an event that is accepted and not stored",
    check: "nothing-lost",
    breakage: store(forgetful)
  },
  {
    name: "a lease that never ends",
    check: "nothing-lost",
    breakage: store((deliveries) => ({
      claim: (request) =>
        deliveries.claim({ ...request, lease: { ...request.lease, until: request.lease.until + 24 * hour } })
    }))
  },
  {
    name: "a 204 that counts as an acknowledgement",
    check: "delivered-is-received",
    breakage: settling((settlement) =>
      settlement.attempt?.status === 204
        ? { ...settlement, state: "delivered", reason: null, next_attempt_at: null }
        : settlement
    )
  },
  {
    name: "a retry after a success",
    check: "nothing-after-success",
    breakage: settling((settlement) =>
      settlement.attempt?.outcome === "acknowledged" && settlement.attempt.number === 1
        ? { ...settlement, state: "retrying", next_attempt_at: settlement.attempt.started_at + 2_000 }
        : settlement
    )
  },
  {
    name: "a retry that comes too early",
    check: "retry-times",
    breakage: settling((settlement) =>
      settlement.next_attempt_at === null
        ? settlement
        : { ...settlement, next_attempt_at: settlement.next_attempt_at - 600 }
    )
  },
  {
    name: "a store that hands retries out a second too early",
    check: "retry-times",
    breakage: store((deliveries) => ({
      claim: (request) => deliveries.claim({ ...request, now: request.now + 1_000 })
    }))
  },
  {
    name: "calls that are sent however old they are",
    check: "call-lifetime",
    breakage: {
      ...engine(({ settings }) => ({
        settings: {
          ...settings,
          retry: {
            call: { delays: [30_000, 30_000], lifetime: null },
            access_log: settings.retry?.access_log ?? { delays: [], lifetime: null }
          }
        }
      }))
    }
  },
  {
    name: "deleting an integration without cancelling what waits for it",
    check: "nothing-after-end",
    breakage: integrations(({ integrations: real }) => {
      const removed = new Set<number>()
      return {
        find: (id) => Effect.map(real.find(id), (found) => (removed.has(id) ? null : found)),
        remove: (id) => Effect.sync(() => !removed.has(id) && removed.add(id).has(id)),
        ofScopes: (scopes) => Effect.map(real.ofScopes(scopes), (all) => all.filter(({ id }) => !removed.has(id)))
      }
    })
  },
  {
    name: "a dispatcher that is not told of changes",
    check: "nothing-after-end",
    breakage: engine(() => ({ dispatcher: (dispatcher) => ({ ...dispatcher, forget: () => Effect.void }) }))
  },
  {
    name: "rights that are not asked for",
    check: "nothing-after-end",
    breakage: engine(({ directory }) => ({
      directory: { ...directory, administers: () => Effect.succeed(true), isTenant: () => Effect.succeed(true) }
    }))
  },
  {
    name: "events of one tenant that go to all",
    check: "isolation",
    breakage: engine(({ stores }) => ({
      stores: {
        ...stores,
        integrations: {
          ...stores.integrations,
          ofScopes: ({ buildings, tenants }) =>
            Effect.map(stores.integrations.ofScopes({ buildings: [...buildings], tenants }), (all) => {
              const [building] = buildings
              return all.map((integration) =>
                integration.scope.type === "tenant" && building !== undefined
                  ? { ...integration, scope: { type: "building" as const, id: building } }
                  : integration
              )
            })
        }
      }
    }))
  },
  {
    name: "a body that is encoded anew for a retry",
    check: "same-body",
    breakage: engine(({ transport }) => ({
      transport: {
        post: (request) =>
          transport.post(
            request.headers["doorhook-attempt"] === "1"
              ? request
              : { ...request, body: JSON.stringify(JSON.parse(request.body)) }
          )
      }
    }))
  },
  {
    name: "calls that queue behind access logs",
    check: "calls-first",
    breakage: {
      ...engine(({ stores }) => ({
        dispatcher: (dispatcher) => ({
          ...dispatcher,
          reserve: (wanted) => dispatcher.reserve(wanted.map((handover) => ({ ...handover, lane: 2 as const }))),
          accept: (deliveries) => dispatcher.accept(deliveries.map(inBackground))
        }),
        stores: {
          ...stores,
          deliveries: {
            ...stores.deliveries,
            claim: (request) => Effect.map(stores.deliveries.claim(request), (claimed) => claimed.map(inBackground)),
            enqueue: (records) =>
              stores.deliveries.enqueue(
                records.map((record) => ({
                  ...record,
                  deliveries: record.deliveries.map((delivery) => ({ ...delivery, lane: 2 as const }))
                }))
              )
          }
        }
      })),
      // Backlogs of receivers that answer nothing.
      scenario: (scenario) => ({
        ...scenario,
        receivers: ["dead", "dead"],
        actions: { ...scenario.actions, burst: 2, publish: 30, kill: 0, storeDown: 0, directoryDown: 0, clock: 0 },
        faults: { ...scenario.faults, crash: 0 }
      })
    }
  },
  {
    name: "more requests open to one integration than allowed",
    check: "caps",
    breakage: engine(({ settings }) => ({
      settings: { ...settings, concurrencyPerIntegration: 4 * (settings.concurrencyPerIntegration ?? 10) }
    }))
  },
  {
    name: "a store that hands out what others hold",
    check: "leases",
    breakage: store(greedy)
  },
  {
    name: "a store that takes stale settlements",
    check: "leases",
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
    name: "a settlement that forgets its attempt",
    check: "attempt-numbers",
    breakage: store((deliveries) => ({
      settle: (settlements, now) =>
        deliveries.settle(
          settlements.map((settlement) =>
            settlement.attempt?.number === 2 ? { ...settlement, attempt: null } : settlement
          ),
          now
        )
    }))
  },
  {
    name: "a summary that counts wrong",
    check: "tallies",
    breakage: store((deliveries) => ({
      summary: (now) =>
        Effect.map(deliveries.summary(now), (summary) => ({
          ...summary,
          states: { ...summary.states, delivered: summary.states.delivered + 1 }
        }))
    }))
  }
]
