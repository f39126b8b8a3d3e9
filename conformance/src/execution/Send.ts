/**
 * Functions that send requests. A request is exactly what doorhook would send, except for its variations. Every request
 * takes a slot and is recorded.
 */
import { causeIn, commandAdvice, Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { Effect, Redacted, Schema, Scope } from "effect"
import type { Exchange, HttpRequest } from "../evidence/Exchange.ts"
import type { Attempt, AttemptKind } from "../evidence/Trace.ts"
import { formOf, oldestAccepted, retry, variationOf, variedBody, withinTolerance } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { open, plainSending } from "../http/Wire.ts"
import type { Connection, Exchanged, Sending } from "../http/Wire.ts"
import { patienceOf, classify } from "../judgement/Criteria.ts"
import { stampTime } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"
import { mostTries } from "./Slots.ts"

/** The receiver can't be tested. */
export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  /** What was tried, the result, and what to do. */
  message: Schema.String,
  /** Whether the receiver itself is at fault: it was killed and did not start again. The trace shows this as well. */
  stayedDown: Schema.optionalKey(Schema.Boolean)
}) {}

const names = Signature.headerNames

/** How an attempt is made and recorded. */
export interface AttemptOptions {
  readonly op: number
  readonly kind?: AttemptKind
  readonly raced?: boolean
  /** Whether this counts as a first attempt of its event; by default, only the earliest attempt counts. */
  readonly first?: boolean
  readonly endpoint?: URL
  /** How late the attempt was sent, in milliseconds after it was due. */
  readonly overdue?: number
  /** Longest wait for the answer, in milliseconds, if it is not the deadline. */
  readonly limit?: number
  /** Sends only once, even if the receiver accepts no connection. */
  readonly once?: true
  /** Takes no slot: `own` if the caller already has a slot, `beyond` to exceed the cap of ten requests in flight. */
  readonly slot?: "own" | "beyond"
}

type Sent = Effect.Effect<Exchange, TargetUnusable, Crypto>

const withHeaders = (headers: HttpRequest["headers"], how: ReadonlyArray<Variation>): HttpRequest["headers"] => {
  const made: Record<string, string> = { ...headers }
  for (const { contentType, signature } of how.map(variationOf)) {
    if (contentType !== undefined) made["content-type"] = contentType
    const good = made[names.signature]
    if (signature !== undefined && good !== undefined) made[names.signature] = signature(good)
  }
  return made
}

/** How long ago the deadline of an expired event was, in milliseconds: longer than clocks differ. */
const pastDeadline = 3_600_000

const isReplay = (one: Variation): boolean => variationOf(one).replay === true

/** Makes a request with the event's latest attempt number and timestamp, signed if there is a secret. */
export const requestOf = (
  { setting: { secret } }: Execution,
  { attempt, created, expiresAt, signedAt }: Actor,
  body: string,
  how: ReadonlyArray<Variation> = []
): Effect.Effect<HttpRequest, never, Crypto> =>
  Crypto.use((crypto) =>
    DeliveryRequest.headersOf(
      crypto,
      { id: created.webhook_id, attempt, signedAt, expiresAt, isReplay: how.some(isReplay), body },
      secret === null ? [] : [secret]
    )
  ).pipe(Effect.map((headers) => ({ method: "POST", headers: withHeaders(headers, how), body })))

/**
 * Returns the timestamp of the next attempt. The timestamps of retries differ by a second or more, to detect receivers
 * that use the timestamp in their deduplication key.
 */
const nextSignedAt = (
  { sent, signedAt }: Actor,
  how: ReadonlyArray<Variation>,
  now: number,
  tolerance: number
): number => {
  const stamps = how.flatMap((one) => variationOf(one).stamp ?? [])
  const off = stamps.find((stamp) => stamp !== "now")
  if (off !== undefined) {
    return "age" in off
      ? now - Math.min(off.age, oldestAccepted * tolerance)
      : now + Math.round(off.offInTolerance * withinTolerance * tolerance)
  }
  if (sent === 1) return now
  return stamps.includes("now") ? Math.max(now, Math.min(signedAt + 1_000, now + 1_500)) : signedAt
}

