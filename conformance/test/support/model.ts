/**
 * A model of a receiver in this process, and a probe that reads its memory directly. For tests of the engine that need
 * no separate process.
 */
import { Crypto } from "@doorhook/core"
import { listen } from "@doorhook/testkit/ListeningServer"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { setImmediate } from "node:timers/promises"
import { digestOf } from "../../src/history/Json.ts"
import { noHooks } from "../../src/hooks/Hooks.ts"
import type { Hooks } from "../../src/hooks/Hooks.ts"
import type { Probe } from "../../src/probes/Probe.ts"

export interface Delivery {
  readonly id: string
  readonly type: string
  readonly dataId: string
  readonly loggedAt: string
  readonly timestamp: string
  readonly body: string
  readonly request: IncomingMessage
  /** Number of earlier deliveries. */
  readonly index: number
}

/** Differences from a correct receiver. */
export interface Manners {
  /** The key by which the receiver recognises a duplicate. */
  readonly key?: (delivery: Delivery) => string
  /** Number of keys that it remembers. */
  readonly capacity?: number
  /** How long it remembers a key, in milliseconds. */
  readonly remembers?: number
  /** Whether it acts on a delivery at all. */
  readonly accepts?: (delivery: Delivery) => boolean
  /** The status of its answer. */
  readonly status?: (delivery: Delivery, known: boolean) => number
  /** Duration of its work, in milliseconds. The receiver records the id before the work and the effect after it. */
  readonly work?: number | ((delivery: Delivery) => number)
  /** Changes the data before it is stored. */
  readonly stores?: (data: string, delivery: Delivery) => string
  /** Whether a turn of the event loop passes between checking for a duplicate and recording the id. */
  readonly notesLater?: boolean
  /** Whether work is dropped when the sender goes away. */
  readonly dropsAbandoned?: boolean
  /** Whether a request with any method is handled like a POST. */
  readonly anyMethod?: boolean
  /** Changes the number of effects before the probe returns it. */
  readonly probed?: (effects: number, total: number) => number
  /** Whether the probe returns digests. */
  readonly digest?: boolean
}

export interface Model {
  readonly url: URL
  readonly probe: Probe
  readonly hooks: Hooks
  readonly deliveries: () => number
}

const field = (body: string, name: string): string => new RegExp(`"${name}":\\s*"?([^",}]*)`).exec(body)?.[1] ?? ""

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

/** Returns the event's type, even if it is written with escapes. */
const typeOf = (body: string): string => {
  const parsed: unknown = JSON.parse(body)
  const event = isRecord(parsed) ? parsed["event"] : null
  return isRecord(event) ? String(event["resource_type"]) : ""
}

export const model = (manners: Manners = {}) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Model & { readonly close: () => Promise<void> }> => {
      const seen = new Map<string, number>()
      const effects = new Map<string, number>()
      const stored = new Map<string, string>()
      let index = 0
      const keyOf = manners.key ?? (({ id }: Delivery) => id)
      const isKnown = (key: string): boolean => {
        const at = seen.get(key)
        return at !== undefined && performance.now() - at <= (manners.remembers ?? Infinity)
      }
      const remember = (key: string): void => {
        seen.set(key, performance.now())
        const [oldest] = seen.keys()
        if (seen.size > (manners.capacity ?? Infinity) && oldest !== undefined) seen.delete(oldest)
      }
      const act = (id: string, data: string): void => {
        effects.set(id, (effects.get(id) ?? 0) + 1)
        if (!stored.has(id)) stored.set(id, data)
      }
      const server = createServer((request, response) => {
        void (async () => {
          const body = await text(request).catch(() => null)
          if (body === null) return
          const data = dataOf(body)
          if ((request.method !== "POST" && manners.anyMethod !== true) || data === null) {
            return response.writeHead(data === null ? 400 : 405).end()
          }
          const id = String(request.headers["webhook-id"])
          const delivery: Delivery = {
            id,
            type: typeOf(body),
            // The ids of units and panels are shorter.
            dataId: /"id":\s*(\d{6,})/.exec(body)?.[1] ?? "",
            loggedAt: field(body, "logged_at"),
            timestamp: String(request.headers["webhook-timestamp"]),
            body,
            request,
            index: index++
          }
          const key = keyOf(delivery)
          const known = isKnown(key)
          const accepted = manners.accepts?.(delivery) ?? true
          if (manners.notesLater === true) await setImmediate()
          if (!known) remember(key)
          const work = typeof manners.work === "function" ? manners.work(delivery) : (manners.work ?? 0)
          if (work > 0) await new Promise((resolve) => setTimeout(resolve, work))
          const abandoned = manners.dropsAbandoned === true && request.socket.destroyed
          if (!known && accepted && !abandoned) act(id, manners.stores?.(data, delivery) ?? data)
          response.writeHead(manners.status?.(delivery, known) ?? 200).end("ok")
        })()
      })
      const { close, url } = await listen(server)
      const total = (): number => [...effects.values()].reduce((sum, count) => sum + count, 0)
      const probed = manners.probed ?? ((count: number) => count)
      const probe: Probe = {
        kind: "http",
        name: "model",
        concurrency: 8,
        read: ({ webhookId }) =>
          Effect.gen(function* () {
            const text = stored.get(webhookId)
            const digest = manners.digest === false || text === undefined ? null : digestOf(text)
            return { effects: probed(effects.get(webhookId) ?? 0, total()), digest, data: null }
          }).pipe(Effect.provide(Crypto.layerWebCrypto))
      }
      return {
        url: new URL(`${url}/hook`),
        probe,
        hooks: { ...noHooks, double: (id) => Effect.sync(() => act(id, "{}")), names: { double: "model" } },
        deliveries: () => index,
        close
      }
    }),
    ({ close }) => Effect.promise(close)
  )
