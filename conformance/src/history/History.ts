/**
 * A history is a list of operations on a receiver, as plain JSON data. A case is a history with a title and a lane to
 * run in. The functions below build operations and cases in one line.
 */
import { Schema } from "effect"
import { accessLog, bindingOf, call, templates } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { canonical } from "./Json.ts"
import { Operation } from "./Operations.ts"
import type { Cut } from "./Operations.ts"
import { retry } from "./Variations.ts"
import type { Malformation, Strength, Variation } from "./Variations.ts"

export const History = Schema.Struct({ v: Schema.Literal(1), ops: Schema.Array(Operation) })
export type History = typeof History.Type

/**
 * When and how a history runs. The lanes run in this order (`run/Schedule.ts`).
 *
 * - `timing`: alone, so that deadlines can be judged.
 * - `state`: in parallel with others.
 * - `disturbed`: in parallel with others; after `state`, because a fault found here would spoil the `state` cases.
 * - `blocking`: alone, because it may block the receiver for all others.
 * - `load`: alone.
 * - `operated`: alone; the receiver is stopped and started.
 * - `last`: alone, with the time that is left.
 * - `quiet`: alone; nothing else is sent or read while it waits.
 * - `aged`: begins first and ends last; everything else happens in between.
 */
export const lanes = ["timing", "state", "disturbed", "blocking", "load", "operated", "last", "quiet", "aged"] as const
export type Lane = (typeof lanes)[number]

/** A history with a title. Cases with equal histories run only once. */
export interface Case {
  readonly title: string
  readonly lane: Lane
  readonly history: History
  /** Strength of a breach in this case, if it is weaker than the requirement's. */
  readonly strength?: Strength
  /** Consequence of a breach in this case, if it differs from the requirement's. */
  readonly because?: string
}

/** Makes a case from these operations. */
export const makeCase = (lane: Lane, title: string, ...ops: ReadonlyArray<Operation>): Case => ({
  title,
  lane,
  history: { v: 1, ops }
})

/** Returns the same cases with this strength. */
export const only = (strength: Strength, cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  cases.map((one) => ({ ...one, strength }))

const keys = new WeakMap<History, string>()

/** Returns the key of a history: equal for equal histories. */
export const keyOf = (history: History): string => {
  const known = keys.get(history)
  if (known !== undefined) return known
  const key = canonical(history)
  keys.set(history, key)
  return key
}

export const newEvent = (event: EventTemplate, how: ReadonlyArray<Variation> = []): Operation => ({
  k: "new",
  event,
  how
})
export const again = (ref: number, how: ReadonlyArray<Variation>): Operation => ({ k: "again", ref, how })
export const retried = (ref: number): Operation => ({ k: "retry", ref })
export const raceNew = (event: EventTemplate, copies: number): Operation => ({ k: "race_new", event, copies })
export const raceAgain = (ref: number, copies: number): Operation => ({ k: "race_again", ref, copies })
export const volleys = (event: EventTemplate, copies: number, rounds: number): Operation => ({
  k: "volleys",
  event,
  copies,
  rounds
})
export const cutNew = (event: EventTemplate, cut: Cut): Operation => ({ k: "cut_new", event, cut })
export const cutAgain = (ref: number, cut: Cut): Operation => ({ k: "cut_again", ref, cut })
export const inBody = (percent: number): Cut => ({ in: "body", percent })
export const inAnswer = (share: number): Cut => ({ in: "answer", share })

/**
 * Returns the event itself if one of the bindings selects it. Otherwise returns the plain event of the first binding in
 * place of a plain event. Returns null for an unusual event, which nothing can replace.
 */
const substitute = (event: EventTemplate, bindings: ReadonlyArray<string>): EventTemplate | null => {
  if (bindings.includes(bindingOf(event))) return event
  return event.note === "" ? (templates[bindings[0] ?? ""] ?? null) : null
}

const adapted = (operation: Operation, bindings: ReadonlyArray<string>): Operation | null => {
  if (operation.k === "twins" && operation.kind === "other_type" && bindings.length < 2) return null
  if ("events" in operation) {
    const events = operation.events.flatMap((event) => substitute(event, bindings) ?? [])
    return events.length === operation.events.length ? { ...operation, events } : null
  }
  if (!("event" in operation)) return operation
  const event = substitute(operation.event, bindings)
  return event === null ? null : { ...operation, event }
}

/**
 * Adapts a case to a receiver with these bindings; null if the case needs events that none of them selects. If no
 * bindings were declared (null), returns the case unchanged; a failure with an event that no binding could select is
 * then a breach of a SHOULD.
 */
export const forBindings = (one: Case, bindings: ReadonlyArray<string> | null): Case | null => {
  if (bindings === null) return one
  const ops = one.history.ops.flatMap((operation) => adapted(operation, bindings) ?? [])
  return ops.length === one.history.ops.length ? { ...one, history: { ...one.history, ops } } : null
}

type CaseMaker = (title: string, ...ops: ReadonlyArray<Operation>) => Case

const inLane =
  (lane: Lane): CaseMaker =>
  (title, ...ops) =>
    makeCase(lane, title, ...ops)

/** Functions that make cases for the most common lanes. */
export const state = inLane("state")
export const disturbed = inLane("disturbed")
export const operated = inLane("operated")

export const newLog = newEvent(accessLog)
export const newCall = newEvent(call)
/** Makes the operation that sends an event again as doorhook would retry it. `how` adds further variations. */
export const retryOf = (ref: number, ...how: ReadonlyArray<Variation>): Operation => again(ref, [...retry, ...how])
export const retryAll: Operation = { k: "again_all", how: retry }
export const retryOpen: Operation = { k: "retry_open" }
export const restart: Operation = { k: "restart" }

export const malformed = (event: EventTemplate, kind: Malformation): Operation => ({ k: "malformed", event, kind })
export const filler = (count: number): Operation => ({ k: "filler", count })
/** Repeats an operation. */
export const times = (count: number, operation: Operation): ReadonlyArray<Operation> =>
  Array.from({ length: count }, () => operation)
