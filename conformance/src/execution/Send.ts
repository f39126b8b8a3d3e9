/**
 * The ways to send. A request is exactly what doorhook would send, apart from the changes that its variations make. Every send takes a slot and is
 * recorded.
 */
import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { Effect, Redacted, Schema, Scope } from "effect"
import type { Exchange, HttpRequest } from "../evidence/Exchange.ts"
import type { Attempt, AttemptKind } from "../evidence/Trace.ts"
import { formOf, retry, variationOf, variedBody, withinTolerance } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { open, plainSending } from "../http/Wire.ts"
import type { Connection, Exchanged, Sending } from "../http/Wire.ts"
import { patienceOf, classify } from "../judgement/Terms.ts"
import { Slots, stampTime } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"

/** The receiver can't be tested: nothing can be said about it. */
export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  /** What was tried, the result, and what to do. */
  message: Schema.String,
  /** Whether it is the receiver's own fault, which a trace shows: it was killed and did not start again. */
  stayedDown: Schema.optionalKey(Schema.Boolean)
}) {}

const names = Signature.headerNames
/** How an attempt is made and recorded. */
export interface AttemptOptions {
  readonly op: number
  readonly kind?: AttemptKind
  readonly raced?: boolean
  /** Whether it counts as a first attempt; by default, the first one does. */
  readonly first?: boolean
  readonly endpoint?: URL
  /** Milliseconds between when it was due and when it was made. */
  readonly overdue?: number
  /** Whether it is sent once, even if the receiver accepts no connection. */
  readonly once?: true
  /** Whether it goes beyond the cap of ten, or holds a slot already. */
  readonly slot?: "own" | "beyond"
}

type Sent = Effect.Effect<Exchange, TargetUnusable, Crypto | Slots>

const withHeaders = (headers: HttpRequest["headers"], how: ReadonlyArray<Variation>): HttpRequest["headers"] => {
  const made: Record<string, string> = { ...headers }
  for (const { contentType, signature } of how.map(variationOf)) {
    if (contentType !== undefined) made["content-type"] = contentType
    const good = made[names.signature]
    if (signature !== undefined && good !== undefined) made[names.signature] = signature(good)
  }
  return made
}

/** Writes and, where a secret is given, signs a request with an event's latest stamp. */
export const requestOf = (
  { setting: { secret } }: Execution,
  { attempt, created, signedAt }: Actor,
  body: string,
  how: ReadonlyArray<Variation> = []
): Effect.Effect<HttpRequest, never, Crypto> =>
  Crypto.use((crypto) =>
    DeliveryRequest.headersOf(
      crypto,
      { id: created.webhook_id, attempt, signedAt, body },
      secret === null ? [] : [secret]
    )
  ).pipe(Effect.map((headers) => ({ method: "POST", headers: withHeaders(headers, how), body })))

/** The timestamp of the next attempt. Retries differ by a second or more, so that a key made of the timestamp shows. */
const nextSignedAt = (
  { sent, signedAt }: Actor,
  how: ReadonlyArray<Variation>,
  now: number,
  tolerance: number
): number => {
  const stamps = how.flatMap((one) => variationOf(one).stamp ?? [])
  const off = stamps.find((stamp) => stamp !== "now")
  if (off !== undefined) {
    return now + ("off" in off ? off.off : Math.round(off.offInTolerance * withinTolerance * tolerance))
  }
  if (sent === 1) return now
  return stamps.includes("now") ? Math.max(now, Math.min(signedAt + 1_000, now + 1_500)) : signedAt
}

/** The request of an event's next attempt: by default the first is plain, the others are retries. */
export const prepare = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  how: ReadonlyArray<Variation> = actor.sent === 0 ? [] : retry
): Effect.fn.Return<HttpRequest, never, Crypto> {
  actor.sent += 1
  if (how.some((one) => variationOf(one).nextAttempt === true)) actor.attempt += 1
  actor.signedAt = nextSignedAt(actor, how, yield* stampTime(execution), execution.setting.terms.tolerance)
  return yield* requestOf(execution, actor, variedBody(actor.created.filled, how), how)
})

/** An exchange, timed from when it was due. */
const overdueBy = (exchange: Exchange, overdue: number): Exchange =>
  exchange._tag === "Answered"
    ? { ...exchange, elapsed: exchange.elapsed + overdue, headers_elapsed: exchange.headers_elapsed + overdue }
    : { ...exchange, elapsed: exchange.elapsed + overdue }

