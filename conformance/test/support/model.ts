/**
 * A model of a receiver in this process, and a probe that reads its memory directly. For tests of the engine that need
 * no separate process.
 */
import { Crypto } from "@doorhook/core"
import { listen } from "@doorhook/testkit/ListeningServer"
import { Effect } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { setImmediate, setTimeout } from "node:timers/promises"
import { digestOf } from "../../src/history/Json.ts"
import { noHooks } from "../../src/hooks/Hooks.ts"
import type { Hooks } from "../../src/hooks/Hooks.ts"
import type { Probe } from "../../src/probes/Probe.ts"

export interface Delivery {
  readonly id: string
  readonly body: string
  /** Number of earlier deliveries. */
  readonly index: number
}

/** Differences from a correct receiver. */
export interface Manners {
  /** The key by which the receiver recognises a duplicate. */
  readonly key?: (delivery: Delivery) => string
  /** Duration of its work, in milliseconds. The receiver records the id before the work and the effect after it. */
  readonly work?: (delivery: Delivery) => number
  /** Changes the data before it is stored. */
  readonly stores?: (data: string, delivery: Delivery) => string
  /** Whether a turn of the event loop passes between checking for a duplicate and recording the id. */
  readonly notesLater?: boolean
  /** Whether the probe returns digests. */
  readonly digest?: boolean
}

export interface Model {
  readonly url: URL
  readonly probe: Probe
  readonly hooks: Hooks
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the text of an event's data; null if the body is not an event. */
const dataOf = (body: string): string | null => {
  try {
    const parsed: unknown = JSON.parse(body)
    const event = isRecord(parsed) ? parsed["event"] : null
    const data = isRecord(event) ? event["data"] : null
    return isRecord(data) ? JSON.stringify(data) : null
  } catch {
    return null
  }
}

export const model = (manners: Manners = {}) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Model & { readonly close: () => Promise<void> }> => {
      const seen = new Set<string>()
      const effects = new Map<string, number>()
      const stored = new Map<string, string>()
      let index = 0
      const act = (id: string, data: string): void => {
        effects.set(id, (effects.get(id) ?? 0) + 1)
        if (!stored.has(id)) stored.set(id, data)
      }
      const server = createServer((request, response) => {
        void (async () => {
          const body = await text(request).catch(() => null)
          if (body === null) return
          const data = dataOf(body)
          if (request.method !== "POST" || data === null) {
            return response.writeHead(data === null ? 400 : 405).end()
          }
          const delivery: Delivery = { id: String(request.headers["webhook-id"]), body, index: index++ }
          const key = manners.key?.(delivery) ?? delivery.id
          const known = seen.has(key)
          if (manners.notesLater === true) await setImmediate()
          seen.add(key)
          const work = manners.work?.(delivery) ?? 0
          if (work > 0) await setTimeout(work)
          if (!known) act(delivery.id, manners.stores?.(data, delivery) ?? data)
          response.writeHead(200).end("ok")
        })()
      })
      const { close, url } = await listen(server)
      const probe: Probe = {
        kind: "http",
        name: "model",
        concurrency: 8,
        read: ({ webhookId }) =>
          Effect.gen(function* () {
            const text = stored.get(webhookId)
            const digest = manners.digest === false || text === undefined ? null : digestOf(text)
            return { effects: effects.get(webhookId) ?? 0, digest, data: null }
          }).pipe(Effect.provide(Crypto.layerWebCrypto))
      }
      return {
        url: new URL(`${url}/hook`),
        probe,
        hooks: { ...noHooks, double: (id) => Effect.sync(() => act(id, "{}")), names: { double: "model" } },
        close
      }
    }),
    ({ close }) => Effect.promise(close)
  )
