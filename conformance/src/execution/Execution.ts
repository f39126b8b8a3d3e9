/**
 * A history in execution: what was created, sent and seen so far, as one record. `Send.ts` sends, `Perform.ts` carries out
 * operations; `traceOf` is the evidence of it.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Scope, Semaphore } from "effect"
import type { Redacted } from "effect"
import { interventionsDuring } from "../evidence/Trace.ts"
import type { Attempt, Intervention, SentEvent, Shortfall, Trace } from "../evidence/Trace.ts"
import { isKnownKind, Minting } from "../history/Events.ts"
import type { EventTemplate, Given, MintedEvent } from "../history/Events.ts"
import type { History } from "../history/History.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { open } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import type { Terms } from "../judgement/Terms.ts"

/** What doorhook sends to one integration at once, at most. */
export const most = 10

/** After this many refusals that were sent again alone, no more are: that the receiver refuses is known. */
const mostRepeats = 20

export class Slots extends Context.Service<
  Slots,
  {
    /** Sends within the cap, with this many slots at once, so that copies of an event go out together. */
    readonly take: (slots: number) => <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Sends with nothing else of the suite under way. Never from within `take`: it would wait for itself. */
    readonly alone: <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Whether one more refusal is worth being sent again alone. */
    readonly mayRepeat: () => boolean
    /** Counts a request as under way while it is; says how many were at once, at most, since it began, itself included. */
    readonly counted: <A, E, R>(send: (atOnce: () => number) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("@doorhook/conformance/execution/Slots") {
  static readonly layer: Layer.Layer<Slots> = Layer.effect(
    Slots,
    Effect.gen(function* () {
      const semaphore = yield* Semaphore.make(most)
      // A semaphore serves small requests before large ones: in a row, one for all slots has its turn.
      const row = yield* Semaphore.make(1)
      const underWay = new Set<{ atOnce: number }>()
      let repeats = 0
      const take: Slots["Service"]["take"] = (slots) => (send) =>
        Effect.scopedWith((scope) =>
          Effect.andThen(
            row.withPermits(1)(
              semaphore.takeScoped(Math.min(slots, most)).pipe(Effect.provideService(Scope.Scope, scope))
            ),
            send
          )
        )
      return Slots.of({
        take,
        alone: (send) => take(most)(send),
        mayRepeat: () => ++repeats <= mostRepeats,
        counted: (send) =>
          Effect.suspend(() => {
            const own = { atOnce: 0 }
            underWay.add(own)
            for (const one of underWay) one.atOnce = Math.max(one.atOnce, underWay.size)
            return Effect.ensuring(
              send(() => own.atOnce),
              Effect.sync(() => underWay.delete(own))
            )
          })
      })
    })
  )
}

/** What histories are executed with. */
export type Services = Minting | Crypto | Slots

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

export interface Execution {
  readonly setting: Setting
  readonly occasion: Occasion
  /** When the history began, and how many events the run had sent by then. */
  readonly began: number
  readonly sentBefore: number
  /** The history's own connection. */
  readonly connection: Connection
  /** Lasts as long as the history. */
  readonly scope: Scope.Scope
  /** Events that can be referred to. */
  readonly actors: Array<Actor>
  readonly events: Array<SentEvent>
  readonly attempts: Array<Attempt>
  readonly shortfalls: Array<Shortfall>
  /** What this history did to the receiver, by which operation. */
  readonly interventions: Map<Intervention, number>
  /** How many requests go on beside the history: they hold slots, so that nothing can be sent alone. */
  beside: number
}

/** Begins a history, with nothing sent yet. */
export const begin = Effect.fnUntraced(function* (
  setting: Setting,
  occasion: Occasion
): Effect.fn.Return<Execution, never, Scope.Scope> {
  return {
    setting,
    occasion,
    began: setting.now(),
    sentBefore: setting.sent.count,
    connection: yield* open(setting.urls[0]),
    scope: yield* Effect.scope,
    actors: [],
    events: [],
    attempts: [],
    shortfalls: [],
    interventions: new Map(),
    beside: 0
  }
})

/** The time of stamps, which is the receiver's. */
export const stampTime = ({ setting }: Execution): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (milliseconds) => milliseconds + setting.clock.ahead)

/** What of an event is given; `bulk` is one of many that need not each be looked at. */
interface MintOptions extends Given {
  readonly bulk?: boolean
  readonly referable?: boolean
}

/** Mints an event, which the history can refer to from now on unless that is said not to be. */
export const mint = Effect.fnUntraced(function* (
  execution: Execution,
  template: EventTemplate,
  { bulk = false, referable = true, ...given }: MintOptions = {}
): Effect.fn.Return<Actor, never, Minting> {
  const minted = yield* (yield* Minting).mint(template, given)
  const { data_id, digest, exactDigest, webhook_id } = minted
  const actor: Actor = {
    event: execution.events.length,
    minted,
    attempt: 1,
    signedAt: yield* stampTime(execution),
    sent: 0,
    acknowledged: false
  }
  execution.setting.sent.count += 1
  execution.events.push({
    webhookId: webhook_id,
    resourceType: template.resource_type,
    dataId: data_id,
    documented: isKnownKind(template),
    digest,
    ...(exactDigest === null ? {} : { exactDigest }),
    bulk
  })
  if (referable) execution.actors.push(actor)
  return actor
})

/** The event that a reference stands for; null where none was sent yet. */
export const find = ({ actors }: Execution, ref: number): Actor | null => actors[ref % actors.length] ?? null

/** Goes on beside the history, to its end at the latest. A receiver that can't be reached shows in what follows. */
export const goOnBeside = <E, R>(
  execution: Execution,
  effect: Effect.Effect<unknown, E, R>
): Effect.Effect<void, never, R> =>
  Effect.suspend(() => {
    execution.beside += 1
    return effect.pipe(
      Effect.ensuring(Effect.sync(() => (execution.beside -= 1))),
      Effect.forkIn(execution.scope),
      Effect.asVoid
    )
  })

/** Marks the latest attempt of an event as not the last of its row. */
export const markProvisional = ({ attempts }: Execution, { event }: Actor): void => {
  const place = attempts.findLastIndex((attempt) => attempt.event === event)
  const last = attempts[place]
  if (last !== undefined) attempts[place] = { ...last, provisional: true }
}

/** Notes that something was done to the receiver, for this history and all that ran at the time. */
export const intervene = (
  { interventions, occasion, setting }: Execution,
  op: number,
  what: Intervention["what"],
  from: number,
  more?: Pick<Intervention, "down" | "unended">
): void => {
  const intervention = { what, by: occasion.title, from, until: setting.now(), ...more }
  interventions.set(intervention, op)
  setting.interventions.push(intervention)
}

/** Notes what was not done in full; nothing where all of it was. */
export const fallShort = ({ shortfalls }: Execution, shortfall: Shortfall): void => {
  if (shortfall.done < shortfall.of) shortfalls.push(shortfall)
}

/** What happened so far. Effects are read later. */
export const traceOf = (execution: Execution, history: History): Trace => {
  const { attempts, began, events, interventions, sentBefore, setting, shortfalls } = execution
  return during(
    {
      history,
      began,
      ended: setting.now(),
      events,
      attempts: attempts.toSorted((a, b) => a.started - b.started),
      interventions: Array.from(interventions, ([one, op]) => ({ op, ...one })),
      otherEvents: setting.sent.count - sentBefore - events.length,
      shortfalls,
      effects: [],
      effectsElsewhere: [],
      sight: { byDataId: false, blindToUrls: false, foldsCase: false }
    },
    setting.interventions
  )
}

/** The trace with what others did to the receiver in its time. What the history did itself is in it already. */
export const during = (trace: Trace, all: ReadonlyArray<Intervention>): Trace => {
  const own = trace.interventions.filter(({ op }) => op !== null)
  const isOwn = ({ by, from, what }: Intervention): boolean =>
    own.some((one) => one.by === by && one.from === from && one.what === what)
  const others = interventionsDuring(all, trace).filter((one) => !isOwn(one))
  return { ...trace, interventions: [...own, ...others].toSorted((a, b) => a.from - b.from) }
}
