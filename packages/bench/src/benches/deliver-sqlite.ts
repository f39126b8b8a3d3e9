/**
 * `deliver-sqlite`: publish to settled on a SQLite file synced at each commit, against a bare loop of the same requests.
 *
 * Ours does what the loop does not: events and deliveries durable before they are sent, matching, leases, rights, attempts
 * recorded. Both sign each body and keep 64 requests open to a bare receiver in its own process. Rounds alternate, after
 * one of each that does not count; medians are printed, and the ratio is taken round by round.
 */
import { Publisher } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { bareLoop } from "../harness/BareLoop.ts"
import { sqliteEngine } from "../harness/Engine.ts"
import { createIntegrations, delivered } from "../harness/Integrations.ts"
import { startReceiver } from "../harness/ReceiverProcess.ts"
import { median, rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"
import { eventOf, openRequests } from "../harness/Workload.ts"

const count = 20_000
const rounds = 5
const publishBatch = 100
const publishers = 4

// Access logs use four fifths of all places.
const settings = { concurrency: (openRequests * 5) / 4 }

const ours = Effect.fnUntraced(function* (port: number) {
  const round = Effect.gen(function* () {
    yield* createIntegrations(port)
    const publisher = yield* Publisher
    const began = performance.now()
    const batches = Array.from({ length: count / publishBatch }, (_, batch) =>
      Array.from({ length: publishBatch }, (_, index) => eventOf(batch * publishBatch + index))
    )
    yield* Effect.forEach(batches, (events) => publisher.publish(events), { concurrency: publishers, discard: true })
    const published = performance.now()
    yield* delivered(count)
    const ended = performance.now()
    return { rate: (count * 1_000) / (ended - began), published: (count * 1_000) / (published - began) }
  })
  return yield* Effect.provide(round, Layer.fresh(sqliteEngine(yield* temporaryDatabase, settings)))
}, Effect.scoped)

const main = Effect.gen(function* () {
  const port = yield* startReceiver()
  const pairs: Array<{ ours: number; peer: number }> = []
  yield* Effect.promise(() => bareLoop(port, count))
  yield* ours(port)
  for (let round = 0; round < rounds; round++) {
    const peer = yield* Effect.promise(() => bareLoop(port, count))
    const { rate, published } = yield* ours(port)
    pairs.push({ ours: rate, peer })
    process.stderr.write(
      `round ${round + 1}: ${Math.round(rate)}/s (published at ${Math.round(published)}/s), bare ${Math.round(peer)}/s\n`
    )
  }
  const result = {
    name: "deliver-sqlite",
    ours: Math.round(median(pairs.map((pair) => pair.ours))),
    peer: Math.round(median(pairs.map((pair) => pair.peer))),
    ratio: rounded(median(pairs.map((pair) => pair.ours / pair.peer))),
    goal: 0.9
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
})

await Effect.runPromise(Effect.scoped(main))
