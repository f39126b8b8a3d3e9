/**
 * A history in execution: what was minted, sent and seen so far, and the few ways to send.
 */
import { builtInTable, Signature } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import { read } from "../checks/Reading.ts"
import { patienceOf } from "../checks/Terms.ts"
import type { EventTemplate, Variation } from "../history/History.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import type { Connection, Exchanged } from "./Connection.ts"
import { open } from "./Connection.ts"
import type { Exchange } from "../observed/Exchange.ts"
import { Minting } from "./Minting.ts"
import type { Given, MintedEvent } from "./Minting.ts"
import { deliver, reaching } from "./Reaching.ts"
import type { Setting } from "./Setting.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import type { Attempt, AttemptKind, Intervention, SentEvent, Shortfall } from "../observed/Trace.ts"
import type { Stamp } from "./WebhookRequest.ts"
import { make, variedBody } from "./WebhookRequest.ts"
import type { WireForm } from "./Wire.ts"
import { plainForm, sendAs } from "./Wire.ts"

/** An event of the history, with the stamp of its latest attempt. */
export interface Actor {
  /** Its place in the trace. */
  readonly event: number
  readonly minted: MintedEvent
  stamp: Stamp
  /** How often it was sent as an event. */
  sent: number
  acknowledged: boolean
}

/** What is said of an attempt before it is made. */
export interface About {
  readonly op: number
  readonly kind?: AttemptKind
  readonly raced?: boolean
  /** Whether it counts as a first attempt; where it is not said, the first one does. */
  readonly first?: boolean
  readonly endpoint?: URL
  /** Whether it is sent once, though the receiver may take no more connections. */
  readonly once?: boolean
  /** Milliseconds between the moment it was due and the moment it was made. */
  readonly overdue?: number
}

export interface Stage {
  readonly setting: Setting
  /** Events that can be referred to. */
  readonly actors: ReadonlyArray<Actor>
  /** Milliseconds since the history began. */
  readonly now: () => number
  readonly mint: (
    template: EventTemplate,
    options?: Given & { readonly bulk?: boolean; readonly referable?: boolean }
  ) => Effect.Effect<Actor>
  readonly find: (ref: number) => Actor | null
  /** The request of an event's next attempt, which its stamp follows. */
  readonly prepare: (actor: Actor, how: ReadonlyArray<Variation>) => Effect.Effect<HttpRequest, never, Crypto>
  /** Sends an event as `how` says; over the history's own connection unless that says otherwise. */
  readonly send: (
    actor: Actor,
    how: ReadonlyArray<Variation>,
    about: About,
    over?: Connection
  ) => Effect.Effect<Exchange, TargetUnusable, Crypto>
  /** Sends a request in a form, and records it. */
  readonly sendForm: (
    actor: Actor,
    request: HttpRequest,
    form: WireForm,
    about: About
  ) => Effect.Effect<Exchange, TargetUnusable>
  /** Goes on beside the history, to its end at the latest. */
  readonly beside: (effect: Effect.Effect<unknown, TargetUnusable, Crypto>) => Effect.Effect<void, never, Crypto>
  /** Sends once, without a second try at a receiver that is gone; null when nothing arrived. */
  readonly tryOnce: (actor: Actor, over: Connection, about: About) => Effect.Effect<Exchange | null, never, Crypto>
  /** Marks the latest attempt of an event as not the last of its row. */
  readonly markProvisional: (actor: Actor) => void
  readonly intervene: (op: number, what: string, more?: Pick<Intervention, "down" | "unended">) => void
  /** Notes what was not done in full; nothing where all of it was. */
  readonly fallShort: (shortfall: Shortfall) => void
  /** Lets go of the history's connection. */
  readonly renew: Effect.Effect<void>
  readonly connection: Connection
  readonly recorded: () => {
    readonly began: number
    readonly attempts: ReadonlyArray<Attempt>
    readonly events: ReadonlyArray<SentEvent>
    readonly interventions: ReadonlyArray<Intervention>
    readonly shortfalls: ReadonlyArray<Shortfall>
  }
}

const isDocumented = ({ action, resource_type }: EventTemplate): boolean =>
  builtInTable.get(resource_type)?.actions.includes(action) ?? false

/** Variations that need the unusual client. */
const formOf = (how: ReadonlyArray<Variation>): WireForm | null => {
  const form: WireForm = {
    ...plainForm,
    chunked: how.includes("chunked"),
    ...(how.includes("slow") ? { pieces: 12, pause: 40 } : how.includes("chunked") ? { pieces: 5, pause: 1 } : {}),
    expect: how.includes("expect"),
    headerCase: how.includes("upper_headers") ? "upper" : how.includes("title_headers") ? "title" : "lower",
    close: how.includes("close")
  }
  const unusual = form.chunked || form.pieces > 1 || form.expect || form.headerCase !== "lower" || form.close
  return unusual ? form : null
}

/** How long a receiver that closes a connection after its answer takes to do so, in milliseconds. */
const untilClosed = 40

const agedBy = 70_000
/** Within the five minutes that timestamps may be off, by what clocks may differ. */
const offBy = 240_000

/** The stamp that follows. Retries differ in their second: what is keyed by it must not go unnoticed. */
const follow = (last: Stamp, how: ReadonlyArray<Variation>, now: number, first: boolean): Stamp => ({
  webhook_id: last.webhook_id,
  attempt: how.includes("next_attempt") ? last.attempt + 1 : last.attempt,
  signed_at: how.includes("aged")
    ? now - agedBy
    : how.includes("old_stamp")
      ? now - offBy
      : how.includes("early_stamp")
        ? now + offBy
        : first || how.includes("resigned")
          ? Math.max(now, Math.min(last.signed_at + 1_000, now + 1_500))
          : last.signed_at
})

