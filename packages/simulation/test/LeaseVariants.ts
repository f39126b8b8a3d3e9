/** Faults in how workers share the deliveries and record outcomes. */
import type { DeliveryId, Outcomes } from "@doorhook/core"
import { Effect } from "effect"
import type { Deliveries, Variant } from "./Breakage.ts"
import { engine, fault, hour, ofEngine, store, within } from "./Breakage.ts"

/** Makes a store accept the outcomes of any worker as if the worker had the lease. */
const unfenced = (deliveries: Deliveries): Partial<Deliveries> => {
  const workers = new Map<DeliveryId, string>()
  return {
    claim: (request) =>
      Effect.tap(deliveries.claim(request), (claimed) =>
        Effect.sync(() => claimed.deliveries.forEach(({ id }) => workers.set(id, request.worker)))
      ),
    settle: Effect.fnUntraced(function* (outcomes, now, disableAfter) {
      const workerOf = (id: DeliveryId): string => workers.get(id) ?? outcomes.worker
      const applied = new Set<DeliveryId>()
      for (const settlement of outcomes.settlements) {
        const worker = workerOf(settlement.delivery_id)
        if (worker === outcomes.worker) continue
        const stale = yield* deliveries.settle({ worker, settlements: [settlement], releases: [] }, now, disableAfter)
        for (const id of stale.applied) applied.add(id)
      }
      const settlements = outcomes.settlements.filter(({ delivery_id }) => workerOf(delivery_id) === outcomes.worker)
      const settled = yield* deliveries.settle({ ...outcomes, settlements }, now, disableAfter)
      return { ...settled, applied: new Set([...settled.applied, ...applied]) }
    })
  }
}

/** Makes a store end other workers' leases before each claim. */
const greedy = (deliveries: Deliveries): Partial<Deliveries> => {
  const workers = new Map<string, number>()
  return {
    heartbeat: (beat) =>
      Effect.suspend(() => {
        if (beat.until === null) workers.delete(beat.worker)
        else workers.set(beat.worker, beat.until)
        return deliveries.heartbeat(beat)
      }),
    claim: Effect.fnUntraced(function* (request) {
      for (const [worker, until] of workers) {
        if (worker === request.worker || until <= request.now) continue
        yield* deliveries.heartbeat({ worker, now: request.now, until: null })
        yield* deliveries.heartbeat({ worker, now: request.now, until })
      }
      return yield* deliveries.claim(request)
    })
  }
}

/**
 * Several engines with slow receivers, and jumps of the only clock: memberships lapse during attempts. Over a store with
 * a clock of its own, a jump ends no membership.
 */
const lapsing = within(
  { publish: 40, clock: 8, kill: 0 },
  {},
  { engines: 3, receivers: ["slow", "late", "slow"], replaced: 1, hasStoreClock: false, skew: 100 }
)

