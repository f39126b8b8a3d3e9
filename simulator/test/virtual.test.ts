/** Runs on virtual time measure outages, repeat exactly, and detect broken rules. */
import type { Settlement, TransportRequest } from "@doorhook/core"
import { callEndType, declareTypes, defaultDeliverySettings, policiesOf, StoreError, Transport } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { beginningOf, plan } from "../src/plan/Plan.ts"
import { readReceiver } from "../src/receivers/ReceiverText.ts"
import type { RuleName } from "../src/results/Ledger.ts"
import { rules } from "../src/results/Ledger.ts"
import type { Measurements } from "../src/results/Measurements.ts"
import { atPlannedTimes } from "../src/run/Load.ts"
import { plannedIntegrations, premisesOf } from "../src/run/Integrations.ts"
import type { VirtualOptions } from "../src/virtual/VirtualRun.ts"
import { virtualRun, VirtualStopped, VirtualWorld } from "../src/virtual/VirtualRun.ts"
import type { EnginePorts } from "../src/run/EngineLayer.ts"
import { scenarioOf, startAt } from "./support.ts"

const hour = 3_600_000
const scenario = scenarioOf("residential-200")
const start = startAt("2026-03-03T06:00")

type Sending = Transport["Service"]["send"]

const ignore = (): void => undefined

interface Wishes {
  readonly hours?: number
  /** Time for open deliveries after the plan, in hours. */
  readonly drain?: number
  readonly receivers?: ReadonlyArray<string>
  readonly seed?: number
  readonly rateScale?: number
  readonly options?: Partial<VirtualOptions>
  /** Gets the world before the first event. */
  readonly made?: (world: VirtualWorld) => void
}

/** Runs some hours of a Tuesday, from 6:00. */
const runOf = ({ drain = 96, hours = 12, made, options = {}, rateScale = 1, receivers = [], seed = 1 }: Wishes) =>
  Effect.gen(function* () {
    const beginning = beginningOf(scenario, start)
    const world = new VirtualWorld({
      seed,
      beginning,
      integrations: plannedIntegrations(premisesOf(scenario), 5),
      receivers: receivers.map((text) => Result.getOrThrow(readReceiver(text))),
      retry: defaultDeliverySettings.retry,
      ackTimeout: 5_000,
      workers: 1,
      crashEvery: null,
      deleteEvery: null,
      ...options
    })
    made?.(world)
    const hasCallEnds = options.types?.has(callEndType) === true
    const arrivals = atPlannedTimes(plan(scenario, { seed, start, duration: hours * hour, rateScale, hasCallEnds }))
    yield* virtualRun(arrivals, world, { end: beginning + hours * hour, drain: drain * hour })
    return world
  })

const rulesBroken = (world: VirtualWorld): ReadonlyArray<RuleName> => [
  ...new Set(world.ledger.violations.map(({ rule }) => rule))
]

