/**
 * What happened when a history was executed: the evidence that requirements are judged by. Plain data, in the order of
 * sending.
 */
import { Schema } from "effect"
import { History } from "../history/History.ts"
import { Exchange, HttpRequest } from "./Exchange.ts"

/**
 * What an attempt is.
 *
 * `delivery`: genuine and undisturbed. `cut`: the suite went away before an answer could come. `amid`: the receiver was
 * being stopped. `forged`, `malformed`, `method`: not an event that a receiver should act on. `load`: one of many, not
 * judged alone; under a rate, timed from when it was due.
 */
const AttemptKind = Schema.Literals(["delivery", "cut", "amid", "forged", "malformed", "method", "load"])
export type AttemptKind = typeof AttemptKind.Type

/** One attempt to deliver one event. */
export const Attempt = Schema.Struct({
  kind: AttemptKind,
  /** The operation it belongs to, by its place in the history. */
  op: Schema.Int,
  /** The event it carries, by its place in the trace. */
  event: Schema.Int,
  /** What `doorhook-attempt` said. */
  number: Schema.Int,
  /** Whether nothing of the event had been sent before. Of copies sent at once, all are first. */
  first: Schema.Boolean,
  /** Whether it was sent at once with copies of the same event. */
  raced: Schema.Boolean,
  /** Whether it is one of a row of retries and was not the last: a refusal of it is not the end. */
  provisional: Schema.Boolean,
  /** How many requests of the suite were under way at once, at most, while it was, itself included. */
  inFlight: Schema.Int,
  /**
   * Whether it was refused with 429 or 503 while others were under way, and sent again alone: the attempt after it
   * counts in its place.
   */
  crowded: Schema.Boolean,
  webhook_id: Schema.String,
  endpoint: Schema.String,
  request: HttpRequest,
  /** Whether its connection had carried a request before. */
  reused: Schema.Boolean,
  /** What the answer gave away: the signature that the suite had left out or spoiled, or the secret; null for nothing. */
  leaked: Schema.NullOr(Schema.Literals(["signature", "secret"])),
  /** When it began, in milliseconds since the history did, by a clock that never jumps. */
  started: Schema.Finite,
  exchange: Exchange
})
export type Attempt = typeof Attempt.Type

/** One event of a history, as it was minted. */
export const SentEvent = Schema.Struct({
  webhookId: Schema.String,
  resourceType: Schema.String,
  /** Raw JSON text of `data.id`. */
  dataId: Schema.String,
  /** Whether a binding can select its kind, so that a receiver must act on it. */
  documented: Schema.Boolean,
  /** `sha256:HEX` of the RFC 8785 form of its data. */
  digest: Schema.String,
  /** The same with every digit of its numbers kept; missing where no number is longer than a double holds. */
  exactDigest: Schema.optionalKey(Schema.String),
  /** Whether it is one of many that need not each be looked at. */
  bulk: Schema.Boolean
})
export type SentEvent = typeof SentEvent.Type

/** What the probe said of an event: `last` at the latest reading, `most` over all of them. */
export const Effects = Schema.Struct({
  last: Schema.Int,
  most: Schema.Int,
  digest: Schema.NullOr(Schema.String),
  /** What is stored, as JSON text, where the probe shows it. */
  data: Schema.optionalKey(Schema.String)
})
export type Effects = typeof Effects.Type

/** What was done to the receiver itself. Times in milliseconds since the run began. */
export const Intervention = Schema.Struct({
  what: Schema.Literals(["killed", "restarted", "paused", "clock_moved"]),
  /** The case that did it, by its title. */
  by: Schema.String,
  from: Schema.Finite,
  /** When the receiver was ready again. */
  until: Schema.Finite,
  /** Where it did not start again: how often that was tried, for how long, and what it said. */
  down: Schema.optionalKey(Schema.String),
  /** Where nothing showed that it was ended: by what it should have been, and what to do. */
  unended: Schema.optionalKey(Schema.String)
})
export type Intervention = typeof Intervention.Type

/** An operation that was not done in full, for want of time or because it had become pointless. */
export const Shortfall = Schema.Struct({
  op: Schema.Int,
  what: Schema.Literals(["events", "wait", "load", "steps", "connections"]),
  /**
   * How much of it was done, and how much was asked for: milliseconds of a wait or a load. Of connections, the events
   * that were answered late only because each connection of the suite had another under way when they were due.
   */
  done: Schema.Finite,
  of: Schema.Finite
})
export type Shortfall = typeof Shortfall.Type

const SeenEffects = Schema.Array(Schema.NullOr(Effects))

export const Trace = Schema.Struct({
  history: History,
  /** When it began, and ended, in milliseconds since the run began. */
  began: Schema.Finite,
  ended: Schema.Finite,
  events: Schema.Array(SentEvent),
  attempts: Schema.Array(Attempt),
  /**
   * What was done to the receiver between `began` and `ended`, by this history (`op` is its place in it) or by others
   * (null): each is part of what a failure can come from.
   */
  interventions: Schema.Array(Schema.Struct({ op: Schema.NullOr(Schema.Int), ...Intervention.fields })),
  /** How many other events the run sent between `began` and `ended`. */
  otherEvents: Schema.Int,
  shortfalls: Schema.Array(Shortfall),
  /** By the event's place and its endpoint's; null where nothing was read. Empty without a probe. */
  effects: SeenEffects,
  /** The same at the receiver's other URL; empty unless something was sent there. */
  effectsElsewhere: SeenEffects,
  /** What calibration found out about the probe. */
  sight: Schema.Struct({
    /** It knows events by `data.id` alone: it counts those that share one together. */
    byDataId: Schema.Boolean,
    /** It counts the effects at all of the receiver's URLs together. */
    blindToUrls: Schema.Boolean,
    /** It takes ids that differ in case alone for one. */
    foldsCase: Schema.Boolean
  })
})
export type Trace = typeof Trace.Type
export type TraceIntervention = Trace["interventions"][number]

/** What was done to the receiver while a trace was made, from all that was done to it in a run. */
export const interventionsDuring = (
  all: ReadonlyArray<Intervention>,
  { began, ended }: Pick<Trace, "began" | "ended">
): ReadonlyArray<TraceIntervention> =>
  all.filter(({ from, until }) => until >= began && from <= ended).map((one) => ({ op: null, ...one }))
