/**
 * A host that publishes all the time, and keeps what it was answered.
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
  /** The event of each `data.id` that was accepted under an idempotency key. */
  readonly keyed: ReadonlyMap<number, string>
  /** How many calls broke off after the service had taken their connection. */
  readonly brokenOff: () => number
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

/** The default pause of a caller between its calls, in milliseconds: a load, not a flood. */
const defaultRest = 40

/** Longer than any answer may take, in milliseconds: what takes as long hangs. */
const patience = 60_000

const Accepted = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })

const event = (id: number) => ({ resource_type: "access_log", action: "create", building_id: 1, data: { id } })

interface LoadOptions {
  /** Whether every other caller uses an idempotency key for each call, and repeats it until it has had two answers. */
  readonly keys?: boolean
  /** Pause of a caller after an answer, in milliseconds. */
  readonly rest?: number
}

/** Whether nothing listened: nothing was sent then. */
const isUnreached = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(Object(error.cause), "code") === "ECONNREFUSED"

/** Publishes access logs of building 1 from several callers, until it is stopped. `url` is asked before each call. */
export const startLoad = (
  url: () => string,
  { keys = false, rest = defaultRest }: LoadOptions = {}
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

      /** Returns whether there was an answer. */
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

      /** Repeats a call until it has had two answers, or none after the end. */
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
            const events = Array.from({ length: eventsPerCall }, () => event(++next))
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
