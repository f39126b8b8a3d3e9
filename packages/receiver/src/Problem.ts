/**
 * Problems of a receiver, as values that say what to do.
 */
import { answer } from "./Delivery.ts"
import type { Answer } from "./Delivery.ts"

export interface Problem {
  readonly kind:
    /** Answered 403: the sender's address is not in `addresses`. */
    | "refused_address"
    /** Answered 401. */
    | "refused_signature"
    /** Answered 400, or 413 if it is too long: not a delivery of doorhook's. */
    | "invalid_request"
    /** The sender went away before the end of the body. */
    | "broken_off"
    /** Answered 500: a body parser ran before the receiver and left no bytes to verify. */
    | "body_consumed"
    /** Answered 503, it comes again: the store or `record` failed. */
    | "not_kept"
    /** Answered 503, it comes again: keeping it took longer than `answerWithinMs`. */
    | "too_slow"
    /** `work` failed and is tried again. */
    | "work_failed"
    /** `work` failed for the last time. */
    | "work_given_up"
    /** The store failed while work was looked up or written down; it is asked again. */
    | "store_failed"
  /** `alert` is for a person, now; `warning` is for the log. */
  readonly severity: "warning" | "alert"
  /** One line: what happened and what to do. Holds no secret and nothing of the event's data. */
  readonly message: string
  /** The `webhook-id`, if known. */
  readonly id: string | null
  /** What was thrown, if anything was. */
  readonly cause: unknown
}

interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>
  readonly kind?: Problem["kind"] | null
  readonly message?: string
  readonly cause?: unknown
}

/** Throw it in a part or in `record` to answer something else than 200. Nothing is kept then. */
export class Refusal extends Error {
  override readonly name = "Refusal"
  readonly answer: Answer
  /** What is reported; null for nothing. */
  readonly kind: Problem["kind"] | null

  /** `body` is sent to the caller; `message` is for the operator. */
  constructor(status: number, body: string, { cause, headers, kind = null, message = body }: RefusalDetails = {}) {
    super(message, { cause })
    this.answer = answer(status, body, headers)
    this.kind = kind
  }
}

/** An option that can't be used, thrown when the receiver is made. Never quotes a secret. */
export class InvalidOption extends Error {
  override readonly name = "InvalidOption"
  readonly option: "addresses" | "secrets"

  constructor(option: "addresses" | "secrets", message: string) {
    super(`${option}: ${message}`)
    this.option = option
  }
}

/** Writes a line of JSON to standard error: the default of `onProblem`. */
export const logProblem = ({ id, kind, message, severity }: Problem): void =>
  void process.stderr.write(
    `${JSON.stringify({ at: new Date().toISOString(), severity, kind, webhook_id: id, message })}\n`
  )

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
