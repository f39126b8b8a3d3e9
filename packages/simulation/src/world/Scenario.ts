/**
 * Draws a scenario from a seed: places, receivers, settings of the service, actions, and rates of faults.
 */
import type { DeliverySettingsShape, Scope } from "@doorhook/core"
import { BuildingId, callEndType, TenantId, UserId, defaultDeliverySettings, settleBudget } from "@doorhook/core"
import type { Substream } from "@doorhook/simulator/testing"
import { Rng, child } from "@doorhook/simulator/testing"
import { Record } from "effect"

/** Draws a whole number from `low` to `high`, both included. */
export const between = (rng: Rng, low: number, high: number): number => low + rng.below(high - low + 1)

/** Draws whether something with this probability happens. */
export const happens = (rng: Rng, probability: number): boolean => rng.uniform() < probability

/** Draws one of the items; undefined if there are none. */
export const oneOf = <A>(rng: Rng, items: ReadonlyArray<A>): A | undefined => items[rng.below(items.length)]

/** Draws one item of a non-empty list. */
export const pick = <A>(rng: Rng, items: readonly [A, ...ReadonlyArray<A>]): A => oneOf(rng, items) ?? items[0]

const second = 1_000

/** How far an engine's clock may be ahead or behind, in milliseconds. */
export const maxSkew = 300 * second

/** Maximum clock skew of an engine over a store without a clock of its own, in milliseconds. */
const maxOwnedSkew = 2 * second

/** Maximum number of integrations that are created. */
const maxIntegrations = 6

/** Behaviours of a receiver while it is up. */
const receiverKinds = ["prompt", "slow", "flaky", "late", "throttling", "accepting", "leaving", "dead"] as const
export type ReceiverKind = (typeof receiverKinds)[number]

export interface Place {
  readonly scope: Scope
  /** User who has the right to the place at the start. */
  readonly user: UserId
}

/** Probabilities of faults at store calls. */
interface FaultRates {
  /** Probability that the process dies. */
  readonly crash: number
  /** Probability that a call fails while the store is down. */
  readonly storeError: number
}

/** Quality of the connection over which processes learn of changes. Times in milliseconds. */
export interface SignalQuality {
  /** Longest delay of a signal. */
  readonly delay: number
  /** Probability that a signal is lost because the connection has broken. */
  readonly lost: number
  /** Longest time until a broken connection is restored. */
  readonly reconnect: number
}

/** Range of a duration, in milliseconds. */
interface Span {
  readonly least: number
  readonly most: number
}

export interface Scenario {
  readonly buildings: ReadonlyArray<{ readonly id: BuildingId; readonly tenants: ReadonlyArray<TenantId> }>
  readonly places: ReadonlyArray<Place>
  readonly receivers: readonly [ReceiverKind, ...ReadonlyArray<ReceiverKind>]
  readonly engines: number
  readonly settings: Partial<DeliverySettingsShape>
  readonly faults: FaultRates
  readonly changeSignals: SignalQuality
  /** Probability that a wake signal is lost. If 0, the checks don't accept delays until the next poll. */
  readonly signalsLost: number
  /** Probability that an ended process is replaced while others run. */
  readonly replaced: number
  /** Maximum clock skew of an engine, in milliseconds. */
  readonly skew: number
  /** Whether the store has a clock of its own, which engines measure and follow. */
  readonly hasStoreClock: boolean
  /** Whether there is the resource type `call_end`, and calls end. */
  readonly hasCallEnds: boolean
  /** Maximum latency of a store call before it takes effect, and again before its answer, in milliseconds. */
  readonly storeLatency: number
  /** Maximum latency of the directory without a fault, in milliseconds. */
  readonly directoryLatency: number
  /** Number of ready fibers from which the next one is drawn. */
  readonly interleaving: number
  /** Duration of the faults, in milliseconds. */
  readonly chaos: number
  /** Time after the faults until everything is settled, in milliseconds. */
  readonly calm: number
  /** Duration of a long outage of a receiver. */
  readonly outage: Span
  /** Delay before an answered request is repeated. */
  readonly repeat: Span
  /** Pause between two reads of a feed. */
  readonly reading: Span
  /** Retry schedules that the operator sets for single integrations. */
  readonly overrides: ReadonlyArray<ReadonlyArray<number>>
  /** Number of actions of each kind during the chaos. */
  readonly actions: { readonly [Kind in ActionKind]: number }
}

/** A world without actions. */
export const noActions = {
  publish: 0,
  burst: 0,
  keyed: 0,
  create: 0,
  change: 0,
  remove: 0,
  rotate: 0,
  override: 0,
  resend: 0,
  recover: 0,
  probe: 0,
  follow: 0,
  outage: 0,
  right: 0,
  directoryDown: 0,
  storeDown: 0,
  vanish: 0,
  kill: 0,
  restart: 0,
  clock: 0,
  ownClock: 0
}
export type ActionKind = keyof typeof noActions
export const actionKinds = Record.keys(noActions)

