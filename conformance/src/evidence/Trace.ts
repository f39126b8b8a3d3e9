/**
 * What happened when a history was executed: the evidence by which requirements are judged. Plain data, in the order of sending.
 */
import { Schema } from "effect"
import { History } from "../history/History.ts"
import { Exchange, HttpRequest } from "./Exchange.ts"

/**
 * What an attempt is.
 *
 * - `delivery`: genuine and undisturbed.
 * - `cut`: the suite hung up before an answer could come.
 * - `amid`: sent while the receiver was being stopped.
 * - `forged`, `malformed`, `method`: no event that a receiver should act on.
 * - `load`: one of many that are judged together; at a rate, timed from when it was due.
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
  /** The value of `doorhook-attempt`. */
  number: Schema.Int,
  /** Whether nothing of the event had been sent before. All copies sent at once are first attempts. */
  first: Schema.Boolean,
  /** Whether copies of the same event were sent at the same time. */
  raced: Schema.Boolean,
  /** Whether it is one of a series of retries, but not the last: a refusal is not final. */
  provisional: Schema.Boolean,
  /** The most requests of the suite in flight at any time during this one, itself included. */
  inFlight: Schema.Int,
  /**
   * Whether it was refused with 429 or 503 beside others and sent again alone. The attempt after it counts in its place.
   */
  crowded: Schema.Boolean,
  webhook_id: Schema.String,
  endpoint: Schema.String,
  request: HttpRequest,
  /** Whether its connection had carried a request before. */
  reused: Schema.Boolean,
  /** What the answer leaked: the good signature of a forged request, or the secret; null for nothing. */
  leaked: Schema.NullOr(Schema.Literals(["signature", "secret"])),
  /** When it began, in milliseconds since the history began, by a monotonic clock. */
  started: Schema.Finite,
  exchange: Exchange
})
export type Attempt = typeof Attempt.Type

/** One event of a history. */
export const SentEvent = Schema.Struct({
  webhookId: Schema.String,
  resourceType: Schema.String,
  /** Raw JSON text of `data.id`. */
  dataId: Schema.String,
  /** Whether a binding can select its kind. A receiver must act on such an event. */
  documented: Schema.Boolean,
  /** `sha256:HEX` of the RFC 8785 form of its data. */
  digest: Schema.String,
  /** The same with every digit of its numbers; missing if doubles hold them all. */
  exactDigest: Schema.optionalKey(Schema.String),
  /** Whether it is one of many, of which a sample is looked at. */
  bulk: Schema.Boolean
})
export type SentEvent = typeof SentEvent.Type

/** The probe's counts for an event: `last` at the latest reading, `most` over all readings. */
export const Effects = Schema.Struct({
  last: Schema.Int,
  most: Schema.Int,
  digest: Schema.NullOr(Schema.String),
  /** The stored data as JSON text, if the probe shows it. */
  data: Schema.optionalKey(Schema.String)
})
export type Effects = typeof Effects.Type

/** An action on the receiver itself. Times in milliseconds since the run began. */
export const Intervention = Schema.Struct({
  what: Schema.Literals(["killed", "restarted", "paused", "clock_moved"]),
  /** The case that did it, by its title. */
  by: Schema.String,
  from: Schema.Finite,
  /** When the receiver was ready again. */
  until: Schema.Finite,
  /** Set if it did not start again: tries, duration and error. */
  down: Schema.optionalKey(Schema.String),
  /** Set if nothing showed that it ended: the hook, and what to do. */
  unended: Schema.optionalKey(Schema.String)
})
export type Intervention = typeof Intervention.Type

/** An operation that was cut short, for lack of time or because it had become pointless. */
export const Shortfall = Schema.Struct({
  op: Schema.Int,
  what: Schema.Literals(["events", "wait", "load", "steps", "connections"]),
  /**
   * How much was done, of how much: milliseconds for a wait or a load. For `connections`, events; the others were answered late
   * only because all connections of the suite were busy when they were due.
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
   * Actions on the receiver between `began` and `ended`, by this history (`op` is the operation's place) or by others (null).
   * Each may have caused a failure.
   */
  interventions: Schema.Array(Schema.Struct({ op: Schema.NullOr(Schema.Int), ...Intervention.fields })),
  /** How many other events the run sent between `began` and `ended`. */
  otherEvents: Schema.Int,
  shortfalls: Schema.Array(Shortfall),
  /** By the event's place; null if nothing was read. Empty without a probe. */
  effects: SeenEffects,
  /** The same at the receiver's other URL; empty unless something was sent there. */
  effectsElsewhere: SeenEffects,
  /** How the probe identifies events, by its calibration. */
  sight: Schema.Struct({
    /** By `data.id` alone: it counts events with one `data.id` together. */
    byDataId: Schema.Boolean,
    /** It counts the effects at all URLs of the receiver together. */
    blindToUrls: Schema.Boolean,
    /** It ignores the case of ids. */
    foldsCase: Schema.Boolean
  })
})
export type Trace = typeof Trace.Type
export type TraceIntervention = Trace["interventions"][number]
