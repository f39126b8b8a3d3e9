/**
 * A history in execution: what was minted, sent and seen so far, and the few ways to send. Operations (`Perform.ts`) use
 * nothing else.
 */
import { Signature } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Effect, Scope } from "effect"
import type { Redacted } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import type { Attempt, AttemptKind, Intervention, SentEvent, Shortfall, Trace } from "../evidence/Trace.ts"
import { interventionsDuring } from "../evidence/Trace.ts"
import type { History } from "../history/History.ts"
import { Minting } from "../history/Minting.ts"
import type { Given, MintedEvent } from "../history/Minting.ts"
import { isKnownKind } from "../history/Template.ts"
import type { EventTemplate } from "../history/Template.ts"
import { formOf, retry, variationOf } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import type { Connection, Exchanged, Sending } from "../http/Wire.ts"
import { open, plainSending } from "../http/Wire.ts"
import { read } from "../judgement/Reading.ts"
import { patienceOf } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import { leakOf } from "./Leaks.ts"
import { isCrowding, isStale, isUnreached, pauses, unusable } from "./Reaching.ts"
import { Slots } from "./Slots.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import { make, nextSignedAt, variedBody } from "./WebhookRequest.ts"
import type { Stamp } from "./WebhookRequest.ts"

/** What the histories of one run share. */
export interface Setting {
  /** The receiver's URLs, first the one that most events go to. */
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly secret: Redacted.Redacted<string> | null
  /** What the receiver is bound to: events beside those of the history are of these kinds. Null: nothing was declared. */
  readonly bindings: ReadonlyArray<string> | null
  readonly terms: Terms
  readonly hooks: Hooks
  /** What is done to the receiver, for the whole run: each is noted once, with its times. */
  readonly interventions: Array<Intervention>
  /** How many events the run has sent. */
  readonly sent: { count: number }
  /** Milliseconds since the run began, by a clock that never jumps. */
  readonly now: () => number
  /** What the hooks have started the receiver after in this run: they can do that. */
  readonly startedAfter: Set<"killed" | "running">
  /** By how many milliseconds the receiver's clock was moved forward: what is sent is stamped by it. */
  readonly clock: { ahead: number }
  readonly comeback: number
  /** How long an acknowledgement usually takes while nothing else is going on, in milliseconds, as far as is known. */
  readonly typical: () => number
  /** Waiting times are multiplied by this. */
  readonly pace: number
  /** Events a second; 0 where none was declared. */
  readonly peakRate: number
}

/** What differs from case to case. */
export interface Occasion {
  readonly title: string
  /** Waits until nothing else of the run is going on. */
  readonly allElseDone: Effect.Effect<void>
  /** The most time that `filler` and `volleys` take, in milliseconds: in the lane `last`, all that is left. */
  readonly fillerTime: number
}

/** An event of the history, with the stamp of its latest attempt. */
export interface Actor {
  /** Its place in the trace. */
  readonly event: number
  readonly minted: MintedEvent
  /** What the latest attempt said: its number and when it was signed, in milliseconds since the epoch. */
  attempt: number
  signedAt: number
  /** How often it was sent as an event. */
  sent: number
  acknowledged: boolean
}

/** What is said of an attempt before it is made. */
export interface About {
  readonly op: number
  readonly kind?: AttemptKind
  readonly raced?: boolean
  /** Whether it counts as a first attempt; where nothing is said, the first one does. */
  readonly first?: boolean
  readonly endpoint?: URL
  /** Milliseconds between the moment it was due and the moment it was made. */
  readonly overdue?: number
  /** Whether it is sent once, though the receiver may take no more connections. */
  readonly once?: true
  /** Whether it goes beyond the cap of ten, or holds a slot already. */
  readonly slot?: "own" | "beyond"
}