/** Makes the request of an event's next attempt. By default, the first request is plain and the others are retries. */
export const prepare = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  how: ReadonlyArray<Variation> = actor.sent === 0 ? [] : retry
): Effect.fn.Return<HttpRequest, never, Crypto> {
  actor.sent += 1
  if (how.some((one) => variationOf(one).nextAttempt === true)) actor.attempt += 1
  const now = yield* stampTime(execution)
  if (how.some((one) => variationOf(one).expired === true)) actor.expiresAt = now - pastDeadline
  actor.signedAt = nextSignedAt(actor, how, now, execution.setting.criteria.tolerance)
  return yield* requestOf(execution, actor, variedBody(actor.created.filled, how), how)
})

/** Returns the exchange with its times counted from when the request was due. */
const overdueBy = (exchange: Exchange, overdue: number): Exchange =>
  exchange._tag === "Answered"
    ? { ...exchange, elapsed: exchange.elapsed + overdue, headers_elapsed: exchange.headers_elapsed + overdue }
    : { ...exchange, elapsed: exchange.elapsed + overdue }

const nowOf = ({ began, setting }: Execution): number => setting.now() - began

/** What is recorded about an attempt besides its exchange. */
interface Seen {
  readonly started: number
  readonly inFlight: number
  readonly limit?: Attempt["limit"]
  readonly kind?: AttemptKind
}

const record = Effect.fnUntraced(function* (
  { attempts, setting: { secret, criteria, urls } }: Execution,
  actor: Actor,
  about: AttemptOptions,
  request: HttpRequest,
  { exchange, reused }: Exchanged,
  { inFlight, kind = about.kind ?? "delivery", limit = null, started }: Seen
) {
  const counts = kind === "delivery" || kind === "load" || kind === "cut" || kind === "amid"
  if (kind !== "cut" && counts && classify(exchange, criteria) === "acknowledged") actor.acknowledged = true
  const overdue = about.overdue ?? 0
  const attempt: Attempt = {
    kind,
    op: about.op,
    event: actor.event,
    number: Number(request.headers[names.attempt] ?? actor.attempt),
    first: about.first ?? (counts && actor.sent === 1),
    raced: about.raced ?? false,
    provisional: false,
    inFlight,
    limit,
    webhook_id: request.headers[names.id] ?? actor.created.webhook_id,
    endpoint: (about.endpoint ?? urls[0]).href,
    request,
    reused,
    leaked: yield* leakOf(exchange, request, actor, secret),
    started: started - overdue,
    exchange: overdue === 0 ? exchange : overdueBy(exchange, overdue)
  }
  attempts.push(attempt)
  return attempt
})

/** A request and how it is sent. */
interface Transmission {
  readonly actor: Actor
  /** Makes the request. `again` is true when the attempt is sent again after a limit refused it. */
  readonly request: (again: boolean) => Effect.Effect<HttpRequest, never, Crypto>
  readonly sending: Partial<Sending>
  readonly about: AttemptOptions
  /**
   * Whether the receiver may legitimately have closed the connection by now. A reset is then not the receiver's fault.
   */
  readonly mayBeStale: boolean
}

/** Sends over a connection until the receiver is reached, and records the attempt. */
const sendOver = (
  execution: Execution,
  over: Connection,
  { about, actor, mayBeStale, request, sending }: Transmission,
  again: boolean
) => {
  const { hooks, criteria, slots, urls } = execution.setting
  return slots.counted((flight) =>
    Effect.gen(function* () {
      const sent = yield* request(again)
      let started = 0
      const send = Effect.suspend(() => {
        started = nowOf(execution)
        return over.send(sent, { ...plainSending(about.limit ?? patienceOf(criteria)), ...sending })
      })
      let exchanged = yield* send
      if (mayBeStale && isStale(exchanged)) {
        yield* record(execution, actor, about, sent, exchanged, { started, inFlight: flight.atOnce, kind: "cut" })
        exchanged = yield* send
      }
      for (const pause of about.once === true ? [] : [...pauses, null]) {
        if (!isUnreached(exchanged.exchange)) break
        if (pause !== null) yield* Effect.sleep(pause)
        else if (hooks.startsIt) {
          // If the suite has started the receiver itself, waits until the receiver is ready. Fails if the receiver
          // has ended.
          yield* Effect.mapError(hooks.ready, ({ message }) => new TargetUnusable({ message }))
        } else return yield* unusable(about.endpoint ?? urls[0], exchanged.exchange)
        exchanged = yield* send
      }
      if (isUnreached(exchanged.exchange) && about.once !== true) {
        return yield* unusable(about.endpoint ?? urls[0], exchanged.exchange)
      }
      const limit = slots.limitIn(flight, exchanged.exchange)
      // Of several copies at once, some may be refused for whatever reason. They are not sent again.
      const counted = about.raced === true || about.once === true || about.kind === "cut" ? null : limit
      const seen = { started, inFlight: flight.atOnce, limit: counted }
      return { ...(yield* record(execution, actor, about, sent, exchanged, seen)), flight }
    })
  )
}