const nowOf = ({ began, setting }: Execution): number => setting.now() - began

/** What is recorded of an attempt besides its exchange. */
interface Seen {
  readonly started: number
  readonly inFlight: number
  readonly crowded?: boolean
  readonly kind?: AttemptKind
}

const record = Effect.fnUntraced(function* (
  { attempts, setting: { secret, terms, urls } }: Execution,
  actor: Actor,
  about: AttemptOptions,
  request: HttpRequest,
  { exchange, reused }: Exchanged,
  { crowded = false, inFlight, kind = about.kind ?? "delivery", started }: Seen
) {
  const counts = kind === "delivery" || kind === "load" || kind === "cut" || kind === "amid"
  if (kind !== "cut" && counts && classify(exchange, terms) === "acknowledged") actor.acknowledged = true
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
    crowded,
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
  /** Makes the request; `alone` for the same attempt sent again alone. */
  readonly request: (alone: boolean) => Effect.Effect<HttpRequest, never, Crypto>
  readonly sending: Partial<Sending>
  readonly about: AttemptOptions
  /** Whether the receiver may have closed the connection by now, so that a reset says nothing. */
  readonly mayBeStale: boolean
}

/** Sends over a connection until the receiver is reached, and records the attempt. */
const sendOver = (
  execution: Execution,
  over: Connection,
  { about, actor, mayBeStale, request, sending }: Transmission,
  alone: boolean
) =>
  Slots.use((slots) =>
    slots.counted((atOnce) =>
      Effect.gen(function* () {
        const { setting } = execution
        const sent = yield* request(alone)
        let started = 0
        const send = Effect.suspend(() => {
          started = nowOf(execution)
          return over.send(sent, { ...plainSending(patienceOf(setting.terms)), ...sending })
        })
        let exchanged = yield* send
        if (mayBeStale && isStale(exchanged)) {
          yield* record(execution, actor, about, sent, exchanged, { started, inFlight: atOnce(), kind: "cut" })
          exchanged = yield* send
        }
        for (const pause of about.once === true ? [] : [...pauses, null]) {
          if (!isUnreached(exchanged.exchange)) break
          if (pause !== null) yield* Effect.sleep(pause)
          else if (setting.hooks.startsIt) {
            // A receiver that the suite starts itself may still be starting, or has ended and says why.
            yield* Effect.mapError(setting.hooks.ready, ({ message }) => new TargetUnusable({ message }))
          } else return yield* unusable(about.endpoint ?? setting.urls[0], exchanged.exchange)
          exchanged = yield* send
        }
        if (isUnreached(exchanged.exchange) && about.once !== true) {
          return yield* unusable(about.endpoint ?? setting.urls[0], exchanged.exchange)
        }
        const mayRepeat = about.slot === undefined && about.raced !== true && about.kind !== "cut"
        const crowded = isCrowding(exchanged.exchange) && atOnce() > 1 && mayRepeat && execution.beside === 0
        return yield* record(execution, actor, about, sent, exchanged, { started, inFlight: atOnce(), crowded })
      })
    )
  )

/** Takes a slot unless it has one. */
const slotted = <A, E, R>({ slot }: AttemptOptions, send: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Slots> =>
  slot === undefined ? Slots.use((slots) => slots.take(1)(send)) : send

const transmit = Effect.fnUntraced(function* (execution: Execution, over: Connection, one: Transmission) {
  const slots = yield* Slots
  const { crowded, exchange, first } = yield* slotted(one.about, sendOver(execution, over, one, false))
  if (!crowded || !slots.mayRepeat()) return exchange
  const repeat = { ...one, about: { ...one.about, first } }
  return (yield* slots.alone(sendOver(execution, over, repeat, true))).exchange
})

/** Sends over a connection of its own, and closes the idle one: a receiver may serve one connection at a time. */
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
 * Sends an event with variations, over the history's own connection by default. If it is refused with 429 or 503 beside others,
 * it is sent again alone before it counts, except for copies sent at once. If a kept connection is reset without an answer, the
 * event is sent again over a new one, as a sender does: the first send is recorded as `cut`, the second counts.
 */
export const send = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  how: ReadonlyArray<Variation>,
  about: AttemptOptions,
  over = execution.connection
): Effect.fn.Return<Exchange, TargetUnusable, Crypto | Slots> {
  const sending = formOf(how)
  const connections = how.map((one) => variationOf(one).connection)
  if (connections.includes("new")) yield* over.renew
  const kept = connections.includes("kept")
  // Long enough to see that the receiver has closed the connection.
  if (kept) yield* Effect.sleep(untilClosed)
  const one: Transmission = {
    actor,
    request: (alone) => prepare(execution, actor, alone ? [...new Set([...how, ...retry])] : how),
    sending,
    about,
    mayBeStale: !kept
  }
  return yield* sending.close || about.endpoint !== undefined
    ? overItsOwn(execution, one)
    : transmit(execution, over, one)
})

