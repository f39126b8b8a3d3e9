/**
 * Measures how much receivers that never respond delay other integrations.
 */
import { Publisher } from "@doorhook/core"
import { Effect } from "effect"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { createIntegration, sqliteEngine } from "../harness/Engine.ts"
import { besideAndAlone, roundsOf } from "../harness/Benchmark.ts"
import { startReceiver } from "../harness/Processes.ts"
import { steadyLatencies, watch } from "../harness/RequestWatch.ts"
import { eventIn, temporaryDatabase } from "../harness/Workload.ts"

const name = "fairness"

const healthyBuilding = 1

/** Number of integrations whose receiver reads requests and never responds. */
const deadCount = 20

interface Sizes {
  readonly backlog: number
  readonly events: number
  readonly ackTimeout: number
}

/**
 * Measures the latencies of the healthy integration: alone if `deadPort` is null, otherwise while each dead integration
 * has a backlog.
 */
const healthyLatencies = Effect.fnUntraced(function* (port: number, deadPort: number | null, sizes: Sizes) {
  const { answered, transport } = watch(({ url }) => url.includes(`:${port}/`))
  const measure = Effect.gen(function* () {
    yield* createIntegration(healthyBuilding, port)
    const publisher = yield* Publisher
    if (deadPort !== null) {
      for (let building = 2; building <= 1 + deadCount; building++) {
        yield* createIntegration(building, deadPort)
        yield* publisher.publish(Array.from({ length: sizes.backlog }, (_, n) => eventIn(building, n)))
      }
    }
    return yield* steadyLatencies(healthyBuilding, sizes.events, { answered })
  })
  const settings = { ackTimeout: sizes.ackTimeout }
  return yield* Effect.provide(measure, sqliteEngine(yield* temporaryDatabase, settings, transport))
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const sizes = quick
    ? { backlog: 50, events: 50, ackTimeout: 500 }
    : { backlog: 1_000, events: 1_000, ackTimeout: 5_000 }
  const healthy = yield* startReceiver()
  const dead = yield* startReceiver(Infinity)
  // The first run warms up the compiler.
  yield* healthyLatencies(healthy, null, { ...sizes, events: sizes.events / 5 })
  const alone = healthyLatencies(healthy, null, sizes)
  const beside = healthyLatencies(healthy, dead, sizes)
  return [{ line: name, ...(yield* besideAndAlone(roundsOf(options, 3), 0.95, "dead receivers", alone, beside)) }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary: "latency of a healthy integration while 20 others time out, against its latency alone",
  compares:
    "On SQLite, an integration receives 50 access logs a second for 20 seconds, and its receiver responds immediately. Latency is measured from publish to acknowledgement. 20 other integrations have 1,000 deliveries each. The receiver of these 20 reads every request and never responds, so each request to it stays open for five seconds.",
  leavesOut: "Slow receivers, more dead receivers than requests that can be open, and PostgreSQL.",
  lines: {
    [name]: {
      ours: "p95 from publish to acknowledgement, with 20 dead receivers",
      peer: "p95 without dead receivers",
      unit: "ms",
      goal: { is: "at most", ratio: 1.2 }
    }
  },
  run
}
