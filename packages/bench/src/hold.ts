/**
 * Measures the memory that a backlog takes. Usage: `hold.ts FILE LIVE_PORT DEAD_PORT COUNT REST`. Prints megabytes as
 * JSON.
 *
 * The engine delivers for a while and rests for REST milliseconds while its memory is measured. Then COUNT deliveries
 * arrive for receivers that are down, and the memory is measured during another rest.
 */
import { DeliveryStore, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { createIntegration, createIntegrations, drain, sqliteEngine } from "./harness/Engine.ts"
import { median } from "./harness/Statistics.ts"
import { eventIn, integrationCount } from "./harness/Workload.ts"

const [file = "", livePort, deadPort, count, rest] = process.argv.slice(2)

const publishBatch = 1_000

const megabytes = Effect.sync(() => process.memoryUsage.rss() / 1_000_000)

/** Waits for REST milliseconds. Returns the median memory, in megabytes, during the second half. */
const afterRest = Effect.gen(function* () {
  yield* Effect.sleep(Number(rest) / 2)
  const samples: Array<number> = []
  for (let sample = 0; sample < 20; sample++) {
    yield* Effect.sleep(Number(rest) / 40)
    samples.push(yield* megabytes)
  }
  return median(samples)
})

const main = Effect.gen(function* () {
  yield* createIntegrations(Number(livePort))
  yield* drain(Number(count) / 50)
  const idle = yield* afterRest
  for (let n = 1; n <= integrationCount; n++) yield* createIntegration(integrationCount + n, Number(deadPort))
  const publisher = yield* Publisher
  let peak = 0
  for (let n = 0; n < Number(count); n += publishBatch) {
    yield* publisher.publish(
      Array.from({ length: publishBatch }, (_, index) =>
        eventIn(integrationCount + 1 + (index % integrationCount), n + index)
      )
    )
    peak = Math.max(peak, yield* megabytes)
  }
  const loaded = yield* afterRest
  const { states } = yield* Effect.flatMap(DeliveryStore, (store) => store.summary(0))
  const waiting = states.pending + states.retrying + states.delivering
  process.stdout.write(`${JSON.stringify({ idle, loaded, peak: Math.max(peak, loaded), waiting })}\n`)
})

await Effect.runPromise(Effect.provide(main, sqliteEngine(file)))
process.exit()
