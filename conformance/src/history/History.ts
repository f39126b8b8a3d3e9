/**
 * A history: what is done to a receiver, in order, as plain JSON data.
 *
 * Events are referred to by their place in the history and carry no identifiers: those are minted when the history is
 * executed, so that the same history can be run again and again against one receiver without looking like a duplicate.
 * A reference counts modulo the events sent so far, so that any part of a history is a history.
 */
import { Schema } from "effect"

/**
 * One member of a JSON object: its name and its value as raw JSON text, which never passes through a JavaScript number.
 * A value that begins with `@` stands for something minted at execution; no JSON text begins so.
 */
export const Member = Schema.Tuple([Schema.String, Schema.String])
export type Member = typeof Member.Type

/** The values that are minted at execution. */
export const minted = { id: "@id", guid: "@guid", now: "@now" } as const

/** An event to be sent: its body with everything but the minted values. */
export const EventTemplate = Schema.Struct({
  resource_type: Schema.String,
  action: Schema.String,
  data: Schema.Array(Member),
  /** Unknown members beside `data`. */
  beside_data: Schema.Array(Member),
  /** Unknown members beside `event`. */
  beside_event: Schema.Array(Member),
  /** What is unusual about it, in words; empty when nothing is. */
  note: Schema.String
})
export type EventTemplate = typeof EventTemplate.Type

/** How a repeated attempt differs from the one before; a bare repetition is the same request, byte for byte. */
export const variations = ["next_attempt", "resigned", "reencoded", "new_connection"] as const
export const Variation = Schema.Literals(variations)
export type Variation = typeof Variation.Type

/** What doorhook changes when it tries again: the attempt's number, its timestamp and so its signature. */
export const retry: ReadonlyArray<Variation> = ["next_attempt", "resigned"]

const Ref = Schema.Int
const Copies = Schema.Int

export const Operation = Schema.Union([
  /** A new event, sent once. */
  Schema.Struct({ k: Schema.Literal("new"), event: EventTemplate }),
  /** An event sent before, again. */
  Schema.Struct({ k: Schema.Literal("again"), ref: Ref, how: Schema.Array(Variation) }),
  /** A new event, sent in several copies at once. */
  Schema.Struct({ k: Schema.Literal("race_new"), event: EventTemplate, copies: Copies }),
  /** An event sent before, again in several copies at once. */
  Schema.Struct({ k: Schema.Literal("race_again"), ref: Ref, copies: Copies })
])
export type Operation = typeof Operation.Type

export const History = Schema.Struct({ v: Schema.Literal(1), ops: Schema.Array(Operation) })
export type History = typeof History.Type

/**
 * Where a history may run. Deadlines are judged finely in the `timing` lane, where nothing else is going on; the
 * `state` lane may run several histories at once.
 */
export type Lane = "timing" | "state"

/** A history with a name and a place to run. Two cases with equal histories are one and are run once. */
export interface Case {
  readonly title: string
  readonly lane: Lane
  readonly history: History
}

/** A case of these operations. */
export const makeCase = (lane: Lane, title: string, ...ops: ReadonlyArray<Operation>): Case => ({
  title,
  lane,
  history: { v: 1, ops }
})

export const newEvent = (event: EventTemplate): Operation => ({ k: "new", event })
export const again = (ref: number, how: ReadonlyArray<Variation>): Operation => ({ k: "again", ref, how })
export const raceNew = (event: EventTemplate, copies: number): Operation => ({ k: "race_new", event, copies })
export const raceAgain = (ref: number, copies: number): Operation => ({ k: "race_again", ref, copies })
