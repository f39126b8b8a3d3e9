/**
 * A loop that signs the same bodies as the engine and posts them concurrently with `undici.request`. It neither stores
 * nor retries. `deliver-sqlite` and `deliver-postgres` compare the engine with it.
 */
import type { DeliveryStore, IntegrationStore, Publisher } from "@doorhook/core"
import { bodyOf } from "@doorhook/core"
import type { Layer, Scope } from "effect"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent, request } from "undici"
import type { Finding, Options } from "./Benchmark.ts"
import { roundsOf } from "./Benchmark.ts"
import { createIntegrations, drain } from "./Engine.ts"
import { startReceiver } from "./Processes.ts"
import { eventOf, openRequests, signingSecret } from "./Workload.ts"

const key = Buffer.from(signingSecret.slice("whsec_".length), "base64")

const signAndSend = async (agent: Agent, port: number, n: number): Promise<void> => {
  const body = bodyOf(eventOf(n))
  const id = `evt_${n}`
  const timestamp = Math.floor(Date.now() / 1_000)
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${signature}`
  }
  const answer = await request(`http://127.0.0.1:${port}/hook`, { method: "POST", headers, body, dispatcher: agent })
  await answer.body.dump()
}

/** Sends `count` requests. Returns requests a second. */
const bareLoop = async (port: number, count: number): Promise<number> => {
  const agent = new Agent({ connections: openRequests, pipelining: 1 })
  let next = 0
  const began = performance.now()
  const worker = async (): Promise<void> => {
    while (next < count) await signAndSend(agent, port, next++)
  }
  await Promise.all(Array.from({ length: openRequests }, worker))
  const rate = (count * 1_000) / (performance.now() - began)
  await agent.close()
  return rate
}

/** Sends `count` requests one after another, with a pause before each. Returns their latencies in milliseconds. */
export const bareRequests = async (port: number, count: number, pause: number): Promise<ReadonlyArray<number>> => {
  const agent = new Agent({ connections: 1, pipelining: 1 })
  const latencies: Array<number> = []
  for (let n = 0; n < count; n++) {
    await sleep(pause)
    const began = performance.now()
    await signAndSend(agent, port, n)
    latencies.push(performance.now() - began)
  }
  await agent.close()
  return latencies
}

type Engine<E> = Layer.Layer<Publisher | DeliveryStore | IntegrationStore, E>

/**
 * Compares the engine with the loop. The engine is timed from publishing until the outcomes of all deliveries are
 * recorded. Each round has a new engine on new storage.
 */
export const againstBareLoop = Effect.fnUntraced(function* <E>(
  line: string,
  newEngine: Effect.Effect<Engine<E>, never, Scope.Scope>,
  options: Options
) {
  const { quick } = options
  const count = quick ? 1_000 : 20_000
  const rounds = roundsOf(options, 5)
  const port = yield* startReceiver()
  const ours = newEngine.pipe(
    Effect.flatMap((engine) => createIntegrations(port).pipe(Effect.andThen(drain(count)), Effect.provide(engine))),
    Effect.scoped
  )
  const bare = Effect.promise(() => bareLoop(port, count))
  yield* bare
  yield* ours
  const finding = { line, ours: Array.of<number>(), peer: Array.of<number>() } satisfies Finding
  for (let round = 0; round < rounds; round++) {
    const peer = yield* bare
    const { published, rate } = yield* ours
    finding.ours.push(rate)
    finding.peer.push(peer)
    process.stderr.write(
      `round ${round + 1}: ${Math.round(rate)}/s (published at ${Math.round(published)}/s), bare ${Math.round(peer)}/s\n`
    )
  }
  return [finding]
})
