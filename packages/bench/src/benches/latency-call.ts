/**
 * How long a ring takes to leave, when there is nothing else to do and when there is a great deal.
 */
import { DeliveryStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { bareRequests } from "../harness/BareLoop.ts"
import type { Benchmark } from "../harness/Benchmark.ts"
import { durableWrites } from "../harness/DurableReference.ts"
import { sqliteEngine } from "../harness/Engine.ts"
import { createIntegrations } from "../harness/Integrations.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import { startReceiver } from "../harness/ReceiverProcess.ts"
import { quantile, rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"
import { watch } from "../harness/RequestWatch.ts"
import { callOf, eventOf } from "../harness/Workload.ts"

const name = "latency-call"

/** Between one call and the next, in milliseconds. */
const pause = 20

/** What receivers take to answer, in milliseconds: so long that the backlog outlasts the calls. */
const latency = 50

const publishBatch = 1_000

/** Publishes calls at an even pace, behind so many access logs; answers when each left and was acknowledged. */
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
  const disk: Array<number> = []
  const acknowledged: Array<number> = []
  const least: Array<number> = []
  // What comes first pays for the compiler.
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
    disk.push(quantile(writes, 0.99))
    acknowledged.push(quantile(prompt.toAnswer, 0.5))
    // What each of them needs at least: on disk first, then sent.
    least.push(quantile(requests, 0.5) + quantile(writes, 0.5))
    process.stderr.write(
      `round ${round + 1}: p99 to leave ${rounded(idle.at(-1) ?? 0)} ms idle, ${rounded(busy.at(-1) ?? 0)} ms with a backlog (${behind.backlog} left at the end), disk alone ${rounded(disk.at(-1) ?? 0)} ms; p50 to the answer ${rounded(acknowledged.at(-1) ?? 0)} ms, bare request and sync ${rounded(least.at(-1) ?? 0)} ms\n`
    )
  }
  return [
    { line: name, ours: busy, peer: idle, more: { backlog_at_the_end: Math.min(...backlogs) } },
    { line: `${name}/idle`, ours: acknowledged, peer: least },
    { line: `${name}/disk`, ours: idle, peer: disk }
  ]
})

export const benchmark: Benchmark = {
  name,
  minutes: 4,
  summary: "how long a call takes from publish to its request, behind 100,000 access logs and without them",
  compares:
    "500 calls are published one by one, 20 ms apart, on SQLite; each is on disk before it is sent. Timed is from the call of publish to the moment its request leaves. Once with nothing else, once while 100,000 access logs wait for the same receivers, which take 50 ms each. The second line compares publish to acknowledgement, idle, with the sum of one row written and synced on the same disk and a bare request to the same receiver, both at the same pace; the third compares publish to request, idle, with the row alone.",
  leavesOut: "Calls that come all at once, PostgreSQL, and receivers that are slow or away (`fairness` has those).",
  lines: {
    [name]: {
      ours: "p99 from publish to request with the backlog",
      peer: "the same without",
      unit: "ms",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/idle`]: {
      ours: "p50 from publish to acknowledgement, idle",
      peer: "p50 of one row synced to disk plus p50 of a bare request",
      unit: "ms",
      goal: { is: "at most", ratio: 1.5 }
    },
    [`${name}/disk`]: {
      ours: "p99 from publish to request, idle",
      peer: "p99 of one row synced to disk",
      unit: "ms",
      goal: null
    }
  },
  run
}