export interface Execution {
  readonly setting: Setting
  readonly occasion: Occasion
  /** Events that can be referred to. */
  readonly actors: ReadonlyArray<Actor>
  /** The event that a reference stands for; null where none was sent yet. */
  readonly find: (ref: number) => Actor | null
  /** Milliseconds since the history began. */
  readonly now: () => number
  readonly mint: (
    template: EventTemplate,
    options?: Given & { readonly bulk?: boolean; readonly referable?: boolean }
  ) => Effect.Effect<Actor>
  /** The request of an event's next attempt, which its stamp follows. */
  readonly prepare: (actor: Actor, how: ReadonlyArray<Variation>) => Effect.Effect<HttpRequest, never, Crypto>
  /**
   * Sends an event as `how` says; over the history's own connection unless that says otherwise. Takes a slot. A refusal
   * with 429 or 503 beside others is sent again alone before it counts, unless it is one of several copies. Where a kept
   * connection is reset without an answer it is sent again over a new one, as a sender does; the first sending is recorded
   * as `cut`, and the second counts as the first attempt.
   */
  readonly send: (
    actor: Actor,
    how: ReadonlyArray<Variation>,
    about: About,
    over?: Connection
  ) => Effect.Effect<Exchange, TargetUnusable, Crypto>
  /** Sends a request as it is, over a connection of its own unless one is given, and records it. Takes a slot. */
  readonly sendRequest: (
    actor: Actor,
    request: HttpRequest,
    sending: Partial<Sending>,
    about: About,
    over?: Connection
  ) => Effect.Effect<Exchange, TargetUnusable, Crypto>
  /** Sends once to a receiver that may be gone; null when nothing arrived. */
  readonly sendOnce: (actor: Actor, over: Connection, about: About) => Effect.Effect<Exchange | null, never, Crypto>
  /** Goes on beside the history, to its end at the latest. */
  readonly beside: (effect: Effect.Effect<unknown, TargetUnusable, Crypto>) => Effect.Effect<void, never, Crypto>
  /** Marks the latest attempt of an event as not the last of its row. */
  readonly markProvisional: (actor: Actor) => void
  /** Notes that something was done to the receiver, for this history and all that ran at the time. */
  readonly intervene: (
    op: number,
    what: Intervention["what"],
    from: number,
    more?: Pick<Intervention, "down" | "unended">
  ) => void
  /** Notes what was not done in full; nothing where all of it was. */
  readonly fallShort: (shortfall: Shortfall) => void
  readonly connection: Connection
}

/** A history in execution, and what it has recorded. */
export interface Begun extends Execution {
  readonly attempts: ReadonlyArray<Attempt>
  readonly trace: (history: History) => Trace
}

/** What the latest attempt of an event said of itself. */
export const stampOf = ({ attempt, minted, signedAt }: Actor): Stamp => ({
  webhookId: minted.webhook_id,
  attempt,
  signedAt
})

/** How long a receiver that closes a connection after its answer takes to do so, in milliseconds. */
const untilClosed = 40

const names = Signature.headerNames

/** What came of an attempt, timed from when it was due. */
const overdueBy = (exchange: Exchange, overdue: number): Exchange =>
  exchange._tag === "Answered"
    ? { ...exchange, elapsed: exchange.elapsed + overdue, headers_elapsed: exchange.headers_elapsed + overdue }
    : { ...exchange, elapsed: exchange.elapsed + overdue }

/** A request that is to be sent, and how. */
interface Transmission {
  readonly actor: Actor
  readonly request: Effect.Effect<HttpRequest, never, Crypto>
  /** The request of the same attempt sent again alone. */
  readonly again: Effect.Effect<HttpRequest, never, Crypto>
  readonly sending: Sending
  readonly about: About
  /** Whether its connection may have been closed by now, so that a reset of it says nothing. */
  readonly mayBeStale: boolean
}