/** The end of a call is retried like the call. */
const defaultRetry = { ...defaultDeliverySettings.retry, [callEndType]: defaultDeliverySettings.retry.call }

const schedules: readonly [ReadonlyArray<number>, ...ReadonlyArray<ReadonlyArray<number>>] = [
  [1 * second, 3 * second, 10 * second, 30 * second],
  [500, 2 * second, 5 * second, 5 * second, 5 * second],
  [5 * second, 20 * second, 60 * second]
]

/** Returns the total of a schedule with maximum jitter. */
const lengthOf = (delays: ReadonlyArray<number>): number =>
  Math.ceil(1.2 * delays.reduce((sum, delay) => sum + delay, 0))

/** Returns the same scenario with one process at a time, which has the only clock. */
export const ownedBy = (scenario: Scenario): Scenario => ({
  ...scenario,
  engines: 1,
  replaced: 1,
  hasStoreClock: false,
  skew: Math.min(scenario.skew, maxOwnedSkew),
  actions: { ...scenario.actions, ownClock: 0, vanish: 0 }
})

export const scenarioOf = (seed: Substream): Scenario => {
  const scenario = shortOf(seed)
  const rng = new Rng(child(seed, "outages"))
  if (happens(rng, 0.25)) return withOutages(scenario, rng)
  return happens(new Rng(child(seed, "crowds")), 0.2) ? crowded(scenario) : scenario
}

/**
 * Gives processes more deliveries than fit in their memory, and few signals, so that they hold deliveries of
 * integrations that changed, and leave others in the store.
 */
const crowded = (scenario: Scenario): Scenario => {
  const { actions, receivers, settings } = scenario
  const concurrencyPerIntegration = 1
  return {
    ...scenario,
    engines: 2,
    receivers: ["prompt", "prompt", ...receivers],
    settings: {
      ...settings,
      concurrency: 4,
      concurrencyPerIntegration,
      buffer: 2 * concurrencyPerIntegration * maxIntegrations
    },
    changeSignals: { delay: 200, lost: 0.8, reconnect: 3 * second },
    actions: {
      ...actions,
      publish: 2 * actions.publish,
      burst: actions.burst + 3,
      create: maxIntegrations,
      change: actions.change + 6,
      remove: actions.remove + 3,
      override: actions.override + 4
    }
  }
}

/**
 * Retry schedule for worlds with long outages. When a receiver works again, most retries of the schedule are still to
 * come.
 */
const longSchedule: ReadonlyArray<number> = [2, 10, 30, 60, 180, 300].map((delay) => delay * second)

/** Makes a world longer. Its receivers are down for more than a minute and then catch up. */
const withOutages = (scenario: Scenario, rng: Rng): Scenario => {
  const { actions, faults, settings } = scenario
  return {
    ...scenario,
    receivers: ["prompt", pick(rng, ["prompt", "throttling"]), pick(rng, ["prompt", "flaky", "late"])],
    settings: {
      ...settings,
      catchUp: happens(rng, 0.9),
      concurrency: pick(rng, [4, 16, 64]),
      concurrencyPerIntegration: pick(rng, [2, 5, 10]),
      buffer: 8_192,
      retry: { ...defaultRetry, access_log: { delays: longSchedule, lifetime: null } },
      disableAfter: pick(rng, [100 * second, defaultDeliverySettings.disableAfter])
    },
    // Keeps the number of crashes the same as in a shorter world.
    faults: { ...faults, crash: faults.crash / 5 },
    chaos: 200 * second,
    calm: lengthOf(longSchedule) + 80 * second,
    outage: { least: 62 * second, most: 120 * second },
    actions: { ...actions, publish: 2 * actions.publish, burst: actions.burst + 1, outage: between(rng, 2, 4) }
  }
}

