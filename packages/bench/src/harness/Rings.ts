/**
 * Calls that are published one by one over HTTP, and a receiver in this process that records when each arrives.
 */
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import { Effect } from "effect"
import { operatorKey } from "./ServerProcess.ts"

/** Pause between calls, in milliseconds. */
const pause = 20

class RingReceiver {
  readonly port: number
  readonly #receivedAt: ReadonlyMap<number, number>
  /** The id of the last call. Ids begin behind those of other events. */
  #last = 1_000_000

  constructor(port: number, receivedAt: ReadonlyMap<number, number>) {
    this.port = port
    this.#receivedAt = receivedAt
  }

  /** Publishes calls. Returns their latencies from publish to the receiver, in milliseconds. */
  readonly ring = Effect.fnUntraced(function* (this: RingReceiver, server: number, building_id: number, count: number) {
    const latencies: Array<number> = []
    for (let n = 0; n < count; n++) {
      const id = ++this.#last
      const began = performance.now()
      yield* Effect.promise(async () => {
        const body = JSON.stringify({ resource_type: "call", action: "create", building_id, data: { id } })
        const headers = { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" }
        const answer = await fetch(`http://127.0.0.1:${server}/operator/events`, { method: "POST", headers, body })
        await answer.arrayBuffer()
      })
      yield* Effect.sleep(pause)
      while (!this.#receivedAt.has(id)) yield* Effect.sleep(1)
      latencies.push((this.#receivedAt.get(id) ?? Number.NaN) - began)
    }
    return latencies
  })
}

/** Starts a receiver of calls. */
export const startRingReceiver = Effect.gen(function* () {
  const receivedAt = new Map<number, number>()
  const { port } = yield* handlingReceiver(({ body }, response) => {
    const now = performance.now()
    const { event }: { readonly event: { readonly data: { readonly id: number } } } = JSON.parse(body)
    receivedAt.set(event.data.id, now)
    response.end()
  })
  return new RingReceiver(port, receivedAt)
})
