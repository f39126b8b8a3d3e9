/**
 * `latency-call`: how long a call takes from its publication to its request, while 100,000 access logs wait to be sent to
 * the same receivers, against the same without them.
 *
 * Measured in one process, from the call of `publish` to the moment the sender is asked to post: durable in between. Both
 * runs publish the same calls at the same pace. The receivers take 20 ms, so that the backlog lasts.
 */
import { BuildingId, JsonText, Publisher, Transport } from "@doorhook/core"
import type { NewEvent } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { Effect, Layer } from "effect"
import { sqliteEngine } from "../harness/Engine.ts"
import { createIntegrations } from "../harness/Integrations.ts"
import { startReceiver } from "../harness/ReceiverProcess.ts"
import { quantile, rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"
import { eventOf, integrationCount } from "../harness/Workload.ts"

const backlog = 100_000
const calls = 500
const pause = 20

const callOf = (n: number): NewEvent => ({
  resource_type: "call",
  action: "create",
  building_id: BuildingId.make((n % integrationCount) + 1),
  tenant_ids: [],
  data: JsonText.JsonText.make(`{"id":${n}}`)
})

const run = Effect.fnUntraced(function* (port: number, waiting: number) {
  const left = new Map<number, number>()
  const watched = Layer.effect(
    Transport,
    Effect.map(Transport, (transport) => ({
      post: (request) => {
        const call = /"call".*"id":(\d+)/.exec(request.body)
        if (call !== null) left.set(Number(call[1]), performance.now())
        return transport.post(request)
      }
    }))
  ).pipe(Layer.provide(UndiciTransport.layer()))
  const measure = Effect.gen(function* () {
    yield* createIntegrations(port)
    const publisher = yield* Publisher
    for (let n = 0; n < waiting; n += 1_000) {
      yield* publisher.publish(Array.from({ length: 1_000 }, (_, index) => eventOf(n + index)))
    }
    const latencies: Array<number> = []
    for (let n = 0; n < calls; n++) {
      const began = performance.now()
      yield* publisher.publish([callOf(n)])
      yield* Effect.sleep(pause)
      while (!left.has(n)) yield* Effect.sleep(1)
      latencies.push((left.get(n) ?? 0) - began)
    }
    return latencies
  })
  return yield* Effect.provide(measure, Layer.fresh(sqliteEngine(yield* temporaryDatabase, {}, watched)))
}, Effect.scoped)

const main = Effect.gen(function* () {
  const port = yield* startReceiver(20)
  yield* run(port, 0)
  const idle = yield* run(port, 0)
  const busy = yield* run(port, backlog)
  const result = {
    name: "latency-call",
    ours: rounded(quantile(busy, 0.99)),
    peer: rounded(quantile(idle, 0.99)),
    ratio: rounded(quantile(busy, 0.99) / quantile(idle, 0.99)),
    goal: 2,
    unit: "ms",
    idle_p50: rounded(quantile(idle, 0.5)),
    busy_p50: rounded(quantile(busy, 0.5))
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
})

await Effect.runPromise(Effect.scoped(main))
