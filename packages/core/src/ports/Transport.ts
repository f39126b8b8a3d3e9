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
  /** All that are sent, beside those that HTTP itself needs to carry a request: nothing of the sender's traces leaks. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent in UTF-8. */
  readonly body: string
  /** From the start, name resolution and connecting included, to the end of the answer; in milliseconds. */
  readonly deadline: number
  /** Special-purpose addresses that may be connected to all the same. */
  readonly allow: AllowList
  /** The client that made the integration: what a sender has little of, such as name look-ups, is shared among clients. */
  readonly client: string
}

/**
 * What became of a request. `elapsed` is in milliseconds from its start. Redirects are answers and are not followed; interim
 * answers (status 1xx) are none. The request is made once, with one exception: over a kept connection that ends before a
 * byte of the answer has come, which is what a receiver does that closes idle connections, it is made once more on a fresh one,
 * within the same deadline.
 */
export type TransportResult =
  | {
      readonly _tag: "Answered"
      readonly status: number
      /** The `retry-after` header as sent, null when there was none. */
      readonly retry_after: string | null
      /** The `location` header of a redirect as sent, if there was one. */
      readonly location?: string | null
      /** The beginning of the body, read until its end, `maxExcerptLength` or the deadline, or until it breaks off. */
      readonly excerpt: string
      /** When the answer's headers were complete. */
      readonly headers_elapsed: number
      readonly elapsed: number
    }
  | {
      readonly _tag: "Failed"
      /** Also `blocked_address` where the URL is none of http or https. */
      readonly outcome: Exclude<AttemptOutcome, "acknowledged" | "bad_status">
      /** For operators: one line, with nothing of the URL's path and query, which may hold a secret, nor of what was sent. */
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

/**
 * The sender had too little left for this receiver: its name had to wait for a look-up behind others, and the deadline
 * passed. The receiver is not at fault and other receivers are not affected. The request may have been made.
 */
export class TransportBusy extends Schema.TaggedError<TransportBusy>()("TransportBusy", {
  /** What was short, in one line. */
  message: Schema.String
}) {}

export class Transport extends Context.Service<
  Transport,
  {
    /**
     * Whatever goes wrong on the way to the receiver, or with it, is a result, and so is a deadline that has passed: nobody else
     * keeps to it. Interrupting closes the connection.
     */
    readonly post: (request: TransportRequest) => Effect.Effect<TransportResult, TransportUnavailable | TransportBusy>
  }
>()("@doorhook/core/ports/Transport") {}