export const leaseVariants: ReadonlyArray<Variant> = [
  fault(
    "caps",
    "more open requests to one integration than allowed",
    17,
    engine(({ settings }) => ({
      settings: { ...settings, concurrencyPerIntegration: 4 * (settings.concurrencyPerIntegration ?? 10) }
    }))
  ),
  fault("caps", "workers that do not share places with each other", 15, {
    ...store((deliveries) => ({
      heartbeat: (beat) =>
        Effect.map(deliveries.heartbeat(beat), (membership) => ({ ...membership, workers: 1, rank: 0 }))
    })),
    scenario: within(
      { publish: 30, burst: 3, vanish: 0, kill: 0, restart: 0, storeDown: 0, directoryDown: 0, clock: 0 },
      { concurrency: 64, concurrencyPerIntegration: 5, disableAfter: 24 * hour },
      { engines: 3, receivers: ["slow", "dead"] }
    )
  }),
  fault("leases", "a store that leases deliveries held by others", 4, {
    ...store(greedy),
    scenario: within({ publish: 30, burst: 2 }, {}, { engines: 3 })
  }),
  fault("leases", "a store that accepts outcomes of an ended lease", 11, { ...store(unfenced), scenario: lapsing }),
  fault(
    "leases",
    "an engine that overestimates its membership",
    6,
    ofEngine((deliveries) => ({
      heartbeat: (beat) => deliveries.heartbeat({ ...beat, until: beat.until === null ? null : beat.now + 500 })
    }))
  ),
  fault("leases", "an engine that does not notice that its membership has lapsed", 2, {
    ...ofEngine((deliveries) => ({
      // The membership in the store lasts a quarter of the time that the engine assumes.
      heartbeat: (beat) =>
        Effect.map(
          deliveries.heartbeat({
            ...beat,
            until: beat.until === null ? null : beat.now + (beat.until - beat.now) / 4
          }),
          (membership) => ({ ...membership, continued: true })
        )
    })),
    scenario: lapsing
  }),
  fault("leases", "an engine that keeps its name when its membership has lapsed", 1, {
    ...ofEngine((deliveries) => {
      let first: string | null = null
      const named = <A extends { readonly worker: string }>(call: A): A => ({
        ...call,
        worker: (first ??= call.worker)
      })
      return {
        claim: (request) => deliveries.claim(named(request)),
        settle: (outcomes, now, disableAfter) => deliveries.settle(named(outcomes), now, disableAfter),
        heartbeat: (beat) => deliveries.heartbeat(named(beat))
      }
    }),
    scenario: lapsing
  }),
  fault("leases", "an engine that returns no leases when it shuts down", 2, {
    ...ofEngine((deliveries) => ({
      settle: (outcomes, now, disableAfter) => deliveries.settle({ ...outcomes, releases: [] }, now, disableAfter),
      heartbeat: (beat) =>
        beat.until === null ? Effect.succeed({ workers: 1, rank: 0, continued: true }) : deliveries.heartbeat(beat)
    })),
    scenario: within({ publish: 30, burst: 3, restart: 4, kill: 0, storeDown: 0 }, {}, { engines: 2 })
  }),
  fault("leases", "an engine that returns a delivery a second time after claiming it again", 11, {
    ...ofEngine((deliveries) => {
      let before: Outcomes["releases"] = []
      return {
        settle: (outcomes, now, disableAfter) =>
          Effect.suspend(() => {
            const releases = [...outcomes.releases, ...before]
            before = outcomes.releases
            return deliveries.settle({ ...outcomes, releases }, now, disableAfter)
          })
      }
    }),
    scenario: within({ publish: 40, burst: 3, change: 20, create: 6 }, {}, { receivers: ["slow", "prompt", "late"] })
  }),
  fault("leases", "clocks farther apart than memberships allow, over a store without a clock", 95, {
    scenario: within(
      { clock: 0, publish: 30 },
      {},
      { skew: 20_000, hasStoreClock: false, engines: 3, receivers: ["slow", "late"] }
    )
  }),
  fault("leases", "engines that share leases by their own clocks", 1, {
    ...engine(() => ({ clock: null })),
    scenario: within(
      { clock: 0, ownClock: 0, publish: 30 },
      {},
      { skew: 20_000, engines: 3, receivers: ["slow", "late"] }
    )
  }),
  fault("clocks", "an engine that uses its own clock", 1, {
    ...engine(() => ({ clock: null })),
    scenario: within({ clock: 0 }, {}, { skew: 300_000 })
  }),
  fault("clocks", "an engine that measures the store's clock only when it starts", 1, {
    ...engine(({ clock }) => ({ clock: clock && { ...clock, isCertain: () => true, measure: Effect.void } })),
    // The jumps of the store's clock are measured within a few seconds, unless the engine does not measure.
    scenario: within({ clock: 4, kill: 0, restart: 0 })
  }),
  fault("clocks", "an engine that does not compare its clock with the store's", 2, {
    ...engine(({ clock }) => ({ clock: clock && { ...clock, offset: () => null } })),
    scenario: within({ clock: 0, kill: 0, storeDown: 0 })
  }),
  fault(
    "attempt-numbers",
    "a settlement without its attempt",
    18,
    store((deliveries) => ({
      settle: (outcomes, now, disableAfter) =>
        deliveries.settle(
          {
            ...outcomes,
            settlements: outcomes.settlements.map((settlement) =>
              settlement.attempt?.number === 2 ? { ...settlement, attempt: null } : settlement
            )
          },
          now,
          disableAfter
        )
    }))
  ),
  fault(
    "tallies",
    "a summary that counts wrong",
    2,
    store((deliveries) => ({
      summary: (now) =>
        Effect.map(deliveries.summary(now), (summary) => ({
          ...summary,
          states: { ...summary.states, delivered: summary.states.delivered + 1 }
        }))
    }))
  )
]