/**
 * Sends an attempt when it is its turn. If a limit of the receiver refuses it, sends it again after the pause that the
 * receiver asked for, with nothing else in flight.
 */
const transmit = Effect.fnUntraced(function* (execution: Execution, over: Connection, one: Transmission) {
  const { slots } = execution.setting
  const { slot } = one.about
  const send = sendOver(execution, over, one, false)
  const { cut = null } = one.sending
  if (cut !== null && "bytes" in cut && cut.stalls) return (yield* slots.unfinished(send)).exchange
  let sent = yield* slot === undefined ? slots.one(send) : send
  if (slot !== undefined) return sent.exchange
  const again = sendOver(execution, over, { ...one, about: { ...one.about, first: sent.first } }, true)
  for (let tries = 0; tries < mostTries; tries++) {
    if (sent.limit === null || !slots.adapt(sent.flight, sent.limit)) break
    sent = yield* slots.alone(again)
  }
  return sent.exchange
})

/**
 * Sends over a new connection. Closes the history's idle connection first, because a receiver may serve only one at a
 * time.
 */
const overItsOwn = (execution: Execution, one: Transmission): Sent =>
  Effect.scopedWith((own) =>
    execution.connection.renew.pipe(
      Effect.andThen(open(one.about.endpoint ?? execution.setting.urls[0])),
      Effect.provideService(Scope.Scope, own),
      Effect.flatMap((over) => transmit(execution, over, one))
    )
  )

/** Time for a receiver to close a connection after its answer, in milliseconds. */
const untilClosed = 40

/**
 * Sends an event with variations, by default over the history's own connection.
 *
 * If a limit of the receiver refuses the event, it is sent again after a pause, and only that attempt counts. This does
 * not apply to copies sent at the same time. If a kept connection is reset without an answer, the event is sent again
 * over a new connection, as a sender would do. Then the first request is recorded as `cut`, and only the second counts.
 */
export const send = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  how: ReadonlyArray<Variation>,
  about: AttemptOptions,
  over = execution.connection
): Effect.fn.Return<Exchange, TargetUnusable, Crypto> {
  const sending = formOf(how)
  const connections = how.map((one) => variationOf(one).connection)
  if (connections.includes("new")) yield* over.renew
  const kept = connections.includes("kept")
  // Long enough to notice that the receiver closes the connection.
  if (kept) yield* Effect.sleep(untilClosed)
  const one: Transmission = {
    actor,
    request: (again) => prepare(execution, actor, again ? [...new Set([...how, ...retry])] : how),
    sending,
    about,
    mayBeStale: !kept
  }
  return yield* sending.close || about.endpoint !== undefined
    ? overItsOwn(execution, one)
    : transmit(execution, over, one)
})

/**
 * Sends a request unchanged, by default over a new connection. With `mayBeStale`, sends it again if a kept connection is
 * reset.
 */
export const sendRequest = (
  execution: Execution,
  actor: Actor,
  request: HttpRequest,
  sending: Partial<Sending>,
  about: AttemptOptions,
  over?: Connection,
  mayBeStale = false
): Sent => {
  const one = { actor, request: () => Effect.succeed(request), sending, about, mayBeStale }
  return over === undefined ? overItsOwn(execution, one) : transmit(execution, over, one)
}

/** Sends once to a receiver that may be gone; null if it was not reached. */
export const sendOnce = (
  execution: Execution,
  actor: Actor,
  over: Connection,
  about: AttemptOptions
): Effect.Effect<Exchange | null, never, Crypto> =>
  execution.setting.slots.one(
    execution.setting.slots.counted((flight) =>
      Effect.gen(function* () {
        const request = yield* prepare(execution, actor)
        const started = nowOf(execution)
        const exchanged = yield* over.send(request, plainSending(patienceOf(execution.setting.criteria)))
        if (isUnreached(exchanged.exchange)) {
          actor.sent -= 1
          return null
        }
        yield* record(execution, actor, about, request, exchanged, { started, inFlight: flight.atOnce })
        return exchanged.exchange
      })
    )
  )

