/**
 * What happened when a history was executed: the evidence that checks judge. Plain data, in the order of sending.
 */
import type { History } from "../history/History.ts"
import type { HttpRequest } from "./Connection.ts"
import type { Exchange } from "./Exchange.ts"

/** One attempt to deliver one event. */
export interface Attempt {
  /** The operation it belongs to, by its place in the history. */
  readonly op: number
  /** The event it carries, counted in the order of first sending. */
  readonly event: number
  /** What `doorhook-attempt` said. */
  readonly number: number
  /** Whether nothing of the event had been sent before. Of copies sent at once, all are first. */
  readonly first: boolean
  /** Whether it was sent at once with others of the same event. */
  readonly raced: boolean
  readonly webhook_id: string
  readonly request: HttpRequest
  /** Whether its connection had carried a request before. */
  readonly reused: boolean
  /** When it began, in milliseconds since the history did, by a clock that never jumps. */
  readonly started: number
  readonly exchange: Exchange
}

export interface Trace {
  readonly history: History
  readonly attempts: ReadonlyArray<Attempt>
}
