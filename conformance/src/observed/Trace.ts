/**
 * What happened when a history was executed: the evidence that checks judge. Plain data, in the order of sending.
 */
import { Schema } from "effect"
import { History } from "../history/History.ts"
import { HttpRequest } from "./HttpRequest.ts"
import { Exchange } from "./Exchange.ts"

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
  /** Whether it was sent at once with others. */
  raced: Schema.Boolean,
  /** Whether it is one of a row of retries and was not the last: a refusal of it is not the end. */
  provisional: Schema.Boolean,
  webhook_id: Schema.String,
  endpoint: Schema.String,
  request: HttpRequest,
  /** Whether its connection had carried a request before. */
  reused: Schema.Boolean,
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
  /** Whether its kind is documented, so that a receiver must act on it. */
  documented: Schema.Boolean,
  /** `sha256:HEX` of the RFC 8785 form of its data. */
  digest: Schema.String,
  /** Which of many it is of whom not each needs to be looked at. */
  bulk: Schema.Boolean
})
export type SentEvent = typeof SentEvent.Type

/** What the probe said of an event: `last` at the latest reading, `most` over all of them. */
export const Effects = Schema.Struct({
  last: Schema.Int,
  most: Schema.Int,
  digest: Schema.NullOr(Schema.String)
})
export type Effects = typeof Effects.Type

/** Something that was done to the receiver itself. */
export const Intervention = Schema.Struct({
  op: Schema.Int,
  what: Schema.String,
  /** When it was over and the receiver ready, in milliseconds since the history began. */
  over: Schema.Finite,
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
   * How much of it was done, and how much there was to do: milliseconds of a wait or a load. Of connections, the events
   * that were answered late only because each connection of the suite's had another under way when they were due.
   */
  done: Schema.Finite,
  of: Schema.Finite
})
export type Shortfall = typeof Shortfall.Type

const SeenEffects = Schema.Array(Schema.NullOr(Effects))

export const Trace = Schema.Struct({
  history: History,
  /** When it began, in milliseconds since the epoch; missing in what was stored by an earlier version. */
  began: Schema.optionalKey(Schema.Finite),
  events: Schema.Array(SentEvent),
  attempts: Schema.Array(Attempt),
  interventions: Schema.Array(Intervention),
  shortfalls: Schema.Array(Shortfall),
  /** By the event's place and its endpoint's; null where nothing was read. Empty without a probe. */
  effects: SeenEffects,
  /** The same at the receiver's other URL; empty unless something was sent there. */
  effectsElsewhere: SeenEffects,
  /** Whether the probe tells events by `data.id` alone: it counts those that share one together. */
  byDataId: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether the probe counts the effects at all of the receiver's URLs together, whichever it is asked for; missing where
   * there is one URL, and in what was stored by an earlier version.
   */
  blindToUrls: Schema.optionalKey(Schema.Boolean)
})
export type Trace = typeof Trace.Type
