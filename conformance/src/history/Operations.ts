/**
 * Operations: what a history can do to a receiver. One row each: schema, words and traits. `execution/Perform.ts` carries them
 * out, one row each, too.
 *
 * A history refers to events by their place and holds no identifiers. Execution creates those, so that one history can run many
 * times against one receiver without looking like a duplicate. A reference counts modulo the events sent so far, so that any
 * part of a history is a history.
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

/** Where the sender gives up: after a percentage of the body, or after the whole body and a share of the usual answer time. */
export const Cut = Schema.Union([
  Schema.Struct({ in: Schema.Literal("body"), percent: Schema.Finite }),
  Schema.Struct({ in: Schema.Literal("answer"), share: Schema.Finite })
])
export type Cut = typeof Cut.Type

export const methods = ["GET", "HEAD", "OPTIONS"] as const

/** Names for the events that an operation makes or refers to. */
interface Names {
  /** The event that the operation makes, like ` (event 3)`; empty where the history has one event only. */
  readonly made: string
  /** An event sent before, like `event 2` or `the same event`. */
  readonly known: (ref: number) => string
}

/** Traits that only some kinds have. Methods, not properties, so that one table can hold rows of all kinds. */
interface More<Op> {
  /** How many events it makes that can be referred to; 0 by default. */
  events?(operation: Op): number
  /** Whether curl commands, one after the other, do the same. */
  readonly byCurl?: true
  /** Whether it ends the receiver, which loses what it holds in memory. */
  readonly endsReceiver?: true
  readonly movesClock?: true
  /** Whether it consists of ordinary events and retries alone. */
  isPlain?(operation: Op): boolean
  /** SHOULD if nothing that it does may break a MUST; MUST by default. */
  strength?(operation: Op): Strength
  /** Least duration: answers in sequence, and milliseconds besides. */
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
    ? `given up after ${cut.percent} % of its body`
    : cut.share === 0
      ? "given up as soon as it was sent"
      : `given up after ${Math.round(cut.share * 100)} % of the time an answer usually takes`

const one = () => 1
const none = { answers: 0, ms: 0 }
const isRetry = (how: ReadonlyArray<Variation>): boolean =>
  how.every((each) => each === "next_attempt" || each === "resigned")
const ofEvent = ({ event }: { readonly event: EventTemplate }): Strength => (isKnownKind(event) ? "MUST" : "SHOULD")
/** SHOULD for timestamps within the tolerance: the interface names no tolerance. */
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
  /** An event sent before, again. */
  again: kind("again", { ref: Ref, how: How }, ({ how, ref }, { known }) => `${known(ref)} again, ${howInWords(how)}`, {
    byCurl: true,
    isPlain: ({ how }) => isRetry(how),
    strength: ({ how }) => ofHow(how)
  }),
  /** An event sent before, again until it is acknowledged: at most a few times, with growing pauses. */
  retry: kind("retry", { ref: Ref }, ({ ref }, { known }) => `${known(ref)} again, until it is acknowledged`, {
    byCurl: true
  }),
  /** The same for every event of the history that has no acknowledgement yet. */
  retry_open: kind("retry_open", {}, () => "every event without an acknowledgement again, until it is acknowledged", {
    byCurl: true,
    cost: () => ({ answers: 3, ms: 0 })
  }),
  /** Every event of the history, again. */
  again_all: kind("again_all", { how: How }, ({ how }) => `every event again, ${howInWords(how)}`, {
    byCurl: true,
    isPlain: ({ how }) => isRetry(how),
    cost: () => ({ answers: 4, ms: 0 })
  }),
  /** A new event, sent in several copies at once: ten at most. */
  race_new: kind(
    "race_new",
    { event: EventTemplate, copies: Count },
    ({ copies, event }, { made }) => `${described(event)}${made}, ${copies} times at once`,
    { events: one }
  ),
  /** An event sent before, again in several copies at once: ten at most. */
  race_again: kind(
    "race_again",
    { ref: Ref, copies: Count },
    ({ copies, ref }, { known }) => `${known(ref)} again, ${copies} times at once`
  ),
  /** New events in sequence, each in several copies behind other events; the last bytes of the copies are sent in one turn. */
  volleys: kind(
    "volleys",
    { event: EventTemplate, copies: Count, rounds: Count },
    ({ copies, event, rounds }) =>
      `up to ${rounds} new ${event.resource_type} events one after the other, each ${copies} times at once to the last byte`,
    { cost: ({ rounds }) => ({ answers: rounds, ms: 0 }) }
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
    ({ order }, { made }) => `${order.length} new events, not in the order they happened in${made}`,
    {
      events: ({ order }) => order.length,
      cost: ({ order }) => ({ answers: order.length, ms: 0 })
    }
  ),
  /** Many new events, several at once, as far as the time allows. */
  filler: kind("filler", { count: Count }, ({ count }) => `up to ${count} other new events`, {
    isPlain: () => true,
    cost: ({ count }) => ({ answers: count / 10, ms: 0 })
  }),
  /** A new event whose sender hangs up. */
  cut_new: kind(
    "cut_new",
    { event: EventTemplate, cut: Cut },
    ({ cut, event }, { made }) => `${described(event)}${made}, ${cutInWords(cut)}`,
    { events: one }
  ),
  /** An event sent before, again; the sender hangs up. */
  cut_again: kind(
    "cut_again",
    { ref: Ref, cut: Cut },
    ({ cut, ref }, { known }) => `${known(ref)} again, ${cutInWords(cut)}`
  ),
  /** New events, ten at once, whose senders all hang up in the middle of the body. */
  abort_storm: kind(
    "abort_storm",
    { count: Count, percent: Schema.Finite },
    ({ count, percent }) => `${count} new events, all given up after ${percent} % of their bodies`,
    { cost: ({ count }) => ({ answers: 0, ms: 15 * Math.ceil(count / 10) }) }
  ),
  /** New events whose senders stop in the middle of the body and keep the connection open until the history ends. */
  stalled: kind(
    "stalled",
    { count: Count, percent: Schema.Finite },
    ({ count, percent }) => `${count} new events at once, which stop after ${percent} % of their bodies and stay open`,
    { cost: () => ({ answers: 0, ms: 100 }) }
  ),
  /** A new event with a forged signature. Later attempts are genuine. */
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
  /** An event sent before, again with a forged signature. */
  forged_again: kind(
    "forged_again",
    { ref: Ref, kind: Forgery, by: Carrier },
    ({ by, kind: forgery, ref }, { known }) => `${known(ref)} again, ${forgeries[forgery].words}${carriers[by].words}`,
    {
      byCurl: true,
      strength: ({ kind: forgery }) => forgeries[forgery].strength
    }
  ),
  /** A new event with a malformed body. Later attempts are good. */
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
  /** A request with another method about a new event. The event counts as never sent. */
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
  /** A request with another method about an event sent before. */
  method_again: kind(
    "method_again",
    { ref: Ref, method: Schema.Literals(methods), with_body: Schema.Boolean },
    ({ method, ref, with_body }, { known }) => `${method} about ${known(ref)}${with_body ? ", with its body" : ""}`,
    { byCurl: true }
  ),
  /** An event sent before, to the receiver's other URL. */
  elsewhere: kind("elsewhere", { ref: Ref }, ({ ref }, { known }) => `${known(ref)} to the receiver's other URL`, {
    byCurl: true
  }),
  /** Nothing, for this many milliseconds. */
  idle: kind("idle", { ms: Schema.Int }, ({ ms }) => `nothing for ${ms} ms`, {
    cost: ({ ms }) => ({ answers: 0, ms })
  }),
  /** Nothing, until everything else of the run is done and this many milliseconds have passed. */
  age: kind("age", { ms: Schema.Int }, ({ ms }) => `nothing until ${ms} ms have passed and all else is done`, {
    cost: () => none
  }),
  /** The receiver is ended and started. */
  restart: kind("restart", {}, () => "the receiver is restarted", {
    endsReceiver: true,
    cost: () => ({ answers: 0, ms: 1_000 })
  }),
  /** The receiver is killed in the middle of traffic, this many milliseconds after the first event, and started. */
  kill_amid: kind(
    "kill_amid",
    {
      event: EventTemplate,
      workers: Count,
      after: Schema.Finite,
      /** Counts from the first acknowledgement instead. */
      from: Schema.optionalKey(Schema.Literal("acknowledgement")),
      /** Copies of each event that are sent at once; one by default. Workers times copies: ten at most. */
      copies: Schema.optionalKey(Count)
    },
    ({ after, copies = 1, from, workers }) =>
      `the receiver is killed while ${workers} workers send new events${copies > 1 ? `, each ${copies} times at once` : ""}, ${after} ms after ${from === undefined ? "their first" : "the first acknowledgement"}`,
    {
      endsReceiver: true,
      cost: ({ after }) => ({ answers: 1, ms: after + 1_000 })
    }
  ),
  /** The receiver is paused from before the first attempts until after their deadline; second attempts come in between. */
  pause_during: kind(
    "pause_during",
    { events: Schema.Array(EventTemplate) },
    ({ events }, { made }) =>
      `${events.length} new events while the receiver stands still until after their deadline, each again before it goes on${made}`,
    {
      events: ({ events }) => events.length,
      cost: () => ({ answers: 1, ms: 6_000 })
    }
  ),
  /** The receiver's clock is moved forward. */
  advance: kind(
    "advance",
    { ms: Schema.Int },
    ({ ms }) => `the receiver's clock is moved forward by ${Math.round(ms / 60_000)} minutes`,
    { movesClock: true }
  ),
  /** Events at a multiple of the declared peak rate. The one operation with more than ten requests at once. */
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

/** How many events an operation makes that can be referred to. */
const eventsOf = (operation: Operation): number => aboutOf(operation).events?.(operation) ?? 0
export const isByCurl = (operation: Operation): boolean => aboutOf(operation).byCurl === true
export const endsReceiver = (operation: Operation): boolean => aboutOf(operation).endsReceiver === true
export const movesClock = (operation: Operation): boolean => aboutOf(operation).movesClock === true
export const isPlain = (operation: Operation): boolean => aboutOf(operation).isPlain?.(operation) ?? false
export const costOf = (operation: Operation): { readonly answers: number; readonly ms: number } =>
  aboutOf(operation).cost?.(operation) ?? { answers: 1, ms: 0 }

/** SHOULD if one of the operations may not break a MUST. Such operations are in cases of their own. */
export const strengthOf = (ops: ReadonlyArray<Operation>): Strength =>
  ops.some((operation) => aboutOf(operation).strength?.(operation) === "SHOULD") ? "SHOULD" : "MUST"

/** Each operation of a history in words. Events have numbers if there are several. */
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
