/**
 * Measures how delivery scales with the number of workers on one database.
 */
import { DeliveryStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { countDelivered, createIntegrations, postgresPublisher } from "../harness/Engine.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import type { PostgresServer } from "../harness/PostgresServer.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { startProgram, startReceiver } from "../harness/Processes.ts"
import { eventIn } from "../harness/Workload.ts"

const name = "scale-workers"

const program = fileURLToPath(new URL("../work.ts", import.meta.url))

/** Response time of the receiver, in milliseconds. */
const latency = 50

/** Concurrency of each worker. Access logs may use four fifths of it, which allows 320 deliveries a second. */
const concurrency = 20

/**
 * Number of integrations. Together they allow far more concurrent requests than all workers make, so their limits do
 * not affect the rate.
 */
const integrations = 64

const workerCounts = [1, 2, 4] as const

interface Sizes {
  /** Number of deliveries per worker, more than it sends during the measurement. */
  readonly backlog: number
  /** Length of the measurement, in seconds. */
  readonly seconds: number
}

/** Measures the total deliveries per second of several workers, after all of them have started. */
const drained = Effect.fnUntraced(function* (server: PostgresServer, port: number, workers: number, sizes: Sizes) {
  const url = yield* server.newDatabase
  const measure = Effect.gen(function* () {
    yield* createIntegrations(port, integrations)
    const publisher = yield* Publisher
    const total = workers * sizes.backlog
    for (let first = 0; first < total; first += 1_000) {
      const size = Math.min(1_000, total - first)
      yield* publisher.publish(
        Array.from({ length: size }, (_, index) => eventIn(((first + index) % integrations) + 1, first + index))
      )
    }
    yield* Effect.all(
      Array.from({ length: workers }, () => startProgram(program, url, String(concurrency))),
      { concurrency: "unbounded", discard: true }
    )
    yield* Effect.sleep("2 seconds")
    const began = performance.now()
    const before = yield* countDelivered
    yield* Effect.sleep(sizes.seconds * 1_000)
    const after = yield* countDelivered
    const elapsed = performance.now() - began
    const { states } = yield* Effect.flatMap(DeliveryStore, (store) => store.summary(0))
    return { rate: ((after - before) * 1_000) / elapsed, left: states.pending + states.delivering }
  })
  return yield* Effect.provide(measure, postgresPublisher(url))
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const rounds = roundsOf(options, 3)
  const sizes = quick ? { backlog: 4_000, seconds: 2 } : { backlog: 14_000, seconds: 10 }
  const server = yield* startPostgres
  const port = yield* startReceiver(latency)
  const rates = new Map<number, Array<number>>(workerCounts.map((workers) => [workers, []]))
  for (let round = 0; round < rounds; round++) {
    for (const workers of workerCounts) {
      const { left, rate } = yield* drained(server, port, workers, sizes)
      rates.get(workers)?.push(rate)
      process.stderr.write(`round ${round + 1}: ${workers} workers ${Math.round(rate)}/s (${left} left at the end)\n`)
    }
  }
  const linear = (workers: number) => (rates.get(1) ?? []).map((rate) => rate * workers)
  return [
    { line: name, ours: rates.get(4) ?? [], peer: linear(4) },
    { line: `${name}/2`, ours: rates.get(2) ?? [], peer: linear(2) }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary: "deliveries per second of 1, 2 and 4 worker processes on one PostgreSQL server, against linear scaling",
  compares:
    "Worker processes deliver a backlog for 64 integrations from one database. The receiver takes 50 ms to respond. Each worker has a concurrency of 20, of which 16 serve access logs: at most 320 deliveries a second. So the receiver's latency limits the rate, as in practice, and not the two cores. Deliveries are counted for 10 seconds after all workers have started.",
  leavesOut: "Rates at which the processors or the database become the limit, and workers on other machines.",
  lines: {
    [name]: {
      ours: "deliveries/s of 4 workers",
      peer: "four times the rate of 1 worker",
      unit: "1/s",
      goal: { is: "at least", ratio: 0.9 }
    },
    [`${name}/2`]: {
      ours: "deliveries/s of 2 workers",
      peer: "twice the rate of 1 worker",
      unit: "1/s",
      goal: { is: "at least", ratio: 0.9 }
    }
  },
  run
}
