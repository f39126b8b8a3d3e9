/**
 * Measures the time from publishing a doorbell call until its request is sent, when idle and with a large backlog.
 */
import { bodyOf, DeliveryStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { bareRequests } from "../harness/BareLoop.ts"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { createIntegrations, sqliteEngine } from "../harness/Engine.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { startReceiver } from "../harness/Processes.ts"
import { watch } from "../harness/RequestWatch.ts"
import { quantile, rounded } from "../harness/Statistics.ts"
import { callOf, eventOf, temporaryDatabase } from "../harness/Workload.ts"

const name = "latency-call"

/** Pause between calls, in milliseconds. */
const pause = 20

/** Response time of receivers in milliseconds, long enough for the backlog to outlast the calls. */
const latency = 50

const publishBatch = 1_000

/**
 * Publishes calls at an even pace, with a backlog of access logs. Returns the times from publish to request and to
 * acknowledgement.
 */
const publishCalls = Effect.fnUntraced(function* (port: number, calls: number, waiting: number) {
  const { answered, left, transport } = watch(({ body }) => body.includes('"call"'))
  const measure = Effect.gen(function* () {
    yield* createIntegrations(port)
    const publisher = yield* Publisher
    for (let n = 0; n < waiting; n += publishBatch) {
      yield* publisher.publish(Array.from({ length: publishBatch }, (_, index) => eventOf(n + index)))
    }
    const toLeave: Array<number> = []
    const publishedAt: Array<number> = []
    for (let n = 0; n < calls; n++) {
      const began = performance.now()
      yield* publisher.publish([callOf(n)])
      yield* Effect.sleep(pause)
      while (!left.has(n)) yield* Effect.sleep(1)
      toLeave.push((left.get(n) ?? Number.NaN) - began)
      publishedAt.push(began)
    }
    while (answered.size < calls) yield* Effect.sleep(1)
    const toAnswer = publishedAt.map((at, n) => (answered.get(n) ?? Number.NaN) - at)
    const { states } = yield* Effect.flatMap(DeliveryStore, (store) => store.summary(0))
    return { toLeave, toAnswer, backlog: states.pending + states.delivering }
  })
  return yield* Effect.provide(measure, sqliteEngine(yield* temporaryDatabase, {}, transport))
}, Effect.scoped)

/**
 * Writes rows to a SQLite file and syncs each, with a pause before each. Returns the latencies in milliseconds.
 *
 * A call is stored durably before it is sent, so these latencies show how much of its latency comes from the disk.
 */
const durableWrites = async (file: string, count: number, pause: number): Promise<ReadonlyArray<number>> => {
  const db = new DatabaseSync(file)
  db.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE outbox (id INTEGER PRIMARY KEY, body TEXT)"
  )
  const insert = db.prepare("INSERT INTO outbox (body) VALUES (?)")
  const latencies: Array<number> = []
  for (let n = 0; n < count; n++) {
    await sleep(pause)
    const began = performance.now()
    insert.run(bodyOf(eventOf(n)))
    latencies.push(performance.now() - began)
  }
  db.close()
  return latencies
}

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const rounds = roundsOf(options, 3)
  const calls = quick ? 30 : 500
  const waiting = quick ? 2_000 : 100_000
  const slow = yield* startReceiver(latency)
  const fast = yield* startReceiver()
  const idle: Array<number> = []
  const busy: Array<number> = []
  const backlogs: Array<number> = []
  const acknowledged: Array<number> = []
  const least: Array<number> = []
  // The first run warms up the compiler.
  yield* publishCalls(fast, calls, 0)
  for (let round = 0; round < rounds; round++) {
    const alone = yield* publishCalls(slow, calls, 0)
    const behind = yield* publishCalls(slow, calls, waiting)
    const writes = yield* Effect.scoped(
      Effect.flatMap(temporaryDatabase, (file) => Effect.promise(() => durableWrites(file, calls, pause)))
    )
    const requests = yield* Effect.promise(() => bareRequests(fast, calls, pause))
    const prompt = yield* publishCalls(fast, calls, 0)
    idle.push(quantile(alone.toLeave, 0.99))
    busy.push(quantile(behind.toLeave, 0.99))
    backlogs.push(behind.backlog)
    acknowledged.push(quantile(prompt.toAnswer, 0.5))
    // Each call needs at least a write to disk, followed by a request.
    least.push(quantile(requests, 0.5) + quantile(writes, 0.5))
    process.stderr.write(
      `round ${round + 1}: p99 to request ${rounded(idle.at(-1) ?? 0)} ms idle, ${rounded(busy.at(-1) ?? 0)} ms with a backlog (${behind.backlog} left at the end); p50 to acknowledgement ${rounded(acknowledged.at(-1) ?? 0)} ms, bare request and sync ${rounded(least.at(-1) ?? 0)} ms\n`
    )
  }
  return [
    { line: name, ours: busy, peer: idle, more: { backlog_at_the_end: Math.min(...backlogs) } },
    { line: `${name}/idle`, ours: acknowledged, peer: least }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 4,
  summary: "time between publishing a call and sending its request, with and without a backlog of 100,000 access logs",
  compares:
    "500 calls are published one by one on SQLite, 20 ms apart. Each call is on disk before it is sent. The first line compares the time from publish to request with a backlog and when idle. The backlog is 100,000 access logs for the same receivers, which take 50 ms to respond. The second line compares the time from publish to acknowledgement, when idle, with that of a bare request plus one row synced to the same disk.",
  leavesOut: "Bursts of calls, PostgreSQL, and receivers that are slow or down (see `fairness`).",
  notes:
    "With a backlog, receivers' answers arrive in bursts, and the process handles a whole burst before it sees that a call is on disk. A call's transaction has no other rows: with up to 250 of them, calls waited 4.5 ms (90th percentile) for the start of their sync, now 1.1 ms.",
  lines: {
    [name]: {
      ours: "p99 from publish to request, with the backlog",
      peer: "p99 without the backlog",
      unit: "ms",
      goal: { is: "at most", ratio: 1.5 }
    },
    [`${name}/idle`]: {
      ours: "p50 from publish to acknowledgement, idle",
      peer: "p50 of one row synced to disk plus p50 of a bare request",
      unit: "ms",
      goal: { is: "at most", ratio: 1.3 }
    }
  },
  run
}