/**
 * Runs several senders at the same time, each with a new connection. Closes the history's idle connection first,
 * because a receiver may serve few connections.
 */
export const atOnce = Effect.fnUntraced(function* <E, R>(
  { connection, setting }: Execution,
  count: number,
  each: (own: Connection, index: number) => Effect.Effect<unknown, E, R>
) {
  yield* connection.renew
  yield* Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    (index) => Effect.scoped(Effect.flatMap(open(setting.urls[0]), (own) => each(own, index))),
    { concurrency: "unbounded", discard: true }
  )
})

/** Pauses between tries to reach a receiver, which a supervisor may be starting, in milliseconds. */
const pauses = [250, 1_000]

/** Whether the receiver never saw the request. */
const isUnreached = (exchange: Exchange): boolean => exchange._tag === "Failed" && !exchange.connected

/** Whether the server closed an idle connection, as it may at any time (RFC 9112 section 9.3.1). */
const isStale = ({ exchange, reused }: Exchanged): boolean =>
  reused && exchange._tag === "Failed" && exchange.outcome === "connection_reset"

/** Returns advice on a connection that failed. */
const adviceFor = ({ protocol }: URL, exchange: Exchange): string => {
  const [outcome, detail] = exchange._tag === "Failed" ? [exchange.outcome, exchange.detail] : [null, null]
  const cause = causeIn(detail)
  if (cause !== null) return commandAdvice[cause]
  if (outcome === "dns") return "Does the name resolve on this machine? Correct --url, or the name's DNS entries."
  if (outcome === "tls" && protocol === "https:") return "Check the receiver's TLS settings and its log."
  const isClosed = outcome === "connection_reset" && protocol === "http:"
  return `Is the receiver still running?${isClosed ? ` ${commandAdvice.perhaps_https}` : ""}`
}

export const unusable = (url: URL, exchange: Exchange): TargetUnusable => {
  const why = exchange._tag === "Failed" ? exchange.detail : ""
  const tries = pauses.length + 1
  return new TargetUnusable({
    message: `No connection to ${url.origin} in ${tries} tries (${why}). ${adviceFor(url, exchange)}`
  })
}

/** Prefix of a secret or a private key. */
const secretPrefix = /^whs(?:ec|k)_/

/** Returns the forms that a MAC may have in an answer: base64 (without padding), base64url and hex. */
const formsOf = (mac: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(mac, "base64")
  return [mac.replace(/=+$/, ""), bytes.toString("base64url"), bytes.toString("hex")]
}

/** Matches a word that is long enough to be a MAC. */
const holdsMac = /[A-Za-z0-9+/_-]{43}/

/** Returns what the answer reveals to a forger beyond what the request contained; null if nothing. */
const leakOf = Effect.fnUntraced(function* (
  exchange: Exchange,
  request: HttpRequest,
  { created, signedAt }: Actor,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<Attempt["leaked"], never, Crypto> {
  if (secret === null || exchange._tag !== "Answered") return null
  // Some JSON serialisers escape slashes.
  const said = [exchange.excerpt, ...Object.values(exchange.headers)].join("\n").replaceAll("\\/", "/")
  const key = Redacted.value(secret).replace(secretPrefix, "")
  if (key !== "" && said.includes(key)) return "secret"
  if (!holdsMac.test(said)) return null
  const stated = Number(request.headers[names.timestamp])
  const timestamps = [Math.floor(signedAt / 1_000), ...(Number.isInteger(stated) ? [stated] : [])]
  const sent = [...Object.values(request.headers), request.body].join("\n")
  for (const timestamp of new Set(timestamps)) {
    const good = yield* Signature.sign([secret], {
      id: request.headers[names.id] || created.webhook_id,
      timestamp,
      body: request.body
    })
    const mac = good.slice(good.indexOf(",") + 1)
    if (mac !== "" && !sent.includes(mac) && formsOf(mac).some((form) => said.includes(form))) return "signature"
  }
  return null
})