describe("a run on virtual time", () => {
  it.live("takes longer with one process than with three, if each delivery takes its processor time", () =>
    Effect.gen(function* () {
      const waits = yield* Effect.forEach([1, 3], (workers) =>
        Effect.map(runOf({ hours: 1, rateScale: 60, options: { workers, cpu: 2_000 } }), ({ ledger, measurements }) => {
          assert.deepStrictEqual(ledger.violations, [])
          return measurements.latency.delivery.quantile(0.9)
        })
      )
      assert.isAbove(waits[0] ?? 0, 2 * (waits[1] ?? Infinity))
    })
  )

  it.live("delivers everything to prompt receivers, and repeats exactly with the same seed", () =>
    Effect.gen(function* () {
      const [first, again, other] = yield* Effect.all([runOf({}), runOf({}), runOf({ seed: 2 })])
      assert.deepStrictEqual(first.ledger.violations, [])
      const { accepted, delivered, deliveries, planned } = first.measurements.totals
      assert.isAbove(planned, 150)
      assert.deepStrictEqual([accepted, delivered], [planned, deliveries])
      assert.isAbove(deliveries, planned)
      const all = ({ latency, series, totals }: Measurements) => [totals, latency.ack.toText(), series.intervals]
      assert.deepStrictEqual(all(again.measurements), all(first.measurements))
      assert.notDeepEqual(all(other.measurements), all(first.measurements))
    })
  )

  it.live("accounts for the calls that their ends cancel, in several processes that crash", () =>
    Effect.gen(function* () {
      const types = Result.getOrThrow(declareTypes({}, { hasCallEnd: true }))
      const retry = { ...defaultDeliverySettings.retry, ...policiesOf(types) }
      const world = yield* runOf({
        rateScale: 5,
        receivers: ["1-3=down:09:00-15:00", "4-6=slow:p50=2s,p99=9s"],
        options: { types, retry, workers: 3, crashEvery: hour / 2 }
      })
      assert.deepStrictEqual(world.ledger.violations, [])
      assert.isAbove(world.crashes, 5)
      const { call_ended, cancelled, delivered, deliveries, expired } = world.measurements.totals
      assert.isAbove(call_ended, 20)
      assert.strictEqual(call_ended, cancelled)
      assert.strictEqual(delivered + expired + cancelled, deliveries)
    })
  )

  it.live("measures the size and the end of an outage's backlog, and what expired", () =>
    Effect.gen(function* () {
      const world = yield* runOf({ receivers: ["1=down:09:00-15:00"] })
      assert.deepStrictEqual(world.ledger.violations, [])
      const { integrations, totals } = world.measurements
      const [[, down] = assert.fail("there are integrations")] = [...integrations]
      assert.isAbove(down.most_open, 30)
      // The run begins at 6:00. The backlog is largest at about 15:00. Catch-up then empties it within half an hour.
      assert.approximately(down.most_open_at, 9 * hour, hour)
      assert.isAbove(down.empty_at ?? 0, 9 * hour)
      assert.isBelow(down.empty_at ?? 0, 9.5 * hour)
      assert.isAbove(totals.expired, 0)
      assert.strictEqual(totals.expired + totals.delivered, totals.deliveries)
    })
  )

  it.live("reports the peak of a shared endpoint after an outage of two hours as the endpoint counts it", () =>
    Effect.gen(function* () {
      const [workers, queue] = [2, 5]
      const sent: Array<{ readonly at: number; readonly ended: number; readonly isServed: boolean }> = []
      const now = { wall: (): number => 0 }
      const breakage = ({ transport, ...ports }: EnginePorts): EnginePorts => {
        const send: Sending = (request, done) => {
          const at = now.wall()
          return transport.send(request, (result) => {
            sent.push({ at, ended: now.wall(), isServed: result._tag === "Answered" && result.status === 200 })
            done(result)
          })
        }
        return { ...ports, transport: Transport.make({ send }) }
      }
      const { ledger, measurements } = yield* runOf({
        hours: 6,
        rateScale: 5,
        receivers: [`shared,workers:${workers},queue:${queue}`, "shared,slow:p50=1s,p99=2s", "shared,down:08:00-10:00"],
        // Six integrations of the building, so that each event meets itself at the endpoint.
        options: { breakage, integrations: plannedIntegrations(premisesOf(scenario), 0, 6) },
        made: (world) => {
          now.wall = () => world.time.wall
        }
      })
      const beginning = beginningOf(scenario, start)
      const perSecond = new Map<number, number>()
      for (const { at } of sent) {
        const second = Math.floor((at - beginning) / 1_000)
        perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
      }
      const peakOf = (from: number, to: number) =>
        Math.max(...[...perSecond].flatMap(([second, count]) => (second >= from && second < to ? [count] : [])))
      assert.strictEqual(measurements.totals.requests, sent.length)
      assert.strictEqual(measurements.totals.peak_second, Math.max(...perSecond.values()))
      // The run begins at 6:00.
      assert.isAbove(peakOf(2 * 3_600, 6 * 3_600), peakOf(0, 2 * 3_600))
      const served = sent.filter(({ isServed }) => isServed)
      const mostServed = Math.max(
        ...served.map(({ at }) => served.filter((other) => other.at <= at && other.ended > at).length)
      )
      assert.strictEqual(mostServed, workers + queue)
      assert.deepStrictEqual([ledger.violations, ledger.open], [[], 0])
    })
  )

  it.live("loses nothing with dying processes, deleted integrations, and receivers that fail in every way", () =>
    Effect.gen(function* () {
      const receivers = [
        "flaky:0.1",
        "late:0.05",
        "duplicate-ack-lost:0.1",
        "1=slow:p50=1s,p99=9s",
        "2=rate-limited:1/m,retry-after=20s",
        "3=gone:after=4h"
      ]
      const options = { crashEvery: hour / 2, deleteEvery: 2 * hour, workers: 2 }
      for (const seed of [1, 2]) {
        const world = yield* runOf({ seed, receivers, options, rateScale: 3 })
        assert.deepStrictEqual(world.ledger.violations, [])
        assert.isTrue(world.isSettled)
        assert.isAbove(world.crashes, 10)
        assert.isAbove(world.deleted, 4)
        assert.isAbove(world.measurements.totals.duplicates, 10)
        const { outcomes, totals } = world.measurements
        assert.strictEqual(totals.accepted, totals.planned)
        const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
        const inSeries = world.measurements.series.intervals.reduce((sum, { requests }) => sum + requests, 0)
        assert.deepStrictEqual([ended, inSeries], [totals.requests, totals.requests])
        assert.isAtLeast(outcomes.cut_off ?? 0, world.crashes)
      }
    })
  )

  it.live.each([1, 3])(
    "does not count a delivery as late that waits behind hanging requests, with %i processes",
    (workers) =>
      Effect.gen(function* () {
        const receivers = ["1=slow:p50=60s,p99=61s"]
        const { ledger } = yield* runOf({ drain: 0, hours: 2, rateScale: 15, receivers, options: { workers } })
        assert.deepStrictEqual(ledger.violations, [])
      })
  )

  it.live("signals to all processes that an answer to one of them disabled an integration", () =>
    Effect.gen(function* () {
      const receivers = ["1=flaky:0.5", "1=slow:p50=4s,p99=5s", "1=gone:after=2h"]
      const world = yield* runOf({ drain: 0, hours: 3, rateScale: 60, receivers, options: { workers: 3 } })
      assert.deepStrictEqual(world.ledger.violations, [])
      assert.isAbove(world.measurements.totals.cancelled, 50)
    })
  )

  it.live("sends no call after its lifetime, and detects an engine that does", () =>
    Effect.gen(function* () {
      const breakage = (ports: EnginePorts): EnginePorts => ({
        ...ports,
        settings: { ...ports.settings, retry: { ...retry, call: { delays: [60_000], lifetime: null } } }
      })
      const { ledger } = yield* runOf({ hours: 6, receivers: ["flaky:0.3"], options: { breakage } })
      assert.isTrue(
        ledger.violations.some(({ rule, what }) => rule === "retry-times" && / its event was \d+ ms old/.test(what))
      )
    })
  )

  it.live("does not count deliveries in progress at the end as lost", () =>
    Effect.gen(function* () {
      const receivers = ["slow:p50=4s,p99=4900ms"]
      const world = yield* runOf({ drain: 0, hours: 2, rateScale: 200, receivers })
      assert.isAbove(world.ledger.moving, 0)
      assert.deepStrictEqual(world.ledger.violations, [])
    })
  )

  it.live("kills one process when a crash is due, even if several begin to send in the same millisecond", () =>
    Effect.gen(function* () {
      const all: Array<Transport["Service"]> = []
      // Every request is also sent by all other processes.
      const breakage = ({ transport, ...ports }: EnginePorts): EnginePorts => {
        all.push(transport)
        const send: Sending = (request, done) => {
          for (const other of all) if (other !== transport) other.send(request, ignore)
          return transport.send(request, done)
        }
        return { ...ports, transport: Transport.make({ send }) }
      }
      const world = yield* runOf({ drain: 0.4, hours: 1.5, options: { workers: 2, crashEvery: hour, breakage } })
      assert.strictEqual(world.crashes, 1)
    })
  )

  it.live("waits no longer than `drain` at the end, even for less than an hour", () =>
    Effect.gen(function* () {
      const world = yield* runOf({ drain: 1 / 6, hours: 4, receivers: ["down"] })
      assert.isAbove(world.ledger.open, 0)
      assert.strictEqual(world.time.wall, beginningOf(scenario, start) + 4 * hour + hour / 6)
    })
  )

  it.live("keeps its memory bounded by forgetting what has ended", () =>
    Effect.gen(function* () {
      const world = yield* runOf({ hours: 48, rateScale: 2, receivers: ["flaky:0.05"] })
      assert.strictEqual(world.ledger.open, 0)
      assert.isAbove(world.ledger.purged, world.measurements.totals.deliveries / 2)
      assert.isBelow(world.measurements.series.intervals.length, 200)
    })
  )
})

