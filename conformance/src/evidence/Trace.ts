/**
 * What happened when a history was executed. Requirements are judged on this evidence, which is plain data in the order
 * of sending.
 */
import { Schema } from "effect"
import { History } from "../history/History.ts"
import { Exchange, HttpRequest } from "./Exchange.ts"

/**
 * Kind of an attempt:
 *
 * - `delivery`: a genuine event, sent without interference.
 * - `cut`: the suite hung up before an answer could arrive.
 * - `amid`: sent while the receiver was being stopped.
 * - `forged`, `malformed`, `method`: not an event that a receiver should act on.
 * - `load`: one of many attempts that are judged together. If the attempts are sent at a rate, each attempt is timed
 *   from when it was due.
 */
const AttemptKind = Schema.Literals(["delivery", "cut", "amid", "forged", "malformed", "method", "load"])
export type AttemptKind = typeof AttemptKind.Type

/** A limit of the receiver, as a refused request shows it. */
const Limit = Schema.Struct({
  /** The pause that the receiver asked for (`retry-after`), in milliseconds; null if it asked for none. */
  asked: Schema.NullOr(Schema.Finite),
  /** Number of requests that the receiver had accepted in the `limitSpan` before. */
  before: Schema.Int
})
export type Limit = typeof Limit.Type

/** The time over which a limit is taken to count, in milliseconds: a second, or the pause that the receiver asked for. */
export const limitSpan = ({ asked }: Pick<Limit, "asked">): number => Math.max(1_000, asked ?? 0)

/** One attempt to deliver one event. */
export const Attempt = Schema.Struct({
  kind: AttemptKind,
  /** Index in the history of the operation that made the attempt. */
  op: Schema.Int,
  /** Index in `events` of the event that was sent. */
  event: Schema.Int,
  /** The value of `doorhook-attempt`. */
  number: Schema.Int,
  /** Whether no part of the event had been sent before. Copies sent at the same time can all be first attempts. */
  first: Schema.Boolean,
  /** Whether copies of the same event were sent at the same time. */
  raced: Schema.Boolean,
  /** Whether more retries of the same series follow. If so, a refusal is not final. */
  provisional: Schema.Boolean,
  /** Highest number of the suite's requests in flight during this attempt, itself included. */
  inFlight: Schema.Int,
  /**
   * The limit of the receiver that refused the attempt with 429 or 503; null if there was none. The request is then sent
   * again after a pause, and that attempt counts instead.
   */
  limit: Schema.NullOr(Limit),
  webhook_id: Schema.String,
  endpoint: Schema.String,
  request: HttpRequest,
  /** Whether the connection had carried a request before. */
  reused: Schema.Boolean,
  /** What the answer leaked: the secret, or the correct signature of a forged request; null if it leaked nothing. */
  leaked: Schema.NullOr(Schema.Literals(["signature", "secret"])),
  /** When the attempt began, in milliseconds since the history began, by a monotonic clock. */
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
  /** Whether a binding can select this kind of event. If so, a receiver must act on the event. */
  documented: Schema.Boolean,
  /** `sha256:HEX` of the RFC 8785 form of the event's data. */
  digest: Schema.String,
  /** The same digest with all digits of numbers kept; missing if doubles can store all the numbers. */
  exactDigest: Schema.optionalKey(Schema.String),
  /** Whether this is one of many events of which only a sample is looked up in the probe. */
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
  /** Title of the case that acted. */
  by: Schema.String,
  from: Schema.Finite,
  /** When the receiver was ready again. */
  until: Schema.Finite,
  /** Set if the receiver did not start again: tries, duration and error. */
  down: Schema.optionalKey(Schema.String),
  /** Set if nothing showed that the receiver had stopped: names the hook and says what to check. */
  unended: Schema.optionalKey(Schema.String)
})
export type Intervention = typeof Intervention.Type

/** An operation that was cut short, for lack of time or because going on would show nothing new. */
export const Shortfall = Schema.Struct({
  op: Schema.Int,
  what: Schema.Literals(["events", "wait", "load", "rate", "steps", "connections"]),
  /**
   * How much was done, and how much was planned: milliseconds for a wait or a load, events a second for a rate, otherwise
   * a count. `connections` counts events: an event is not done if its answer was late only because all connections of
   * the suite were busy when the event was due.
   */
  done: Schema.Finite,
  of: Schema.Finite
})
export type Shortfall = typeof Shortfall.Type

const SeenEffects = Schema.Array(Schema.NullOr(Effects))

export const Trace = Schema.Struct({
  history: History,
  /** When the execution began and ended, in milliseconds since the run began. */
  began: Schema.Finite,
  ended: Schema.Finite,
  events: Schema.Array(SentEvent),
  attempts: Schema.Array(Attempt),
  /**
   * Actions on the receiver between `began` and `ended`, by this history (`op` is the operation's index) or by others
   * (`op` is null). Each action may have caused a failure.
   */
  interventions: Schema.Array(Schema.Struct({ op: Schema.NullOr(Schema.Int), ...Intervention.fields })),
  /** Number of other events that the run sent between `began` and `ended`. */
  otherEvents: Schema.Int,
  shortfalls: Schema.Array(Shortfall),
  /** Effects in the order of `events`; null for an event that was not read. Empty without a probe. */
  effects: SeenEffects,
  /** The effects at the receiver's other URL; empty unless something was sent there. */
  effectsElsewhere: SeenEffects,
  /** How the probe identifies events, according to its calibration. */
  sight: Schema.Struct({
    /** The probe identifies events by `data.id` alone: it counts events with the same `data.id` together. */
    byDataId: Schema.Boolean,
    /** The probe counts the effects at all URLs of the receiver together. */
    blindToUrls: Schema.Boolean,
    /** The probe ignores the case of ids. */
    foldsCase: Schema.Boolean
  })
})
export type Trace = typeof Trace.Type
export type TraceIntervention = Trace["interventions"][number]
