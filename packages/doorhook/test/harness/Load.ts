/**
 * A host that publishes continuously and records the responses.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi } from "./ThirdParty.ts"

/** A refused publication, and its response. */
interface Refusal {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

export interface Load {
  /** The ids of all events answered with 202. A test may add events that were accepted elsewhere. */
  readonly accepted: Set<string>
  readonly refused: ReadonlyArray<Refusal>
  /** The accepted event for each `data.id` that was published with an idempotency key. */
  readonly keyed: ReadonlyMap<number, string>
  /** Number of calls that were cut off after the connection was accepted. */
  readonly brokenOff: () => number
  /** Number of events in calls that got no response because the service died. */
  readonly unanswered: () => number
  /** Duration of the slowest call, in milliseconds. */
  readonly slowest: () => number
  /** Resolves when this many more events are accepted. */
  readonly more: (count: number) => Promise<void>
  /** Resolves when this many more calls are refused. */
  readonly moreRefused: (count: number) => Promise<void>
  /** Stops the load, and resolves when every call has its response. */
  readonly stop: () => Promise<void>
}

const callers = 4
const eventsPerCall = 2

/** Default pause between a caller's calls, in milliseconds, for a moderate load. */
const defaultRest = 250

/** Time after which a call counts as hanging, in milliseconds. */
const patience = 60_000

const Accepted = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })

const event = (id: number, resource_type = "access_log") => ({
  resource_type,
  action: "create",
  building_id: 1,
  data: { id }
})

interface LoadOptions {
  /**
   * Whether every second caller uses an idempotency key for each call, and repeats the call until it has two responses.
   */
  readonly keys?: boolean
  /** Pause of a caller after each response, in milliseconds. */
  readonly rest?: number
  /** Whether every tenth event is a call. */
  readonly rings?: boolean
}

/** Whether the connection was refused before anything was sent. */
const isUnreached = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(Object(error.cause), "code") === "ECONNREFUSED"

/**
 * Publishes access logs for building 1 from several concurrent callers until stopped. Calls `url` before each
 * publication to get the service's current URL.
 */
export const startLoad = (
  url: () => string,
  { keys = false, rest = defaultRest, rings = false }: LoadOptions = {}
): Effect.Effect<Load, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const accepted = new Set<string>()
      const keyed = new Map<number, string>()
      const refused: Array<Refusal> = []
      const waiting = new Set<() => void>()
      let brokenOff = 0
      let unanswered = 0
      let slowest = 0
      let next = 0
      const stopping = new AbortController()

      /** Publishes once, and returns whether there was a response. */
      const call = async (events: ReadonlyArray<ReturnType<typeof event>>, key: string | null): Promise<boolean> => {
        const began = performance.now()
        const headers = key === null ? {} : { "idempotency-key": key }
        const answer = await Promise.race([
          callApi(url(), operatorKey, "POST", "/operator/events", events, headers)
            .then(async (response) => ({ response, body: await response.text() }))
            .catch((error: unknown) => (isUnreached(error) ? ("unreached" as const) : ("broken off" as const))),
          pause(patience, "hangs" as const, { ref: false })
        ])
        slowest = Math.max(slowest, performance.now() - began)
        if (answer === "hangs") throw new Error(`a publish call was not answered within ${patience} ms`)
        if (answer === "broken off") brokenOff++
        if (answer === "broken off" || answer === "unreached") unanswered += eventsPerCall
        else if (answer.response.status === 202) {
          const published = Schema.decodeUnknownSync(Accepted)(JSON.parse(answer.body)).events
          for (const [index, { id }] of published.entries()) {
            accepted.add(id)
            const of = events[index]?.data.id
            if (key !== null && of !== undefined) keyed.set(of, id)
          }
        } else {
          const { headers, status } = answer.response
          refused.push({ status, retryAfter: headers.get("retry-after"), body: answer.body })
        }
        for (const check of waiting) check()
        return answer !== "broken off" && answer !== "unreached"
      }

      /** Repeats a call until it has two responses, or until the load has stopped. */
      const callTwice = async (events: ReadonlyArray<ReturnType<typeof event>>, key: string): Promise<void> => {
        for (let answers = 0; answers < 2;) {
          const last = stopping.signal.aborted
          if (await call(events, key)) answers++
          else if (last) return
          else await pause(defaultRest)
        }
      }

      const running = Promise.all(
        Array.from({ length: callers }, async (_, caller) => {
          const useKeys = keys && caller % 2 === 0
          while (!stopping.signal.aborted) {
            const events = Array.from({ length: eventsPerCall }, () => {
              const id = ++next
              return event(id, rings && id % 10 === 0 ? "call" : "access_log")
            })
            if (useKeys) await callTwice(events, `call-${next}`)
            else if (!(await call(events, null))) await pause(defaultRest)
            await pause(rest)
          }
        })
      )
      const until = (isSo: () => boolean): Promise<void> => {
        const met = new Promise<void>((resolve) => {
          const check = (): void => {
            if (!isSo()) return
            waiting.delete(check)
            resolve()
          }
          waiting.add(check)
          check()
        })
        return Promise.race([met, running.then(() => undefined)])
      }
      const load: Load = {
        accepted,
        refused,
        keyed,
        brokenOff: () => brokenOff,
        unanswered: () => unanswered,
        slowest: () => slowest,
        more: (count) => {
          const goal = accepted.size + count
          return until(() => accepted.size >= goal)
        },
        moreRefused: (count) => {
          const goal = refused.length + count
          return until(() => refused.length >= goal)
        },
        stop: async () => {
          stopping.abort()
          await running
        }
      }
      return load
    }),
    (load) => Effect.promise(() => load.stop().catch(() => undefined))
  )
