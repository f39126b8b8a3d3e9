/**
 * Operations: what a history can do to a receiver. Each operation has one row here with its schema, words and traits,
 * and one function in `execution/Perform.ts` that carries it out.
 *
 * A history contains no ids and refers to events by their index. Ids are made when the history runs, so it can run many
 * times against one receiver without producing duplicates. An index is taken modulo the number of events sent so far,
 * so any part of a history is itself valid.
 */
import { Schema } from "effect"
import { EventTemplate, isKnownKind, TwinKind, twins } from "./Events.ts"
import {
  Carrier,
  carriers,
  forgeries,
  Forgery,
  Malformation,
  malformations,
  Variation,
  variationOf
} from "./Variations.ts"
import type { Strength } from "./Variations.ts"

const Ref = Schema.Int
const Count = Schema.Int
const How = Schema.Array(Variation)

/**
 * When the sender hangs up: after a percentage of the body, or after the whole body and a share of the usual answer
 * time.
 */
export const Cut = Schema.Union([
  Schema.Struct({ in: Schema.Literal("body"), percent: Schema.Finite }),
  Schema.Struct({ in: Schema.Literal("answer"), share: Schema.Finite })
])
export type Cut = typeof Cut.Type

export const methods = ["GET", "HEAD", "OPTIONS"] as const

/** Wording for the events that an operation makes or refers to. */
interface Names {
  /** The event that the operation makes, like ` (event 3)`; empty if the history has only one event. */
  readonly made: string
  /** An event sent before, like `event 2` or `the same event`. */
  readonly known: (ref: number) => string
}

/**
 * Traits that only some kinds of operations have. They are methods rather than properties, so that one table can have
 * rows of all kinds.
 */
interface More<Op> {
  /** Number of new events that later operations can refer to; 0 by default. */
  events?(operation: Op): number
  /** Whether a sequence of curl commands can replace the operation. */
  readonly byCurl?: true
  /** Whether the operation stops the receiver, so that everything that is only in its memory is lost. */
  readonly endsReceiver?: true
  readonly movesClock?: true
  /** Whether the result depends on exact moments, so that a failure may not recur every time. */
  readonly isRace?: true
  /** Whether the operation consists only of ordinary events and retries. */
  isPlain?(operation: Op): boolean
  /** SHOULD if a failure caused by the operation breaks no MUST; MUST by default. */
  strength?(operation: Op): Strength
  /** Minimum duration: `answers` usual answer times, plus `ms` milliseconds. */
  cost?(operation: Op): { readonly answers: number; readonly ms: number }
}

interface About<Op> extends More<Op> {
  words(operation: Op, names: Names): string
}

const kind = <const K extends string, Fields extends Schema.Struct.Fields>(
  k: K,
  fields: Fields,
  words: (operation: Schema.Struct<{ readonly k: Schema.Literal<K> } & Fields>["Type"], names: Names) => string,
  more: More<Schema.Struct<{ readonly k: Schema.Literal<K> } & Fields>["Type"]> = {}
) => ({ schema: Schema.Struct({ k: Schema.Literal(k), ...fields }), about: { words, ...more } })

const described = ({ note, resource_type }: EventTemplate): string =>
  `a new ${resource_type} event${note === "" ? "" : ` (${note})`}`

const howInWords = (how: ReadonlyArray<Variation>): string =>
  how.length === 0 ? "byte for byte" : how.map((one) => variationOf(one).words).join(", ")

const cutInWords = (cut: Cut): string =>
  cut.in === "body"
    ? `cut off after ${cut.percent} % of its body`
    : cut.share === 0
      ? "cut off as soon as it was sent"
      : `cut off after ${Math.round(cut.share * 100)} % of the usual answer time`

const one = () => 1
const none = { answers: 0, ms: 0 }
const isRetry = (how: ReadonlyArray<Variation>): boolean =>
  how.every((each) => each === "next_attempt" || each === "resigned")
const ofEvent = ({ event }: { readonly event: EventTemplate }): Strength => (isKnownKind(event) ? "MUST" : "SHOULD")
/** Returns SHOULD for timestamps off by less than the tolerance, because the interface document names no tolerance. */
const ofHow = (how: ReadonlyArray<Variation>): Strength =>
  how.some((each) => {
    const { stamp } = variationOf(each)
    return typeof stamp === "object" && "offInTolerance" in stamp
  })
    ? "SHOULD"
    : "MUST"

