/**
 * How much slow names delay other clients.
 */
import { NameResolver, Publisher } from "@doorhook/core"
import { NameLookup, NodeNameResolver } from "@doorhook/node"
import { lookUpsOn } from "@doorhook/testkit/LookUps"
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import type { Benchmark } from "../harness/Benchmark.ts"
import { sqliteEngine } from "../harness/Engine.ts"
import { createIntegration } from "../harness/Integrations.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import { startReceiver } from "../harness/ReceiverProcess.ts"
import { quantile, rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"
import { watch } from "../harness/RequestWatch.ts"
import { eventIn } from "../harness/Workload.ts"

const name = "fairness-names"

const building = 1

/** Node's own; libuv looks names up on half of them. */
const threads = 4

/** How long a slow name takes, how long a save waits for it, and how long until the next save; in milliseconds. */
const slowness = 8_000
const patience = 3_000
const betweenSaves = 100

/** Between one event of the healthy integration and the next, in milliseconds. */
const pause = 20

/** Latencies of an integration whose every delivery looks its name up, beside a client that saves slow names or alone. */
const latencies = Effect.fnUntraced(function* (port: number, isBeside: boolean, events: number) {
  const signal = yield* Effect.abortSignal
  const { ask } = lookUpsOn(Math.ceil(threads / 2), (host) =>
    host.startsWith("slow") ? sleep(slowness, undefined, { signal }).catch(() => undefined) : sleep(1)
  )
  const lookup = NameLookup.sharing(ask, NameLookup.placesOf(threads))
  // No connection is kept, so that each delivery looks its name up.
  const { answered, transport } = watch(
    () => true,
    () => undefined,
    { lookup, maxAge: 0 }
  )
  const save = Effect.fnUntraced(
    function* (n: number) {
      const resolver = yield* NameResolver
      yield* Effect.timeoutOption(resolver.addresses(`slow${n}.example`, "slow client"), patience)
    },
    Effect.provide(NodeNameResolver.layerOf(lookup))
  )
  const saving = Effect.gen(function* () {
    for (let n = 0; ; n++) {
      yield* Effect.forkChild(save(n))
      yield* Effect.sleep(betweenSaves)
    }
  })
  const measure = Effect.gen(function* () {
    yield* createIntegration(building, port, "healthy.example")
    const publisher = yield* Publisher
    if (isBeside) {
      yield* Effect.forkScoped(saving)
      yield* Effect.sleep(10 * betweenSaves)
    }
    const publishedAt: Array<number> = []
    for (let n = 0; n < events; n++) {
      publishedAt.push(performance.now())
      yield* publisher.publish([eventIn(building, n)])
      yield* Effect.sleep(pause)
    }
    while (answered.size < events) yield* Effect.sleep(pause)
    return publishedAt.map((at, n) => (answered.get(n) ?? Number.NaN) - at)
  })
  return yield* Effect.provide(measure, sqliteEngine(yield* temporaryDatabase, {}, transport))
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const rounds = roundsOf(options, 3)
  const events = options.quick ? 50 : 1_000
  const receiver = yield* startReceiver()
  const beside: Array<number> = []
  const alone: Array<number> = []
  // What comes first pays for the compiler.
  yield* latencies(receiver, false, events / 5)
  for (let round = 0; round < rounds; round++) {
    const without = yield* latencies(receiver, false, events)
    const among = yield* latencies(receiver, true, events)
    alone.push(quantile(without, 0.95))
    beside.push(quantile(among, 0.95))
    const of = (values: ReadonlyArray<number>): string =>
      `p50 ${rounded(quantile(values, 0.5))} ms, p95 ${rounded(quantile(values, 0.95))} ms, at most ${rounded(Math.max(...values))} ms`
    process.stderr.write(`round ${round + 1}: beside slow names ${of(among)}; alone ${of(without)}\n`)
  }
  return [{ line: name, ours: beside, peer: alone }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary:
    "latency of a healthy integration while one client saves URLs whose names take 8 s to resolve, against alone",
  compares:
    "An integration gets 50 access logs a second for 20 seconds on SQLite, each over a new connection whose name is looked up and takes 1 ms; timed is from the call of publish to the acknowledgement. Beside it one client asks for ten new names a second, as saving integrations does, and each takes 8 s. Look-ups run two at a time, as on Node's four threads.",
  leavesOut:
    "The system's resolver and its threads, for which a queue of the same size stands, and the HTTP requests that save integrations.",
  lines: {
    [name]: {
      ours: "p95 from publish to acknowledgement beside slow names",
      peer: "the same alone",
      unit: "ms",
      goal: { is: "at most", ratio: 1.5 }
    }
  },
  run
}