/** Makes the store of an engine refuse the first publications. */
const refusing =
  (times: number, failure: Effect.Effect<never, StoreError>) =>
  ({ stores, ...ports }: EnginePorts): EnginePorts => {
    const { deliveries } = stores
    let left = times
    const enqueue: typeof deliveries.enqueue = (records, keys) =>
      Effect.suspend(() => (left-- > 0 ? failure : deliveries.enqueue(records, keys)))
    return { ...ports, stores: { ...stores, deliveries: { ...deliveries, enqueue } } }
  }

describe("a store that fails without a simulated fault", () => {
  const full = new StoreError({ operation: "DeliveryStore.enqueue", cause: new Error("the disk is full") })

  it.live("ends the run with its last failure and what to do, if it keeps failing", () =>
    Effect.gen(function* () {
      const stopped = yield* Effect.flip(runOf({ options: { breakage: refusing(Infinity, Effect.fail(full)) } }))
      assert.instanceOf(stopped, VirtualStopped)
      assert.strictEqual(stopped.cause, full)
      assert.match(
        stopped.message,
        /^The run stopped at 2026-03-03T\d\d:.*: it could not publish an event\. .*the disk is full.* report it/
      )
    })
  )

  it.live("is tried again while the failure may be temporary", () =>
    Effect.gen(function* () {
      const { ledger, measurements } = yield* runOf({ options: { breakage: refusing(9, Effect.fail(full)) } })
      assert.deepStrictEqual(ledger.violations, [])
      assert.deepInclude(measurements.totals, { accepted: measurements.totals.planned, failed: 0 })
    })
  )

  it.live("ends the run immediately if retrying can't help", () =>
    Effect.gen(function* () {
      const defect = Effect.die(new TypeError("not a function"))
      const stopped = yield* Effect.flip(runOf({ options: { breakage: refusing(1, defect) } }))
      assert.instanceOf(stopped, VirtualStopped)
      assert.include(stopped.message, "publish an event. not a function.")
    })
  )
})