const shortOf = (seed: Substream): Scenario => {
  const rng = new Rng(child(seed, "scenario"))
  const buildings = Array.from({ length: between(rng, 1, 3) }, (_, at) => ({
    id: BuildingId.make(at + 1),
    tenants: Array.from({ length: between(rng, 1, 2) }, (_, nth) => TenantId.make(100 * (at + 1) + nth))
  }))
  const places = buildings.flatMap(({ id, tenants }): ReadonlyArray<Place> => [
    { scope: { type: "building", id }, user: UserId.make(`manager ${id}`) },
    ...tenants.map((tenant) => ({
      scope: { type: "tenant" as const, id: tenant },
      user: UserId.make(`tenant ${tenant}`)
    }))
  ])
  const ackTimeout = pick(rng, [1 * second, 5 * second])
  const delays = pick(rng, schedules)
  const concurrency = pick(rng, [2, 4, 16, 64])
  const concurrencyPerIntegration = pick(rng, [1, 2, 5, 10])
  // The buffer holds twice as many deliveries as all integrations may have in flight, so deliveries to dead receivers
  // leave room for others.
  const leastBuffer = Math.max(concurrency, 2 * concurrencyPerIntegration * maxIntegrations)
  const lively = pick(rng, [0.2, 1, 1])
  const often = (most: number): number => Math.round(lively * rng.below(most + 1))
  const storeLatency = pick(rng, [0, 5, 50])
  const trustsSignals = happens(new Rng(child(seed, "signals")), 0.3)
  return {
    buildings,
    places,
    receivers: ["prompt", ...Array.from({ length: between(rng, 1, 4) }, () => pick(rng, receiverKinds))],
    engines: pick(rng, [1, 2, 2, 3]),
    settings: {
      ackTimeout,
      lease: pick(rng, [20 * second, ackTimeout + settleBudget + 1 * second]),
      concurrency,
      concurrencyPerIntegration,
      buffer: pick(rng, [leastBuffer, 4 * leastBuffer, 8_192]),
      pollInterval: pick(rng, [1 * second, 2 * second, 5 * second]),
      retry: { ...defaultRetry, access_log: { delays, lifetime: null } },
      allow: [],
      disableAfter: pick(rng, [8 * second, 25 * second, 60 * second, defaultDeliverySettings.disableAfter]),
      retention: pick(rng, [null, 15 * second, 40 * second]),
      ...(trustsSignals && { pollInterval: 600 * second })
    },
    faults: { crash: pick(rng, [0, 0.002, 0.01]), storeError: pick(rng, [0.3, 0.9]) },
    changeSignals: { delay: pick(rng, [0, 20, 200]), lost: pick(rng, [0, 0, 0.2]), reconnect: 3 * second },
    signalsLost: trustsSignals ? 0 : 0.1,
    replaced: trustsSignals ? 0.5 : 1,
    skew: pick(rng, [0, 2 * second, maxSkew]),
    hasStoreClock: true,
    hasCallEnds: happens(new Rng(child(seed, "call ends")), 0.5),
    storeLatency,
    directoryLatency: pick(rng, [0, 20]),
    interleaving: pick(rng, [1, 4]),
    chaos: pick(rng, [30 * second, 60 * second]),
    // Time for a whole schedule after the last lease has expired.
    calm: lengthOf(delays) + 80 * second,
    outage: { least: 10 * second, most: 50 * second },
    repeat: { least: 0, most: 30 * second },
    reading: { least: 500, most: 12 * second },
    overrides: [[], [700], [2 * second, 2 * second, 2 * second]],
    actions: {
      publish: between(rng, 5, 30),
      burst: often(3),
      keyed: often(6),
      create: between(rng, 2, maxIntegrations),
      change: often(6),
      remove: often(3),
      rotate: often(3),
      override: often(4),
      resend: between(new Rng(child(seed, "resends")), 2, 10),
      recover: often(2),
      probe: often(5),
      follow: often(3),
      outage: often(2),
      right: happens(rng, 0.5) ? often(4) : 0,
      directoryDown: often(2),
      storeDown: often(4),
      vanish: new Rng(child(seed, "vanishing")).below(4),
      kill: often(2),
      restart: often(1),
      clock: happens(rng, 0.3) ? often(2) : 0,
      ownClock: new Rng(child(seed, "clocks")).below(4)
    }
  }
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

export const weekOf = (seed: Substream): Scenario => {
  const scenario = scenarioOf(seed)
  const rng = new Rng(child(seed, "week"))
  return {
    ...scenario,
    engines: between(rng, 1, 2),
    receivers: ["prompt", "prompt", "prompt", pick(rng, ["dead", "accepting", "flaky", "throttling"])],
    hasCallEnds: false,
    settings: { pollInterval: minute, retention: pick(rng, [defaultDeliverySettings.retention, 2 * day]) },
    faults: { ...scenario.faults, crash: 0 },
    chaos: 7 * day,
    calm: lengthOf(defaultDeliverySettings.retry.access_log.delays) + hour,
    outage: { least: 2 * hour, most: 5 * day },
    repeat: { least: 0, most: 40 * hour },
    reading: { least: 10 * minute, most: 8 * hour },
    overrides: [[], [hour, hour], [2 * day]],
    actions: {
      ...scenario.actions,
      publish: between(rng, 40, 80),
      burst: 1,
      keyed: 10,
      create: 5,
      rotate: 4,
      override: 2,
      probe: 10,
      follow: 2,
      outage: 3,
      vanish: 2,
      kill: 3,
      restart: 2,
      clock: 0
    }
  }
}
