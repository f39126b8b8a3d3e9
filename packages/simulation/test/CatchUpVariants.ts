/** Faults in catching up after an outage. */
import type { DeliveryId, Recovery } from "@doorhook/core"
import { Effect } from "effect"
import type { Breakage } from "../src/Simulation.ts"
import type { Scenario } from "../src/world/Scenario.ts"
import { noActions } from "../src/world/Scenario.ts"
import type { Deliveries, Variant } from "./Breakage.ts"
import { answering, engine, fault, hour, ofEngine, store } from "./Breakage.ts"

const minute = 60_000

/** Receivers that are down for a minute or more while events arrive, and recover while most retries are still ahead. */
const outages =
  (receivers: Scenario["receivers"], others: Partial<Scenario["actions"]> = {}): NonNullable<Breakage["scenario"]> =>
  (scenario) => ({
    ...scenario,
    engines: 1,
    receivers,
    skew: 0,
    signalsLost: 0,
    faults: { crash: 0, storeError: 0 },
    settings: {
      ...scenario.settings,
      catchUp: true,
      buffer: 8_192,
      concurrency: 64,
      concurrencyPerIntegration: 10,
      disableAfter: 24 * hour,
      retry: {
        call: { delays: [1_000, 3_000, 8_000], lifetime: 45_000 },
        access_log: { delays: [2_000, 10_000, 30_000, minute, 3 * minute, 5 * minute], lifetime: null }
      }
    },
    chaos: 4 * minute,
    calm: 12 * minute,
    outage: { least: 62_000, most: 2 * minute },
    actions: { ...noActions, create: 5, publish: 60, burst: 2, outage: 3, ...others }
  })

const away = outages(["prompt", "prompt"])

/** Gives an engine more early retries than it requested. */
const generous: Breakage = ofEngine((deliveries) => ({
  claim: (request) =>
    deliveries.claim(
      request.earlyOf === undefined
        ? request
        : { ...request, limit: 20, limitPerIntegration: 20, limits: new Map([[request.earlyOf, 20]]) }
    )
}))

/** Makes a failed early attempt count like any other attempt. */
const usingUp: Breakage = ofEngine((deliveries) => {
  const early = new Set<DeliveryId>()
  return {
    claim: (request) =>
      Effect.tap(deliveries.claim(request), (claimed) =>
        Effect.sync(() => {
          for (const { early_due_at, id } of claimed.deliveries) {
            if (early_due_at === null) early.delete(id)
            else early.add(id)
          }
        })
      ),
    settle: (outcomes, now, disableAfter) => {
      const settlements = outcomes.settlements.map((settlement) =>
        settlement.state === "retrying" && early.has(settlement.delivery_id)
          ? { ...settlement, next_attempt_at: now + 2 * hour }
          : settlement
      )
      return deliveries.settle({ ...outcomes, settlements }, now, disableAfter)
    }
  }
})

/** Makes a store skip the oldest retry. */
const newestFirst = (deliveries: Deliveries): Partial<Deliveries> => ({
  claim: Effect.fnUntraced(function* (request) {
    const { earlyOf, now, worker } = request
    if (earlyOf === undefined || request.limit === 0) return yield* deliveries.claim(request)
    const limit = request.limit + 1
    const claimed = yield* deliveries.claim({ ...request, limit, limitPerIntegration: limit, limits: new Map() })
    const [first, ...rest] = claimed.deliveries
    if (first === undefined || rest.length === 0) return claimed
    const releases = [{ delivery_id: first.id, due_at: first.early_due_at ?? now }]
    yield* deliveries.settle({ worker, settlements: [], releases }, now, hour)
    return { ...claimed, deliveries: rest }
  })
})

const longAgo = (integration_id: Recovery["integration_id"]): Recovery => ({
  integration_id,
  failing_since: 0,
  retry_after: null
})

export const catchUpVariants: ReadonlyArray<Variant> = [
  fault("catching-up", "early retries beyond the allowed number", 50, { ...generous, scenario: away }),
  fault("catching-up", "early retries that continue after a failure", 9, {
    ...answering((settled, settlements) => ({
      ...settled,
      recovered: [
        ...settled.recovered,
        ...settlements
          .filter(({ attempt }) => attempt !== null && attempt.outcome !== "acknowledged")
          .map(({ integration_id }) => longAgo(integration_id))
      ]
    })),
    scenario: outages(["flaky", "flaky"])
  }),
  fault("catching-up", "early retries without an outage", 30, {
    ...answering((settled, settlements) => ({
      ...settled,
      recovered: settlements
        .filter(({ attempt }) => attempt?.outcome === "acknowledged")
        .map(({ integration_id }) => longAgo(integration_id))
    })),
    scenario: outages(["flaky", "flaky"], { outage: 0 })
  }),
  fault("catching-up", "a Retry-After ignored during catch-up", 6, {
    ...answering((settled) => ({
      ...settled,
      recovered: settled.recovered.map((recovery) => ({ ...recovery, retry_after: null }))
    })),
    // A single engine remembers the Retry-After of its own requests, so the fault shows only with several engines.
    scenario: (scenario) => ({ ...outages(["throttling", "throttling"])(scenario), engines: 3 })
  }),
  fault("catching-up", "a younger retry sent before an older one", 1, { ...store(newestFirst), scenario: away }),
  fault("catching-up", "an engine that does not catch up", 1, {
    ...answering((settled) => ({ ...settled, recovered: [] })),
    scenario: away
  }),
  fault("catching-up", "early retries although catch-up is off", 1, {
    ...engine(({ settings }) => ({ settings: { ...settings, catchUp: true } })),
    scenario: (scenario) => {
      const world = away(scenario)
      return { ...world, settings: { ...world.settings, catchUp: false } }
    }
  }),
  fault("retry-times", "an early attempt that uses up the schedule", 1, {
    ...usingUp,
    scenario: outages(["flaky", "late"])
  })
]