/** Begins a history, with nothing sent yet. */
export const begin = Effect.fnUntraced(function* (
  setting: Setting,
  occasion: Occasion
): Effect.fn.Return<Begun, never, Minting | Slots | Scope.Scope> {
  const minting = yield* Minting
  const slots = yield* Slots
  const scope = yield* Effect.scope
  const { secret, terms, urls } = setting
  const connection = yield* open(urls[0])
  const began = setting.now()
  const sentBefore = setting.sent.count
  const now = (): number => setting.now() - began
  const limit = patienceOf(terms)
  const attempts: Array<Attempt> = []
  const events: Array<SentEvent> = []
  const shortfalls: Array<Shortfall> = []
  const actors: Array<Actor> = []
  const own = new Map<Intervention, number>()
  /** Requests that go on beside the history hold slots: nothing can be sent alone. */
  let beside = 0

  /** The time of stamps, which is the receiver's. */
  const stampTime = Effect.map(Clock.currentTimeMillis, (milliseconds) => milliseconds + setting.clock.ahead)

  const record = Effect.fnUntraced(function* (
    { actor, about }: Pick<Transmission, "about" | "actor">,
    request: HttpRequest,
    started: number,
    { exchange, reused }: Exchanged,
    {
      crowded = false,
      inFlight,
      kind = about.kind ?? "delivery"
    }: { crowded?: boolean; inFlight: number; kind?: AttemptKind }
  ) {
    const counts = kind === "delivery" || kind === "load" || kind === "cut" || kind === "amid"
    if (kind !== "cut" && counts && read(exchange, terms) === "acknowledged") actor.acknowledged = true
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
      webhook_id: request.headers[names.id] ?? actor.minted.webhook_id,
      endpoint: (about.endpoint ?? urls[0]).href,
      request,
      reused,
      leaked: yield* leakOf(exchange, request, stampOf(actor), secret),
      started: started - overdue,
      exchange: overdue === 0 ? exchange : overdueBy(exchange, overdue)
    }
    attempts.push(attempt)
    return attempt
  })

  /** Sends over a connection until something arrives, and records it; whether it was refused for coming beside others. */
  const sendOver = (over: Connection, one: Transmission, alone: boolean) =>
    slots.counted((atOnce) =>
      Effect.gen(function* () {
        const { about, mayBeStale, sending } = one
        const request = yield* alone ? one.again : one.request
        const send = over.send(request, sending)
        let started = now()
        let exchanged = yield* send
        if (mayBeStale && isStale(exchanged)) {
          yield* record(one, request, started, exchanged, { inFlight: atOnce(), kind: "cut" })
          started = now()
          exchanged = yield* send
        }
        for (const pause of about.once === true ? [] : [...pauses, null]) {
          if (!isUnreached(exchanged.exchange)) break
          if (pause === null) return yield* unusable(about.endpoint ?? urls[0], exchanged.exchange)
          yield* Effect.sleep(pause)
          started = now()
          exchanged = yield* send
        }
        const { exchange } = exchanged
        const crowded =
          isCrowding(exchange) &&
          atOnce() > 1 &&
          about.slot === undefined &&
          about.raced !== true &&
          about.kind !== "cut" &&
          beside === 0
        return yield* record(one, request, started, exchanged, { crowded, inFlight: atOnce() })
      })
    )

  /** Takes a slot unless it has one. */
  const slotted = ({ slot }: About): (<A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
    slot === undefined ? slots.take(1) : (send) => send

  const transmit = Effect.fnUntraced(function* (over: Connection, one: Transmission) {
    const { crowded, exchange, first } = yield* slotted(one.about)(sendOver(over, one, false))
    if (!crowded || !slots.mayRepeat()) return exchange
    const repeat = { ...one, about: { ...one.about, first } }
    return (yield* slots.alone(sendOver(over, repeat, true))).exchange
  })

  /** Over a connection of its own. An idle one must not keep a receiver that serves one at a time from it. */
  const overItsOwn = <A, E, R>(
    endpoint: URL | undefined,
    use: (over: Connection) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.scopedWith((own) =>
      connection.renew.pipe(
        Effect.andThen(Effect.provideService(open(endpoint ?? urls[0]), Scope.Scope, own)),
        Effect.flatMap(use)
      )
    )

  const prepare: Execution["prepare"] = Effect.fnUntraced(function* (actor, how) {
    actor.sent += 1
    if (how.some((one) => variationOf(one).nextAttempt === true)) actor.attempt += 1
    actor.signedAt = nextSignedAt(actor.signedAt, how, yield* stampTime, actor.sent === 1, terms.tolerance)
    return yield* make(stampOf(actor), variedBody(actor.minted, how), how, secret)
  })

  const send: Execution["send"] = Effect.fnUntraced(function* (actor, how, about, over = connection) {
    const sending = { ...plainSending(limit), ...formOf(how) }
    const connections = how.map((one) => variationOf(one).connection)
    if (connections.includes("new")) yield* over.renew
    const kept = connections.includes("kept")
    // Long enough to learn that the receiver has closed the connection.
    if (kept) yield* Effect.sleep(untilClosed)
    const one = {
      actor,
      request: prepare(actor, how),
      again: prepare(actor, [...new Set([...how, ...retry])]),
      sending,
      about,
      mayBeStale: !kept
    }
    return yield* sending.close || about.endpoint !== undefined
      ? overItsOwn(about.endpoint, (itsOwn) => transmit(itsOwn, one))
      : transmit(over, one)
  })

  return {
    setting,
    occasion,
    actors,
    attempts,
    now,
    connection,
    find: (ref) => actors[actors.length === 0 ? -1 : ref % actors.length] ?? null,
    mint: Effect.fnUntraced(function* (template, { bulk = false, referable = true, ...given } = {}) {
      const minted = yield* minting.mint(template, given)
      const { data_id, digest, exactDigest, webhook_id } = minted
      const actor: Actor = {
        event: events.length,
        minted,
        attempt: 1,
        signedAt: yield* stampTime,
        sent: 0,
        acknowledged: false
      }
      setting.sent.count += 1
      events.push({
        webhookId: webhook_id,
        resourceType: template.resource_type,
        dataId: data_id,
        documented: isKnownKind(template),
        digest,
        ...(exactDigest === null ? {} : { exactDigest }),
        bulk
      })
      if (referable) actors.push(actor)
      return actor
    }),
    prepare,
    send,
    sendRequest: (actor, request, sending, about, over) => {
      const one = {
        actor,
        request: Effect.succeed(request),
        again: Effect.succeed(request),
        sending: { ...plainSending(limit), ...sending },
        about,
        mayBeStale: false
      }
      return over === undefined ? overItsOwn(about.endpoint, (itsOwn) => transmit(itsOwn, one)) : transmit(over, one)
    },
    sendOnce: (actor, over, about) =>
      slotted(about)(
        slots.counted((atOnce) =>
          Effect.gen(function* () {
            const request = yield* prepare(actor, actor.sent === 0 ? [] : retry)
            const started = now()
            const exchanged = yield* over.send(request, plainSending(limit))
            if (isUnreached(exchanged.exchange)) {
              actor.sent -= 1
              return null
            }
            yield* record({ actor, about }, request, started, exchanged, { inFlight: atOnce() })
            return exchanged.exchange
          })
        )
      ),
    // A receiver that can't be reached shows in what follows.
    beside: (effect) =>
      Effect.suspend(() => {
        beside += 1
        return effect.pipe(Effect.ensuring(Effect.sync(() => (beside -= 1))), Effect.forkIn(scope), Effect.asVoid)
      }),
    markProvisional: (actor) => {
      const place = attempts.findLastIndex(({ event }) => event === actor.event)
      const last = attempts[place]
      if (last !== undefined) attempts[place] = { ...last, provisional: true }
    },
    intervene: (op, what, from, more) => {
      const intervention = { what, by: occasion.title, from, until: setting.now(), ...more }
      own.set(intervention, op)
      setting.interventions.push(intervention)
    },
    fallShort: (shortfall) => {
      if (shortfall.done < shortfall.of) shortfalls.push(shortfall)
    },
    trace: (history) =>
      during(
        {
          history,
          began,
          ended: setting.now(),
          events,
          attempts: attempts.toSorted((a, b) => a.started - b.started),
          interventions: Array.from(own, ([one, op]) => ({ op, ...one })),
          otherEvents: setting.sent.count - sentBefore - events.length,
          shortfalls,
          effects: [],
          effectsElsewhere: [],
          sight: { byDataId: false, blindToUrls: false, foldsCase: false }
        },
        setting.interventions
      )
  }
})

/** The trace with what others did to the receiver in its time. What the history did itself is in it already. */
export const during = (trace: Trace, all: ReadonlyArray<Intervention>): Trace => {
  const own = trace.interventions.filter(({ op }) => op !== null)
  const isOwn = ({ by, from, what }: Intervention): boolean =>
    own.some((one) => one.by === by && one.from === from && one.what === what)
  const others = interventionsDuring(all, trace).filter((one) => !isOwn(one))
  return { ...trace, interventions: [...own, ...others].toSorted((a, b) => a.from - b.from) }
}
