/**
 * A host that publishes all the time, and remembers what it was answered.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi } from "./ThirdParty.ts"

/** A publish call that was not accepted, and what its caller was told. */
interface Refusal {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

export interface Load {
  /** The ids of all events whose publication was answered 202; others that were accepted elsewhere may be added. */
  readonly accepted: Set<string>
  readonly refused: ReadonlyArray<Refusal>
  /** How many events were sent in calls whose answer never came, because the service died. */
  readonly unanswered: () => number
  /** How long the slowest answer took, in milliseconds. */
  readonly slowest: () => number
  /** Resolves once so many more events than now are accepted. */
  readonly more: (count: number) => Promise<void>
  /** Resolves once so many more calls than now were refused. */
  readonly moreRefused: (count: number) => Promise<void>
  /** Ends the load, and resolves when every call has its answer. */
  readonly stop: () => Promise<void>
}

const callers = 4
const eventsPerCall = 2

/** How long a caller rests between its calls, in milliseconds: a load, not a flood. */
const rest = 40

/** Longer than any answer may take, in milliseconds: what takes as long hangs. */
const patience = 60_000

const Accepted = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })

const event = (id: number) => ({ resource_type: "access_log", action: "create", building_id: 1, data: { id } })

/** Publishes access logs of building 1 from several callers, until it is stopped. `url` is asked before each call. */
export const startLoad = (url: () => string): Effect.Effect<Load, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const accepted = new Set<string>()
      const refused: Array<Refusal> = []
      const waiting = new Set<() => void>()
      let unanswered = 0
      let slowest = 0
      let next = 0
      const stopping = new AbortController()

      const call = async (): Promise<void> => {
        const events = Array.from({ length: eventsPerCall }, () => event(++next))
        const began = performance.now()
        const answer = await Promise.race([
          callApi(url(), operatorKey, "POST", "/operator/events", events).then(
            async (response) => ({ response, body: await response.text() }),
            () => "no answer" as const
          ),
          pause(patience, "hangs" as const, { ref: false })
        ])
        slowest = Math.max(slowest, performance.now() - began)
        if (answer === "hangs") throw new Error(`a publish call was not answered within ${patience} ms`)
        if (answer === "no answer") unanswered += eventsPerCall
        else if (answer.response.status === 202) {
          for (const { id } of Schema.decodeUnknownSync(Accepted)(JSON.parse(answer.body)).events) accepted.add(id)
        } else {
          const { headers, status } = answer.response
          refused.push({ status, retryAfter: headers.get("retry-after"), body: answer.body })
        }
        for (const check of waiting) check()
      }

      const running = Promise.all(
        Array.from({ length: callers }, async () => {
          while (!stopping.signal.aborted) {
            await call()
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
