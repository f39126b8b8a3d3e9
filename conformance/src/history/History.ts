/**
 * A history: what is done to a receiver, in order, as plain JSON data; and a case: a history with a name and a place to
 * run.
 */
import { Schema } from "effect"
import { canonical } from "./Canonical.ts"
import type { Strength } from "./Forgeries.ts"
import { Operation } from "./Operations.ts"
import type { Cut } from "./Operations.ts"
import type { EventTemplate } from "./Template.ts"
import type { Variation } from "./Variations.ts"

export const History = Schema.Struct({ v: Schema.Literal(1), ops: Schema.Array(Operation) })
export type History = typeof History.Type

/**
 * Where a history runs, in this order (`run/Schedule.ts`).
 *
 * `timing`: alone, so that deadlines can be judged. `state`: several at once. `disturbed`: several at once, after those
 * that a fault of the receiver would spoil. `blocking`: alone, because it may keep the receiver from all others. `load`:
 * alone. `operated`: alone, the receiver is stopped and started. `last`: alone, for a while. `quiet`: alone, and nothing
 * else is sent or read while it waits. `aged`: begun first, ended last; everything else happens in between.
 */
export const lanes = ["timing", "state", "disturbed", "blocking", "load", "operated", "last", "quiet", "aged"] as const
export type Lane = (typeof lanes)[number]

/** Two cases with equal histories are one and run once. */
export interface Case {
  readonly title: string
  readonly lane: Lane
  readonly history: History
  /** Where a breach of this case says less than one of the requirement's others; else that of the requirement. */
  readonly strength?: Strength
  /** What a breach of this case does to people, where that is not what the requirement says. */
  readonly because?: string
}

/** A case of these operations. */
export const makeCase = (lane: Lane, title: string, ...ops: ReadonlyArray<Operation>): Case => ({
  title,
  lane,
  history: { v: 1, ops }
})

/** The same cases, of which a breach is a WARN. */
export const only = (strength: Strength, cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  cases.map((one) => ({ ...one, strength }))

const keys = new WeakMap<History, string>()

/** What makes two histories one. */
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