const operations = {
  /** A new event, sent once. */
  new: kind(
    "new",
    { event: EventTemplate, how: How },
    ({ event, how }, { made }) => `${described(event)}${made}${how.length === 0 ? "" : `, ${howInWords(how)}`}`,
    {
      events: one,
      byCurl: true,
      isPlain: ({ event, how }) => event.note === "" && how.length === 0,
      strength: ({ event, how }) => (ofEvent({ event }) === "SHOULD" ? "SHOULD" : ofHow(how))
    }
  ),
  /** An earlier event, sent again. */
  again: kind("again", { ref: Ref, how: How }, ({ how, ref }, { known }) => `${known(ref)} again, ${howInWords(how)}`, {
    byCurl: true,
    isPlain: ({ how }) => isRetry(how),
    strength: ({ how }) => ofHow(how)
  }),
  /** An earlier event, sent again until it is acknowledged, a few times at most, with growing pauses. */
  retry: kind("retry", { ref: Ref }, ({ ref }, { known }) => `${known(ref)} again, until it is acknowledged`, {
    byCurl: true
  }),
  /** Every event of the history without an acknowledgement, sent again as in `retry`. */
  retry_open: kind("retry_open", {}, () => "every event without an acknowledgement again, until it is acknowledged", {
    byCurl: true,
    cost: () => ({ answers: 3, ms: 0 })
  }),
  /** Every event of the history, sent again. */
  again_all: kind("again_all", { how: How }, ({ how }) => `every event again, ${howInWords(how)}`, {
    byCurl: true,
    isPlain: ({ how }) => isRetry(how),
    cost: () => ({ answers: 4, ms: 0 })
  }),
  /** Several copies of a new event, at most ten, sent at the same time. */
  race_new: kind(
    "race_new",
    { event: EventTemplate, copies: Count },
    ({ copies, event }, { made }) => `${described(event)}${made}, ${copies} times at once`,
    { events: one, isRace: true }
  ),
  /** Several copies of an earlier event, at most ten, sent at the same time. */
  race_again: kind(
    "race_again",
    { ref: Ref, copies: Count },
    ({ copies, ref }, { known }) => `${known(ref)} again, ${copies} times at once`,
    { isRace: true }
  ),
  /**
   * New events in sequence, each in several copies after some other events. The last bytes of all copies are sent in
   * one turn of the event loop.
   */
  volleys: kind(
    "volleys",
    { event: EventTemplate, copies: Count, rounds: Count },
    ({ copies, event, rounds }) =>
      `up to ${rounds} new ${event.resource_type} events one after the other, each in ${copies} copies that end at the same moment`,
    { isRace: true, cost: ({ rounds }) => ({ answers: rounds, ms: 0 }) }
  ),
  /** Events that are nearly the same, each sent once. */
  twins: kind(
    "twins",
    { event: EventTemplate, kind: TwinKind },
    ({ event, kind: alike }, { made }) => `new ${event.resource_type} events with ${twins[alike].words}${made}`,
    {
      events: ({ kind: alike }) => twins[alike].count,
      cost: ({ kind: alike }) => ({ answers: twins[alike].count, ms: 0 })
    }
  ),
  /** New events, created in one order and sent in another. */
  shuffled: kind(
    "shuffled",
    { events: Schema.Array(EventTemplate), order: Schema.Array(Schema.Int) },
    ({ order }, { made }) => `${order.length} new events, not in the order in which they happened${made}`,
    {
      events: ({ order }) => order.length,
      cost: ({ order }) => ({ answers: order.length, ms: 0 })
    }
  ),
  /** Many new events, several at the same time, until the time is up. */
  filler: kind("filler", { count: Count }, ({ count }) => `up to ${count} other new events`, {
    isPlain: () => true,
    cost: ({ count }) => ({ answers: count / 10, ms: 0 })
  }),
  /** A new event whose sender hangs up. */
  cut_new: kind(
    "cut_new",
    { event: EventTemplate, cut: Cut },
    ({ cut, event }, { made }) => `${described(event)}${made}, ${cutInWords(cut)}`,
    { events: one, isRace: true }
  ),
  /** An earlier event, sent again by a sender that hangs up. */
  cut_again: kind(
    "cut_again",
    { ref: Ref, cut: Cut },
    ({ cut, ref }, { known }) => `${known(ref)} again, ${cutInWords(cut)}`,
    { isRace: true }
  ),
  /** New events, ten at a time, whose senders all hang up in the middle of the body. */
  abort_storm: kind(
    "abort_storm",
    { count: Count, percent: Schema.Finite },
    ({ count, percent }) => `${count} new events, all cut off after ${percent} % of their bodies`,
    { isRace: true, cost: ({ count }) => ({ answers: 0, ms: 15 * Math.ceil(count / 10) }) }
  ),
  /** New events whose senders stop in the middle of the body and keep the connection open until the history ends. */
  stalled: kind(
    "stalled",
    { count: Count, percent: Schema.Finite },
    ({ count, percent }) =>
      `${count} new events at once, whose requests stop after ${percent} % of their bodies and stay open`,
    { cost: () => ({ answers: 0, ms: 100 }) }
  ),
  /** A new event with a forged signature. Later attempts to send the event are genuine. */
  forged: kind(
    "forged",
    { event: EventTemplate, kind: Forgery, by: Carrier },
    ({ by, event, kind: forgery }, { made }) =>
      `${described(event)}${made}, ${forgeries[forgery].words}${carriers[by].words}`,
    {
      events: one,
      byCurl: true,
      strength: ({ kind: forgery }) => forgeries[forgery].strength
    }
  ),
  /** An earlier event, sent again with a forged signature. */
  forged_again: kind(
    "forged_again",
    { ref: Ref, kind: Forgery, by: Carrier },
    ({ by, kind: forgery, ref }, { known }) => `${known(ref)} again, ${forgeries[forgery].words}${carriers[by].words}`,
    {
      byCurl: true,
      strength: ({ kind: forgery }) => forgeries[forgery].strength
    }
  ),
  /** A new event with a malformed body. Later attempts to send the event are well-formed. */
  malformed: kind(
    "malformed",
    { event: EventTemplate, kind: Malformation },
    ({ event, kind: malformation }, { made }) => `${described(event)}${made}, ${malformations[malformation].words}`,
    {
      events: one,
      byCurl: true,
      strength: ({ kind: malformation }) => malformations[malformation].strength
    }
  ),
  /** A request about a new event with a method other than POST. The event counts as never sent. */
  method_new: kind(
    "method_new",
    { event: EventTemplate, method: Schema.Literals(methods), with_body: Schema.Boolean },
    ({ event, method, with_body }, { made }) =>
      `${method} about ${described(event)}${made}${with_body ? ", with its body" : ""}`,
    {
      events: one,
      byCurl: true
    }
  ),
  /** A request about an earlier event with a method other than POST. */
  method_again: kind(
    "method_again",
    { ref: Ref, method: Schema.Literals(methods), with_body: Schema.Boolean },
    ({ method, ref, with_body }, { known }) => `${method} about ${known(ref)}${with_body ? ", with its body" : ""}`,
    { byCurl: true }
  ),
  /** An earlier event, sent to the receiver's other URL. */
  elsewhere: kind("elsewhere", { ref: Ref }, ({ ref }, { known }) => `${known(ref)} to the receiver's other URL`, {
    byCurl: true
  }),
  /** A pause of this many milliseconds. */
  idle: kind("idle", { ms: Schema.Int }, ({ ms }) => `nothing for ${ms} ms`, {
    cost: ({ ms }) => ({ answers: 0, ms })
  }),
  /** A pause until all other cases are done and this many milliseconds have passed. */
  age: kind("age", { ms: Schema.Int }, ({ ms }) => `nothing until ${ms} ms have passed and all other cases are done`, {
    cost: () => none
  }),
  /** A restart of the receiver. */
  restart: kind("restart", {}, () => "the receiver is restarted", {
    endsReceiver: true,
    cost: () => ({ answers: 0, ms: 1_000 })
  }),
  /** A kill during traffic, `after` milliseconds after the first event, followed by a start. */
  kill_amid: kind(
    "kill_amid",
    {
      event: EventTemplate,
      workers: Count,
      after: Schema.Finite,
      /** Counts `after` from the first acknowledgement instead. */
      from: Schema.optionalKey(Schema.Literal("acknowledgement")),
      /**
       * Number of copies of each event sent at the same time; 1 by default. All workers together have at most ten
       * requests in flight.
       */
      copies: Schema.optionalKey(Count)
    },
    ({ after, copies = 1, from, workers }) =>
      `the receiver is killed while ${workers} workers send new events${copies > 1 ? `, each ${copies} times at once` : ""}, ${after} ms after ${from === undefined ? "their first" : "the first acknowledgement"}`,
    {
      endsReceiver: true,
      isRace: true,
      cost: ({ after }) => ({ answers: 1, ms: after + 1_000 })
    }
  ),
  /**
   * A pause of the receiver that begins before the first attempts and ends after their deadline. Second attempts are
   * sent during the pause.
   */
  pause_during: kind(
    "pause_during",
    { events: Schema.Array(EventTemplate) },
    ({ events }, { made }) =>
      `${events.length} new events while the receiver is paused until after their deadline, each sent again before it resumes${made}`,
    {
      events: ({ events }) => events.length,
      cost: () => ({ answers: 1, ms: 6_000 })
    }
  ),
  /** A forward jump of the receiver's clock. */
  advance: kind(
    "advance",
    { ms: Schema.Int },
    ({ ms }) => `the receiver's clock is moved forward by ${Math.round(ms / 60_000)} minutes`,
    { movesClock: true }
  ),
  /**
   * Events at a multiple of the declared peak rate. This is the only operation with more than ten requests in flight.
   */
  load: kind(
    "load",
    { factor: Schema.Finite, ms: Schema.Int },
    ({ factor, ms }) => `events at ${factor === 1 ? "" : `${factor} times `}the declared peak rate for ${ms} ms`,
    { cost: ({ ms }) => ({ answers: 1, ms }) }
  )
}

