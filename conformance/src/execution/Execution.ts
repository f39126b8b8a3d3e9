/**
 * State of a history that is being executed: what was created, sent and seen so far. `Send.ts` sends, `Perform.ts`
 * carries out operations, and `traceOf` turns the state into evidence.
 */
import { builtInTypes, RetryPolicy } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Redacted, Scope } from "effect"
import type { Attempt, Intervention, SentEvent, Shortfall, Trace } from "../evidence/Trace.ts"
import { isKnownKind, EventFactory } from "../history/Events.ts"
import type { EventTemplate, EventValues, CreatedEvent } from "../history/Events.ts"
import type { History } from "../history/History.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { open } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import type { Slots } from "./Slots.ts"

/** The services that execution needs. */
export type Services = EventFactory | Crypto

/** Settings and state that all histories of a run share. */
export interface Setting {
  /** The receiver's URLs; most events go to the first. */
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly secret: Redacted.Redacted<string> | null
  /** The receiver's declared bindings, which decide the kinds of filler events; null if none were declared. */
  readonly bindings: ReadonlyArray<string> | null
  readonly criteria: Criteria
  readonly hooks: Hooks
  readonly slots: Slots
  /** All actions on the receiver during the run, with their times. */
  readonly interventions: Array<Intervention>
  /** Number of events that the run has sent. */
  readonly sent: { count: number }
  /** Milliseconds since the run began, by a monotonic clock. */
  readonly now: () => number
  /** States of the receiver from which a hook has already started it again in this run. */
  readonly startedAfter: Set<"killed" | "running">
  /** How far the receiver's clock was moved forward, in milliseconds. Timestamps follow it. */
  readonly clock: { ahead: number }
  readonly comeback: number
  /** Usual time of an acknowledgement without other requests in flight, in milliseconds. */
  readonly typical: () => number
  /** Factor for all waiting times. */
  readonly pace: number
  /** The declared peak rate, in events a second; 0 if none was declared. */
  readonly peakRate: number
  /** Highest rate at which the suite may send, in requests a second (`--max-rate`); null for no bound. */
  readonly maxRate: number | null
}

/** Settings of one case. */
export interface CaseContext {
  readonly title: string
  /** Waits until all other cases of the run are done. */
  readonly allElseDone: Effect.Effect<void>
  /** Time limit of `filler` and base of the limit of `volleys`, in milliseconds. */
  readonly fillerTime: number
}

/** An event of the history, with the number and time of its latest attempt. */
export interface Actor {
  /** Index of the event in the trace. */
  readonly event: number
  readonly created: CreatedEvent
  /** Number of the latest attempt, and the time when it was signed, in milliseconds since the epoch. */
  attempt: number
  signedAt: number
  /** When the event expires, in milliseconds since the epoch; null for a type without a lifetime. */
  expiresAt: number | null
  /** Number of times the event was sent, not counting forged and malformed requests. */
  sent: number
  acknowledged: boolean
}

export interface Execution {
  readonly setting: Setting
  readonly context: CaseContext
  /** When the history began, and how many events the run had sent by then. */
  readonly began: number
  readonly sentBefore: number
  /** The history's own connection. */
  readonly connection: Connection
  /** Scope that is closed when the history ends. */
  readonly scope: Scope.Scope
  /** Events that later operations can refer to. */
  readonly actors: Array<Actor>
  readonly events: Array<SentEvent>
  readonly attempts: Array<Attempt>
  readonly shortfalls: Array<Shortfall>
  /** This history's actions on the receiver, each with the index of its operation. */
  readonly interventions: Map<Intervention, number>
}

/** Begins a history, with nothing sent yet. */
export const begin = Effect.fnUntraced(function* (
  setting: Setting,
  context: CaseContext
): Effect.fn.Return<Execution, never, Scope.Scope> {
  return {
    setting,
    context,
    began: setting.now(),
    sentBefore: setting.sent.count,
    connection: yield* open(setting.urls[0]),
    scope: yield* Effect.scope,
    actors: [],
    events: [],
    attempts: [],
    shortfalls: [],
    interventions: new Map()
  }
})

/** Returns the time for the next timestamp, by the receiver's clock. */
export const stampTime = ({ setting }: Execution): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (milliseconds) => milliseconds + setting.clock.ahead)

/** `bulk` marks one of many events of which only a sample is looked up in the probe. */
interface CreateOptions extends EventValues {
  readonly bulk?: boolean
  readonly referable?: boolean
}

/** Creates an event. Later operations can refer to it unless `referable` is false. */
export const createEvent = Effect.fnUntraced(function* (
  execution: Execution,
  template: EventTemplate,
  { bulk = false, referable = true, ...given }: CreateOptions = {}
): Effect.fn.Return<Actor, never, EventFactory> {
  const created = yield* (yield* EventFactory).create(template, given)
  const { data_id, digest, exactDigest, webhook_id } = created
  const createdAt = yield* stampTime(execution)
  const actor: Actor = {
    event: execution.events.length,
    created,
    attempt: 1,
    signedAt: createdAt,
    expiresAt: template.resource_type === "call" ? RetryPolicy.expiryOf(builtInTypes.call.retry, createdAt) : null,
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

/** Returns the event that a reference points to; null if no event was sent yet. */
export const find = ({ actors }: Execution, ref: number): Actor | null => actors[ref % actors.length] ?? null

/** Marks the latest attempt of an event as provisional: more retries follow. */
export const markProvisional = ({ attempts }: Execution, { event }: Actor): void => {
  const place = attempts.findLastIndex((attempt) => attempt.event === event)
  const last = attempts[place]
  if (last !== undefined) attempts[place] = { ...last, provisional: true }
}

/** Records an action on the receiver, for this history and the run. */
export const noteIntervention = (
  { interventions, context, setting }: Execution,
  op: number,
  what: Intervention["what"],
  from: number,
  more?: Pick<Intervention, "down" | "unended">
): void => {
  const intervention = { what, by: context.title, from, until: setting.now(), ...more }
  interventions.set(intervention, op)
  setting.interventions.push(intervention)
}

/** Records an operation that was cut short. */
export const noteShortfall = ({ shortfalls }: Execution, shortfall: Shortfall): void => {
  if (shortfall.done < shortfall.of) shortfalls.push(shortfall)
}

/** Returns the evidence so far. Effects are added later. */
export const traceOf = (execution: Execution, history: History): Trace => {
  const { attempts, began, events, interventions, sentBefore, setting, shortfalls } = execution
  return withInterventions(
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

/** Adds to a trace what other histories did to the receiver while the trace was recorded. */
export const withInterventions = (trace: Trace, all: ReadonlyArray<Intervention>): Trace => {
  const own = trace.interventions.filter(({ op }) => op !== null)
  const isOwn = ({ by, from, what }: Intervention): boolean =>
    own.some((one) => one.by === by && one.from === from && one.what === what)
  const others = all
    .filter((one) => one.until >= trace.began && one.from <= trace.ended && !isOwn(one))
    .map((one) => ({ op: null, ...one }))
  return { ...trace, interventions: [...own, ...others].toSorted((a, b) => a.from - b.from) }
}