/** Sends a request as it is, by default over a connection of its own. */
export const sendRequest = (
  execution: Execution,
  actor: Actor,
  request: HttpRequest,
  sending: Partial<Sending>,
  about: AttemptOptions,
  over?: Connection
): Sent => {
  const one = { actor, request: () => Effect.succeed(request), sending, about, mayBeStale: false }
  return over === undefined ? overItsOwn(execution, one) : transmit(execution, over, one)
}

/** Sends once to a receiver that may be gone; null if it was not reached. */
export const sendOnce = (
  execution: Execution,
  actor: Actor,
  over: Connection,
  about: AttemptOptions
): Effect.Effect<Exchange | null, never, Crypto | Slots> =>
  slotted(
    about,
    Slots.use((slots) =>
      slots.counted((atOnce) =>
        Effect.gen(function* () {
          const request = yield* prepare(execution, actor)
          const started = nowOf(execution)
          const exchanged = yield* over.send(request, plainSending(patienceOf(execution.setting.terms)))
          if (isUnreached(exchanged.exchange)) {
            actor.sent -= 1
            return null
          }
          yield* record(execution, actor, about, request, exchanged, { started, inFlight: atOnce() })
          return exchanged.exchange
        })
      )
    )
  )

/** Sends several at once, each over a connection of its own, and closes the idle one: a receiver may serve one at a time. */
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

/** Pauses before another try to reach a receiver, in milliseconds: a supervisor may be starting it. */
const pauses = [250, 1_000]

/** Whether the receiver never saw the request. */
const isUnreached = (exchange: Exchange): boolean => exchange._tag === "Failed" && !exchange.connected

/** A server may close an idle connection at any time (RFC 9112 section 9.3.1): the request is sent again at once. */
const isStale = ({ exchange, reused }: Exchanged): boolean =>
  reused && exchange._tag === "Failed" && exchange.outcome === "connection_reset"

/** Whether a receiver with a limit of its own refused one request too many (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const isCrowding = (exchange: Exchange): boolean =>
  exchange._tag === "Answered" && (exchange.status === 429 || exchange.status === 503)

/** What may help against a failed connection. */
const adviceFor = ({ protocol }: URL, exchange: Exchange): string => {
  const outcome = exchange._tag === "Failed" ? exchange.outcome : null
  if (outcome === "dns") return "Does the name resolve on this machine? Correct --url, or the name's DNS entries."
  return outcome === "tls" && protocol === "https:"
    ? "Its certificate must be valid now, for the name in --url, and issued by an authority that Node.js knows: add your own with NODE_EXTRA_CA_CERTS=FILE."
    : "Is the receiver still running?"
}

export const unusable = (url: URL, exchange: Exchange): TargetUnusable => {
  const why = exchange._tag === "Failed" ? exchange.detail : ""
  const tries = pauses.length + 1
  return new TargetUnusable({
    message: `No connection to ${url.origin} in ${tries} tries (${why}). ${adviceFor(url, exchange)}`
  })
}

/** What a secret, or a private key, begins with. */
const secretPrefix = /^whs(?:ec|k)_/

/** A MAC as it may stand in an answer: base64 with or without its padding, of either alphabet, or hex. */
const formsOf = (mac: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(mac, "base64")
  return [mac.replace(/=+$/, ""), bytes.toString("base64url"), bytes.toString("hex")]
}

/** A word that is long enough to be a MAC. */
const holdsMac = /[A-Za-z0-9+/_-]{43}/

/** What the answer leaks that a forger needs, and the request itself did not hold; null for nothing. */
const leakOf = Effect.fnUntraced(function* (
  exchange: Exchange,
  request: HttpRequest,
  { created, signedAt }: Actor,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<Attempt["leaked"], never, Crypto> {
  if (secret === null || exchange._tag !== "Answered") return null
  // Some writers of JSON put a backslash before each slash.
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