export type OperationKind = keyof typeof operations
type Rows = typeof operations
type SchemaOf = { readonly [K in OperationKind]: Rows[K]["schema"] }

export const Operation = Schema.Union(Object.values(operations).map(({ schema }) => schema))
export type Operation = SchemaOf[OperationKind]["Type"]
/** The operation of a kind. */
export type OperationOf<K extends OperationKind> = SchemaOf[K]["Type"]

const rows: Readonly<Record<OperationKind, { readonly about: About<Operation> }>> = operations

/** The traits of an operation. */
const aboutOf = ({ k }: Operation): About<Operation> => rows[k].about

/** Returns the number of new events that later operations can refer to. */
const eventsOf = (operation: Operation): number => aboutOf(operation).events?.(operation) ?? 0
export const isByCurl = (operation: Operation): boolean => aboutOf(operation).byCurl === true
export const endsReceiver = (operation: Operation): boolean => aboutOf(operation).endsReceiver === true
export const isRace = (operation: Operation): boolean => aboutOf(operation).isRace === true
export const movesClock = (operation: Operation): boolean => aboutOf(operation).movesClock === true
export const isPlain = (operation: Operation): boolean => aboutOf(operation).isPlain?.(operation) ?? false
export const costOf = (operation: Operation): { readonly answers: number; readonly ms: number } =>
  aboutOf(operation).cost?.(operation) ?? { answers: 1, ms: 0 }

/** Returns the strength of a history: SHOULD if the strength of any of its operations is SHOULD. */
export const strengthOf = (ops: ReadonlyArray<Operation>): Strength =>
  ops.some((operation) => aboutOf(operation).strength?.(operation) === "SHOULD") ? "SHOULD" : "MUST"

/** Describes each operation of a history in words. Numbers the events if there are several. */
export const inWords = (ops: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const total = ops.reduce((sum, operation) => sum + eventsOf(operation), 0)
  let sent = 0
  return ops.map((operation) => {
    const count = eventsOf(operation)
    const before = sent
    sent += count
    const made =
      total < 2 || count === 0
        ? ""
        : count === 1
          ? ` (event ${before + 1})`
          : ` (events ${before + 1} to ${before + count})`
    const known = (ref: number): string => (total > 1 ? `event ${(ref % Math.max(before, 1)) + 1}` : "the same event")
    return aboutOf(operation).words(operation, { made, known })
  })
}
