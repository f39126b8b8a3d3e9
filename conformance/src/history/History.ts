/**
 * A history: what is done to a receiver, in order, as plain JSON data.
 *
 * Events are referred to by their place in the history and carry no identifiers: those are minted when the history is
 * executed, so that the same history can be run again and again against one receiver without looking like a duplicate.
 * A reference counts modulo the events sent so far, so that any part of a history is a history.
 */
import { Schema } from "effect"
import { Forgery, Malformation } from "./Invalid.ts"
import { TwinKind } from "./Twins.ts"
import { Variation } from "./Variation.ts"

export { retry, Variation } from "./Variation.ts"

/**
 * One member of a JSON object: its name and its value as raw JSON text, which never passes through a JavaScript number.
 * A value that begins with `@` stands for something minted at execution; no JSON text begins so.
 */
export const Member = Schema.Tuple([Schema.String, Schema.String])
export type Member = typeof Member.Type

/** The values that are minted at execution. */
export const minted = { id: "@id", longId: "@longId", guid: "@guid", now: "@now" } as const

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

const Ref = Schema.Int
const Count = Schema.Int
const How = Schema.Array(Variation)

/** Where an attempt is given up: so many percent into its body, or after all of it, so much into the usual wait. */
export const Cut = Schema.Union([
  Schema.Struct({ in: Schema.Literal("body"), percent: Schema.Finite }),
  Schema.Struct({ in: Schema.Literal("answer"), share: Schema.Finite })
])
export type Cut = typeof Cut.Type

export const methods = ["GET", "HEAD", "OPTIONS"] as const

const op = <const K extends string, Fields extends Schema.Struct.Fields>(k: K, fields: Fields) =>
  Schema.Struct({ k: Schema.Literal(k), ...fields })

export const Operation = Schema.Union([
  /** A new event, sent once. */
  op("new", { event: EventTemplate, how: How }),
  /** An event sent before, again. */
  op("again", { ref: Ref, how: How }),
  /** An event sent before, again until it is acknowledged: at most a few times, with growing pauses. */
  op("retry", { ref: Ref }),
  /** The same for every event of the history that has no acknowledgement yet. */
  op("retry_open", {}),
  /** Every event of the history, again. */
  op("again_all", { how: How }),
  /** A new event, sent in several copies at once. */
  op("race_new", { event: EventTemplate, copies: Count }),
  /** An event sent before, again in several copies at once. */
  op("race_again", { ref: Ref, copies: Count }),
  /** New events one after the other, each in several copies whose last bytes are sent in one turn, behind other events. */
  op("volleys", { event: EventTemplate, copies: Count, rounds: Count }),
  /** Events that are nearly the same, each sent once. */
  op("twins", { event: EventTemplate, kind: TwinKind }),
  /** New events, made in the order they stand in and sent in another. */
  op("shuffled", { events: Schema.Array(EventTemplate), order: Schema.Array(Schema.Int) }),
  /** Many new events, several at once. */
  op("filler", { count: Count }),
  /** A new event whose sender goes away. */
  op("cut_new", { event: EventTemplate, cut: Cut }),
  /** An event sent before, again, whose sender goes away. */
  op("cut_again", { ref: Ref, cut: Cut }),
  /** Many attempts at once whose senders go away in the middle of the body. */
  op("abort_storm", { count: Count, percent: Schema.Finite }),
  /** New events whose senders stop in the middle of the body, and keep their connections open to the end of the history. */
  op("stalled", { count: Count, percent: Schema.Finite }),
  /** A new event under a signature that is not good. It is good when it is sent again. */
  op("forged", { event: EventTemplate, kind: Forgery }),
  /** An event sent before, again under a signature that is not good. */
  op("forged_again", { ref: Ref, kind: Forgery }),
  /** A new event whose body is no event. It is good when it is sent again. */
  op("malformed", { event: EventTemplate, kind: Malformation }),
  /** A request with another method about a new event, which counts as never sent. */
  op("method_new", { event: EventTemplate, method: Schema.Literals(methods), with_body: Schema.Boolean }),
  /** A request with another method about an event sent before. */
  op("method_again", { ref: Ref, method: Schema.Literals(methods), with_body: Schema.Boolean }),
  /** An event sent before, to the receiver's other URL. */
  op("elsewhere", { ref: Ref }),
  /** Nothing, for so many milliseconds. */
  op("idle", { ms: Schema.Int }),
  /** Nothing, until everything else of the run is done and so many milliseconds have passed. */
  op("age", { ms: Schema.Int }),
  /** The receiver is ended and started. */
  op("restart", {}),
  /** The receiver is killed while events come in, so many milliseconds after the first was sent, and started. */
  op("kill_amid", {
    event: EventTemplate,
    workers: Count,
    after: Schema.Finite,
    /** Counts from the first acknowledgement instead, however long that takes. */
    from: Schema.optionalKey(Schema.Literal("acknowledgement")),
    /** How many copies of each event are sent at once; one where nothing is said. */
    copies: Schema.optionalKey(Count)
  }),
  /** The receiver stands still from before the first attempts until after their deadline; the second come meanwhile. */
  op("pause_during", { event: EventTemplate, count: Count }),
  /** The receiver's clock is moved forward. */
  op("advance", { ms: Schema.Int }),
  /** Events at the declared peak rate, times a factor, for so many milliseconds. */
  op("load", { factor: Schema.Finite, ms: Schema.Int })
])
export type Operation = typeof Operation.Type

export const History = Schema.Struct({ v: Schema.Literal(1), ops: Schema.Array(Operation) })
export type History = typeof History.Type

/**
 * Where a history runs; `executor/Session.ts` says in which order.
 *
 * `timing`: alone, so that deadlines can be judged. `state`: several at once. `aged`: begun early, ended last.
 * `disturbed`: several at once, after those that a fault of the receiver would spoil. `blocking`: alone, for they may
 * keep the receiver from all others. `operated`: alone, the receiver is stopped and started. `load`: alone.
 */
export const lanes = ["timing", "state", "disturbed", "blocking", "operated", "load", "aged"] as const
export type Lane = (typeof lanes)[number]

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