describe("an engine that does not start", () => {
  it.live("ends the run with the reason", () =>
    Effect.gen(function* () {
      const breakage = (ports: EnginePorts): EnginePorts => ({
        ...ports,
        settings: { ...ports.settings, ackTimeout: 2 * hour }
      })
      const stopped = yield* Effect.flip(runOf({ options: { breakage } }))
      assert.instanceOf(stopped, VirtualStopped)
      assert.match(stopped.message, /could not start the engine\. \/ackTimeout: must be at most 1h, not 2h/)
    })
  )
})

/** Changes how a transport sends. */
const sending =
  (change: (send: Sending) => Sending) =>
  (ports: EnginePorts): EnginePorts => ({ ...ports, transport: Transport.make({ send: change(ports.transport.send) }) })

const { retry } = defaultDeliverySettings

/** Engines that each break one rule. */
const broken: Readonly<Record<RuleName, (ports: EnginePorts) => EnginePorts>> = {
  "nothing-lost": ({ stores, ...ports }) => ({
    ...ports,
    stores: {
      ...stores,
      deliveries: {
        ...stores.deliveries,
        enqueue: (records, keys) =>
          stores.deliveries.enqueue(
            records.map((record, at) => (at === 0 ? { ...record, deliveries: [] } : record)),
            keys
          )
      }
    }
  }),
  "retry-times": (ports) => ({
    ...ports,
    settings: { ...ports.settings, retry: { ...retry, access_log: { delays: [3_000, 30_000], lifetime: null } } }
  }),
  "nothing-after-end": sending((send) => {
    const before: Array<TransportRequest> = []
    return (request, done) => {
      if (before.push(request) > 20) before.splice(0, 1).forEach((old) => send(old, ignore))
      return send(request, done)
    }
  }),
  "delivered-is-received": sending(
    (send) => (request, done) =>
      send(request, (report) =>
        done(report._tag === "Answered" && report.status === 500 ? { ...report, status: 200 } : report)
      )
  )
}

