/** Faults in what is kept: idempotency keys, feeds, old events. */
import { Effect } from "effect"
import type { Deliveries, Variant } from "./Breakage.ts"
import { fault, hour, integrations, store, within } from "./Breakage.ts"

/** Hosts that repeat requests, and processes that die. */
const repeating = within({ keyed: 15, create: 10, kill: 3, storeDown: 4 })

const following = within({ follow: 8, create: 6, publish: 30, change: 6 }, { retention: null })

/** Events that reach the retention limit while failing receivers delay their deliveries. */
const aging = within({ publish: 40 }, { retention: 15_000 }, { receivers: ["prompt", "flaky", "dead"] })

/** Ends all active deliveries, which makes them ready to be purged. */
const endAll = (deliveries: Deliveries, now: number) =>
  Effect.gen(function* () {
    const worker = "broken"
    const limits = { limit: 1_000, limitPerIntegration: 1_000, limits: new Map() }
    const claimed = yield* deliveries.claim({ now: now + 12 * hour, worker, ...limits })
    const settlements = claimed.deliveries.map(({ early, id, integration, lane }) => ({
      delivery_id: id,
      integration_id: integration.id,
      attempt: null,
      state: "cancelled" as const,
      reason: "right_lost" as const,
      next_attempt_at: null,
      lane,
      early,
      retry_after: null,
      gone: false
    }))
    yield* deliveries.settle({ worker, settlements, releases: [] }, now, hour)
  })

const before = (id: number): number => Math.max(0, id - 1)

export const retentionVariants: ReadonlyArray<Variant> = [
  fault("idempotent", "idempotency keys that are not stored", 84, {
    ...store((deliveries) => ({ enqueue: (records) => deliveries.enqueue(records) })),
    scenario: repeating
  }),
  fault("idempotent", "a repeated request that gets another answer", 2, {
    store: (stores) => ({
      ...stores,
      keys: {
        ...stores.keys,
        find: (keys, now) =>
          Effect.map(stores.keys.find(keys, now), (found) =>
            found.map((each) => ({ ...each, answer: each.answer.replaceAll(/"deliveries":\d/g, '"deliveries":9') }))
          )
      }
    }),
    scenario: repeating
  }),
  fault("idempotent", "an integration created again under the same key", 4, {
    ...integrations(({ integrations: real }) => ({ create: (fields) => real.create(fields) })),
    scenario: repeating
  }),
  fault("feeds", "a feed without the skipped deliveries", 105, {
    ...store((deliveries) => ({
      feed: (of) =>
        Effect.map(deliveries.feed(of), ({ items, ...part }) => ({
          ...part,
          items: items.filter(({ delivery }) => delivery.state !== "skipped")
        }))
    })),
    scenario: following
  }),
  fault("feeds", "a feed that repeats the last delivery of the page before", 11, {
    ...store((deliveries) => ({ feed: (of) => deliveries.feed({ ...of, after: before(of.after) }) })),
    scenario: following
  }),
  fault("purges", "a purge of events that are too young", 6, {
    ...store((deliveries) => ({
      purge: (request) => deliveries.purge({ ...request, before: request.before + 20_000 })
    })),
    scenario: aging
  }),
  fault("purges", "a purge of unsettled deliveries", 4, {
    ...store((deliveries) => ({
      purge: (request) => Effect.andThen(endAll(deliveries, request.before), deliveries.purge(request))
    })),
    scenario: aging
  }),
  fault("purges", "a purge that counts wrong", 84, {
    ...store((deliveries) => ({
      purge: (request) => Effect.map(deliveries.purge(request), (purged) => ({ ...purged, deliveries: 0 }))
    })),
    scenario: aging
  }),
  fault("purges", "a purge that stops after its first batch", 6, {
    ...store((deliveries) => ({
      purge: (request) =>
        Effect.map(deliveries.purge({ ...request, limit: 1 }), (purged) => ({ ...purged, next: null }))
    })),
    scenario: aging
  })
]