export const makeStage = Effect.fnUntraced(function* (
  setting: Setting
): Effect.fn.Return<Stage, never, Minting | Scope.Scope> {
  const minting = yield* Minting
  const clock = yield* Clock.Clock
  const began = clock.currentTimeMillisUnsafe()
  const startedAt = clock.monotonicTimeNanosUnsafe()
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
  const scope = yield* Effect.scope
  const connection = yield* open(setting.url)
  const attempts: Array<Attempt> = []
  const events: Array<SentEvent> = []
  const interventions: Array<Intervention> = []
  const shortfalls: Array<Shortfall> = []
  const actors: Array<Actor> = []
  const limit = patienceOf(setting.terms)

  const record = (actor: Actor, request: HttpRequest, started: number, about: About, exchanged: Exchanged): void => {
    const kind = about.kind ?? "delivery"
    const counts = kind === "delivery" || kind === "load" || kind === "cut" || kind === "amid"
    if (kind !== "cut" && counts && read(exchanged.exchange, setting.terms) === "acknowledged")
      actor.acknowledged = true
    const { exchange } = exchanged
    const overdue = about.overdue ?? 0
    attempts.push({
      kind,
      op: about.op,
      event: actor.event,
      number: Number(request.headers[Signature.headerNames.attempt] ?? actor.stamp.attempt),
      first: about.first ?? (counts && actor.sent === 1),
      raced: about.raced ?? false,
      provisional: false,
      webhook_id: request.headers[Signature.headerNames.id] ?? actor.stamp.webhook_id,
      endpoint: (about.endpoint ?? setting.url).href,
      request,
      reused: exchanged.reused,
      started: started - overdue,
      exchange:
        overdue === 0
          ? exchange
          : exchange._tag === "Answered"
            ? { ...exchange, elapsed: exchange.elapsed + overdue, headers_elapsed: exchange.headers_elapsed + overdue }
            : { ...exchange, elapsed: exchange.elapsed + overdue }
    })
  }

  /** The time of stamps, which is the receiver's. */
  const stampTime = Effect.map(Clock.currentTimeMillis, (milliseconds) => milliseconds + setting.clock.ahead)

  const prepare: Stage["prepare"] = Effect.fnUntraced(function* (actor, how) {
    actor.sent += 1
    actor.stamp = follow(actor.stamp, how, yield* stampTime, actor.sent === 1)
    return yield* make(actor.stamp, variedBody(actor.minted, how), how, setting.secret)
  })

  const sendForm: Stage["sendForm"] = Effect.fnUntraced(function* (actor, request, form, about) {
    const started = now()
    const target = about.endpoint ?? setting.url
    const sent = sendAs(target, request, form, limit)
    const exchange = yield* about.once === true ? sent : reaching(target, sent)
    record(actor, request, started, about, { exchange, reused: false })
    return exchange
  })

  const send: Stage["send"] = Effect.fnUntraced(function* (actor, how, about, over = connection) {
    const request = yield* prepare(actor, how)
    const form = formOf(how)
    if (form !== null) return yield* sendForm(actor, request, form, about)
    if (how.includes("new_connection")) yield* over.renew
    const kept = how.includes("kept")
    // Long enough to learn that the receiver has closed the connection.
    if (kept) yield* Effect.sleep(untilClosed)
    const started = now()
    const exchanged = yield* deliver(over, request, setting, !kept)
    record(actor, request, started, about, exchanged)
    return exchanged.exchange
  })

  return {
    setting,
    actors,
    now,
    connection,
    renew: connection.renew,
    find: (ref) => actors[actors.length === 0 ? -1 : ref % actors.length] ?? null,
    mint: Effect.fnUntraced(function* (template, { bulk = false, referable = true, ...given } = {}) {
      const minted = yield* minting.mint(template, given)
      const { data_id, digest, webhook_id } = minted
      const actor: Actor = {
        event: events.length,
        minted,
        stamp: { webhook_id, attempt: 1, signed_at: yield* stampTime },
        sent: 0,
        acknowledged: false
      }
      events.push({
        webhookId: webhook_id,
        resourceType: template.resource_type,
        dataId: data_id,
        documented: isDocumented(template),
        digest,
        bulk
      })
      if (referable) actors.push(actor)
      return actor
    }),
    prepare,
    send,
    sendForm,
    // A receiver that can't be reached shows in what follows.
    beside: (effect) => Effect.asVoid(Effect.forkIn(effect, scope)),
    tryOnce: Effect.fnUntraced(function* (actor, over, about) {
      const request = yield* prepare(actor, actor.sent === 0 ? [] : ["next_attempt", "resigned"])
      const started = now()
      const exchanged = yield* over.post(request, limit)
      if (exchanged.exchange._tag === "Failed" && !exchanged.exchange.connected) {
        actor.sent -= 1
        return null
      }
      record(actor, request, started, about, exchanged)
      return exchanged.exchange
    }),
    markProvisional: (actor) => {
      const place = attempts.findLastIndex(({ event }) => event === actor.event)
      const last = attempts[place]
      if (last !== undefined) attempts[place] = { ...last, provisional: true }
    },
    intervene: (op, what, more) => void interventions.push({ op, what, over: now(), ...more }),
    fallShort: (shortfall) => {
      if (shortfall.done < shortfall.of) shortfalls.push(shortfall)
    },
    recorded: () => ({
      began,
      attempts: attempts.toSorted((a, b) => a.started - b.started),
      events,
      interventions,
      shortfalls
    })
  }
})