describe("the ledger", () => {
  it.live("counts each rule separately, beyond the violations that it describes", () =>
    Effect.gen(function* () {
      const { ledger } = yield* runOf({ hours: 0 })
      for (let nth = 0; nth < 30; nth++) ledger.report("retry-times", nth, "late")
      for (let nth = 0; nth < 25; nth++) ledger.report("nothing-lost", nth, "gone")
      const count = (rule: RuleName) => ledger.brokenIn(rule)
      assert.deepStrictEqual([count("retry-times"), count("nothing-lost"), count("nothing-after-end")], [30, 25, 0])
      assert.deepStrictEqual([ledger.broken, ledger.violations.length], [55, 20])
    })
  )

  it.live("detects deliveries that wait for no retry at the end of the wait", () =>
    Effect.gen(function* () {
      const breakage = ({ stores, ...ports }: EnginePorts): EnginePorts => ({
        ...ports,
        stores: {
          ...stores,
          deliveries: { ...stores.deliveries, claim: () => Effect.succeed({ deliveries: [], next_due: null }) }
        }
      })
      const { ledger } = yield* runOf({ drain: 1, hours: 3, receivers: ["flaky:0.3"], options: { breakage } })
      assert.isAbove(ledger.brokenIn("nothing-lost"), 0)
      assert.strictEqual(ledger.brokenIn("nothing-lost"), ledger.open)
    })
  )

  const settling =
    (change: (settlement: Settlement) => Settlement) =>
    ({ stores, ...ports }: EnginePorts): EnginePorts => {
      const { deliveries } = stores
      const settle: typeof deliveries.settle = (outcomes, now, disableAfter) =>
        deliveries.settle({ ...outcomes, settlements: outcomes.settlements.map(change) }, now, disableAfter)
      return { ...ports, stores: { ...stores, deliveries: { ...deliveries, settle } } }
    }

  /** Ends failed deliveries although retries are left. */
  const endingAs = (state: Settlement["state"]) =>
    settling((settlement) =>
      settlement.state === "retrying" ? { ...settlement, state, next_attempt_at: null } : settlement
    )

  it.live.each([
    {
      name: "an access log after three attempts of eleven",
      breakage: ({ settings, ...ports }: EnginePorts): EnginePorts => ({
        ...ports,
        settings: { ...settings, retry: { ...retry, access_log: { delays: [5_000, 30_000], lifetime: null } } }
      })
    },
    { name: "what fails as exhausted", breakage: endingAs("exhausted") },
    { name: "what fails as expired", breakage: endingAs("expired") },
    { name: "what fails as cancelled", breakage: endingAs("cancelled") }
  ])("detects an engine that gives up early: $name", ({ breakage }) =>
    Effect.gen(function* () {
      const world = yield* runOf({ hours: 2, drain: 1, receivers: ["down"], options: { breakage } })
      assert.deepStrictEqual(rulesBroken(world), ["retry-times"])
    })
  )

  it("has a broken engine for each of its rules", () => {
    assert.sameMembers(Object.keys(broken), Object.keys(rules))
  })

  for (const [rule, breakage] of Object.entries(broken)) {
    it.live(`detects an engine that breaks ${rule}`, () =>
      Effect.gen(function* () {
        const world = yield* runOf({ hours: 6, receivers: ["flaky:0.3"], options: { breakage } })
        assert.isTrue(
          rulesBroken(world).some((found) => found === rule),
          rulesBroken(world).join()
        )
      })
    )
  }
})
