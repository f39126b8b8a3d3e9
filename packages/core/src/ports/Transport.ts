/**
 * One POST to a receiver. A transport reports what it saw; whether that is an acknowledgement is decided by
 * `rules/Acknowledgement`.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { AttemptOutcome } from "../domain/Delivery.ts"
import type { AllowList } from "../rules/AddressPolicy.ts"

export interface TransportRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** From the start, name resolution and connecting included, to the end of the answer; in milliseconds. */
  readonly deadline: number
  /** Special-purpose addresses that may be connected to all the same. */
  readonly allow: AllowList
}

/** What became of a request. `elapsed` is in milliseconds from its start. */
export type TransportResult =
  | {
      readonly _tag: "Answered"
      readonly status: number
      /** The `retry-after` header as sent, null when there was none. */
      readonly retry_after: string | null
      /** The `location` header of a redirect as sent, if there was one. */
      readonly location?: string | null
      /** The beginning of the body, read until its end, the size cap or the deadline. */
      readonly excerpt: string
      /** When the answer's headers were complete. */
      readonly headers_elapsed: number
      readonly elapsed: number
    }
  | {
      readonly _tag: "Failed"
      readonly outcome: Exclude<AttemptOutcome, "acknowledged" | "bad_status">
      readonly detail: string
      readonly elapsed: number
    }

/**
 * The sender's own way out failed: its proxy, or its supply of sockets. The receiver had no part in it, so that nothing
 * was attempted.
 */
export class TransportUnavailable extends Schema.TaggedError<TransportUnavailable>()("TransportUnavailable", {
  /** What failed, in one line. */
  message: Schema.String
}) {}

export class Transport extends Context.Service<
  Transport,
  {
    /** Whatever goes wrong on the way to the receiver, or with it, is a result. Interrupting closes the connection. */
    readonly post: (request: TransportRequest) => Effect.Effect<TransportResult, TransportUnavailable>
  }
>()("@doorhook/core/ports/Transport") {}
