/**
 * Executes a history against a receiver and writes down what happened.
 *
 * A history has one connection, as a sender's worker has, and is done operation by operation. Copies sent at once have
 * a connection each.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Redacted } from "effect"
import type { EventTemplate, History, Variation } from "../history/History.ts"
import { reencode } from "../history/RawJson.ts"
import type { Connection, Exchanged, HttpRequest } from "./Connection.ts"
import { open } from "./Connection.ts"
import type { Exchange } from "./Exchange.ts"
import { Minting } from "./Minting.ts"
import { TargetUnusable } from "./TargetUnusable.ts"
import type { Attempt, Trace } from "./Trace.ts"
import type { Stamped } from "./WebhookRequest.ts"
import { make } from "./WebhookRequest.ts"

/** Where histories are executed, and how. */
export interface Setting {
  readonly url: URL
  readonly secret: Redacted.Redacted<string> | null
  /** How long an answer is waited for, in milliseconds. */
  readonly limit: number
}

/** Pauses before a receiver that can't be reached is tried again: a supervisor may be starting it anew. */
const pauses = [250, 1_000]

/** The receiver never saw the request, so that this says nothing about how it handles events. */
const isUnreached = (exchange: Exchange): boolean => exchange._tag === "Failed" && !exchange.connected

/** A server may close an idle connection at any time (RFC 9112 section 9.3.1): the request is sent again at once. */
const isStale = ({ exchange, reused }: Exchanged): boolean =>
  reused && exchange._tag === "Failed" && exchange.outcome === "connection_reset"

const unusable = (url: URL, exchange: Exchange): TargetUnusable => {
  const why = exchange._tag === "Failed" ? exchange.detail : ""
  const tries = pauses.length + 1
  return new TargetUnusable({
    message: `${url.origin} could not be connected to ${tries} times in a row (${why}). Is the receiver still running?`
  })
}

/** Sends a request, again if it could not arrive. Fails when the receiver can't be reached any more. */
const deliver = Effect.fnUntraced(function* (
  connection: Connection,
  request: HttpRequest,
  { limit, url }: Setting
): Effect.fn.Return<Exchanged, TargetUnusable> {
  const post = connection.post(request, limit)
  let exchanged = yield* post
  if (isStale(exchanged)) exchanged = yield* Effect.andThen(connection.renew, post)
  for (const pause of pauses) {
    if (!isUnreached(exchanged.exchange)) return exchanged
    exchanged = yield* connection.renew.pipe(Effect.andThen(Effect.sleep(pause)), Effect.andThen(post))
  }
  return isUnreached(exchanged.exchange) ? yield* unusable(url, exchanged.exchange) : exchanged
})

/** Makes the next attempt's stamp from the one before. */
const vary = (last: Stamped, how: ReadonlyArray<Variation>, now: number): Stamped => ({
  webhook_id: last.webhook_id,
  body: how.includes("reencoded") ? reencode(last.body) : last.body,
  attempt: how.includes("next_attempt") ? last.attempt + 1 : last.attempt,
  // The signature is of the body that is sent, whether its timestamp is new or not.
  signed_at: how.includes("resigned") ? now : last.signed_at
})

const runHistory = Effect.fnUntraced(function* (history: History, setting: Setting) {
  const minting = yield* Minting
  const clock = yield* Clock.Clock
  const startedAt = clock.monotonicTimeNanosUnsafe()
  const connection = yield* open(setting.url)
  const attempts: Array<Attempt> = []
  /** The last stamp of each event, in the order of first sending. */
  const events: Array<Stamped> = []

  const send = Effect.fnUntraced(function* (
    over: Connection,
    stamped: Stamped,
    about: Pick<Attempt, "op" | "event" | "first" | "raced">
  ) {
    const request = yield* make(stamped, setting.secret)
    const started = Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
    const { exchange, reused } = yield* deliver(over, request, setting)
    attempts.push({
      ...about,
      number: stamped.attempt,
      webhook_id: stamped.webhook_id,
      request,
      reused,
      started,
      exchange
    })
  })

  const mint = Effect.fnUntraced(function* (template: EventTemplate) {
    const stamped: Stamped = {
      ...(yield* minting.mint(template)),
      attempt: 1,
      signed_at: yield* Clock.currentTimeMillis
    }
    events.push(stamped)
    return { event: events.length - 1, stamped }
  })

  /** Sends so many copies, each as its own attempt over its own connection. */
  const race = Effect.fnUntraced(function* (
    last: Stamped,
    copies: number,
    about: Pick<Attempt, "op" | "event" | "first">
  ) {
    // An idle connection must not keep a receiver that serves one at a time from its others.
    yield* connection.renew
    const now = yield* Clock.currentTimeMillis
    const stamps = Array.from({ length: copies }, (_, index) => ({
      ...vary(last, ["resigned"], now),
      attempt: last.attempt + index + (about.first ? 0 : 1)
    }))
    const copy = (stamped: Stamped) =>
      Effect.scoped(Effect.flatMap(open(setting.url), (own) => send(own, stamped, { ...about, raced: true })))
    yield* Effect.forEach(stamps, copy, { concurrency: "unbounded", discard: true })
    events[about.event] = stamps.at(-1) ?? last
  })

  /** The event that a reference stands for. */
  const find = (ref: number): { readonly event: number; readonly last: Stamped } | null => {
    const event = events.length === 0 ? -1 : ref % events.length
    const last = events[event]
    return last === undefined ? null : { event, last }
  }

  const runAll = Effect.gen(function* () {
    for (const [op, operation] of history.ops.entries()) {
      switch (operation.k) {
        case "new": {
          const { event, stamped } = yield* mint(operation.event)
          yield* send(connection, stamped, { op, event, first: true, raced: false })
          break
        }
        case "again": {
          const known = find(operation.ref)
          if (known === null) break
          const stamped = vary(known.last, operation.how, yield* Clock.currentTimeMillis)
          events[known.event] = stamped
          if (operation.how.includes("new_connection")) yield* connection.renew
          yield* send(connection, stamped, { op, event: known.event, first: false, raced: false })
          break
        }
        case "race_new": {
          const { event, stamped } = yield* mint(operation.event)
          yield* race(stamped, operation.copies, { op, event, first: true })
          break
        }
        case "race_again": {
          const known = find(operation.ref)
          if (known !== null) yield* race(known.last, operation.copies, { op, event: known.event, first: false })
          break
        }
      }
    }
  })

  const broke = yield* runAll.pipe(
    Effect.as(null),
    Effect.catchTag("TargetUnusable", (error) => Effect.succeed(error))
  )
  return { trace: { history, attempts: attempts.toSorted((a, b) => a.started - b.started) }, broke }
})

/** What came of a history: its trace, and why it is not whole if the receiver could not be reached any more. */
export interface Executed {
  readonly trace: Trace
  readonly broke: TargetUnusable | null
}

/** Executes a history. */
export const execute = (history: History, setting: Setting): Effect.Effect<Executed, never, Minting | Crypto> =>
  Effect.scoped(runHistory(history, setting))
