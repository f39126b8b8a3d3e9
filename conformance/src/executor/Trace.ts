/**
 * What happened when a history was executed: the evidence that checks judge. Plain data, in the order of sending.
 */
import type { History } from "../history/History.ts"
import type { HttpRequest } from "./Connection.ts"
import type { Exchange } from "./Exchange.ts"

/**
 * What an attempt is.
 *
 * `delivery`: genuine and undisturbed. `cut`: the suite went away before an answer could come. `amid`: the receiver was
 * being stopped. `forged`, `malformed`, `method`: not an event that a receiver should act on. `load`: one of many, timed
 * from when it was due.
 */
export type AttemptKind = "delivery" | "cut" | "amid" | "forged" | "malformed" | "method" | "load"

/** One attempt to deliver one event. */
export interface Attempt {
  readonly kind: AttemptKind
  /** The operation it belongs to, by its place in the history. */
  readonly op: number
  /** The event it carries, by its place in the trace. */
  readonly event: number
  /** What `doorhook-attempt` said. */
  readonly number: number
  /** Whether nothing of the event had been sent before. Of copies sent at once, all are first. */
  readonly first: boolean
  /** Whether it was sent at once with others of the same event. */
  readonly raced: boolean
  /** Whether it is one of a row of retries and was not the last: a refusal of it is not the end. */
  readonly provisional: boolean
  readonly webhook_id: string
  readonly endpoint: string
  readonly request: HttpRequest
  /** Whether its connection had carried a request before. */
  readonly reused: boolean
  /** When it began, in milliseconds since the history did, by a clock that never jumps. */
  readonly started: number
  readonly exchange: Exchange
}

/** One event of a history, as it was minted. */
export interface SentEvent {
  readonly webhookId: string
  readonly resourceType: string
  /** Raw JSON text of `data.id`. */
  readonly dataId: string
  /** Whether its kind is documented, so that a receiver must act on it. */
  readonly documented: boolean
  /** `sha256:HEX` of the RFC 8785 form of its data. */
  readonly digest: string
  /** Which of many it is of whom not each needs to be looked at. */
  readonly bulk: boolean
}

/** What the probe said of an event: `last` at the latest reading, `most` over all of them. */
export interface Effects {
  readonly last: number
  readonly most: number
  readonly digest: string | null
}

/** Something that was done to the receiver itself. */
export interface Intervention {
  readonly op: number
  readonly what: string
  /** When it was over and the receiver ready, in milliseconds since the history began. */
  readonly over: number
}

/** An operation that was not done in full, for want of time or because it had become pointless. */
export interface Shortfall {
  readonly op: number
  readonly what: "events" | "wait" | "load" | "steps"
  /** How much of it was done, and how much there was to do: milliseconds of a wait or a load. */
  readonly done: number
  readonly of: number
}

export interface Trace {
  readonly history: History
  readonly events: ReadonlyArray<SentEvent>
  readonly attempts: ReadonlyArray<Attempt>
  readonly interventions: ReadonlyArray<Intervention>
  readonly shortfalls: ReadonlyArray<Shortfall>
  /** By the event's place and its endpoint's; null where nothing was read. Empty without a probe. */
  readonly effects: ReadonlyArray<Effects | null>
  /** The same at the receiver's other URL; empty unless something was sent there. */
  readonly effectsElsewhere: ReadonlyArray<Effects | null>
}
