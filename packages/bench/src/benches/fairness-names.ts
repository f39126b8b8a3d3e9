/**
 * Measures how much slow DNS names delay other clients.
 */
import { NameResolver } from "@doorhook/core"
import { NameLookup, NodeNameResolver } from "@doorhook/node"
import { lookUpsOn } from "@doorhook/testkit/LookUps"
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { createIntegration, sqliteEngine } from "../harness/Engine.ts"
import { besideAndAlone, roundsOf } from "../harness/Benchmark.ts"
import { startReceiver } from "../harness/Processes.ts"
import { steadyLatencies, watch } from "../harness/RequestWatch.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "fairness-names"

const building = 1

/** The default size of Node.js's thread pool. libuv uses half of the threads to look up names. */
const threads = 4

/** How long the lookup of a slow name takes, in milliseconds. */
const slowness = 8_000

/** How long saving an integration waits for the lookup of its name, in milliseconds. */
const patience = 3_000

/** Pause between the lookups of slow names, in milliseconds. */
const betweenSaves = 100

/**
 * Measures the latencies of an integration, alone or while another client looks up slow names (`isBeside`). Each
 * delivery looks up the name of its receiver.
 */
const latencies = Effect.fnUntraced(function* (port: number, isBeside: boolean, events: number) {
  const signal = yield* Effect.abortSignal
  const { ask } = lookUpsOn(Math.ceil(threads / 2), (host) =>
    host.startsWith("slow") ? sleep(slowness, undefined, { signal }).catch(() => undefined) : sleep(1)
  )
  const lookup = NameLookup.sharing(ask, NameLookup.placesOf(threads))
  // Without reuse of connections, each delivery looks up the name.
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
    if (isBeside) {
      yield* Effect.forkScoped(saving)
      yield* Effect.sleep(10 * betweenSaves)
    }
    return yield* steadyLatencies(building, events, { answered })
  })
  return yield* Effect.provide(measure, sqliteEngine(yield* temporaryDatabase, {}, transport))
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const events = options.quick ? 50 : 1_000
  const receiver = yield* startReceiver()
  // The first run warms up the compiler.
  yield* latencies(receiver, false, events / 5)
  const alone = latencies(receiver, false, events)
  const beside = latencies(receiver, true, events)
  return [{ line: name, ...(yield* besideAndAlone(roundsOf(options, 3), 0.95, "slow names", alone, beside)) }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary:
    "latency of a healthy integration while one client saves URLs whose names take 8 s to resolve, against its latency alone",
  compares:
    "On SQLite, an integration receives 50 access logs a second for 20 seconds. Each delivery uses a new connection to a name that resolves in 1 ms. Latency is measured from publish to acknowledgement. Another client looks up ten new names a second, as saving an integration does, and each lookup takes 8 s. Two lookups run at a time: name lookups get half of Node.js's four default threads.",
  leavesOut: "The system's resolver (simulated by a queue of the same size), and the requests that save integrations.",
  lines: {
    [name]: {
      ours: "p95 from publish to acknowledgement, with slow names",
      peer: "p95 without slow names",
      unit: "ms",
      goal: { is: "at most", ratio: 1.5 }
    }
  },
  run
}
