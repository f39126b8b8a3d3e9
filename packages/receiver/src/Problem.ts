/**
 * Problems of a receiver, with messages that say what to do.
 */
import { answer } from "./Delivery.ts"
import type { Answer } from "./Delivery.ts"

export interface Problem {
  readonly kind:
    /** Answered 403: the sender's address is not in `addresses`. */
    | "refused_address"
    /** Answered 401. */
    | "refused_signature"
    /** Answered 400, or 413 if the body is too long: not a delivery from doorhook. */
    | "invalid_request"
    /** The sender closed the connection before the end of the body. */
    | "broken_off"
    /** Answered 500: a body parser ran before the receiver and kept no bytes to verify. */
    | "body_consumed"
    /** Answered 503, so doorhook retries: the store or `record` failed. */
    | "not_kept"
    /** Answered 503, so doorhook retries: storing took longer than `answerWithinMs`. */
    | "too_slow"
    /** `work` failed and will be retried. */
    | "work_failed"
    /** `work` failed for the last time. */
    | "work_given_up"
    /** The store failed to find work or to record the outcome of work; the receiver retries. */
    | "store_failed"
  /** `alert` needs a person's attention now; `warning` is for the log. */
  readonly severity: "warning" | "alert"
  /** One line: what happened and what to do. Contains no secret and no event data. */
  readonly message: string
  /** The `webhook-id`, if known. */
  readonly id: string | null
  /** The thrown value, if any. */
  readonly cause: unknown
}

interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>
  readonly kind?: Problem["kind"] | null
  readonly message?: string
  readonly cause?: unknown
}

/**
 * Error to throw in one of the `ReceiverParts` or in `record` to send a response other than 200. The delivery is not
 * stored.
 */
export class Refusal extends Error {
  override readonly name = "Refusal"
  readonly answer: Answer
  /** The kind of problem to report; null for none. */
  readonly kind: Problem["kind"] | null

  /** `body` is the response to the caller; `message` is for the operator. */
  constructor(status: number, body: string, { cause, headers, kind = null, message = body }: RefusalDetails = {}) {
    super(message, { cause })
    this.answer = answer(status, body, headers)
    this.kind = kind
  }
}

type CheckedNumber =
  | "alertAfter"
  | "answerWithinMs"
  | "concurrency"
  | "maxBodyBytes"
  | "retryDelaysMs"
  | "toleranceSeconds"

type CheckedOption = "addresses" | "secrets" | "url" | CheckedNumber

/** An invalid option, thrown by `createReceiver` and `readFeed`. Never contains a secret. */
export class InvalidOption extends Error {
  override readonly name = "InvalidOption"
  readonly option: CheckedOption

  constructor(option: CheckedOption, message: string) {
    super(`${option}: ${message}`)
    this.option = option
  }
}

/** Checks a number. Without this check, NaN from a missing environment variable would turn a limit off. */
export const checkWhole = (
  option: CheckedNumber,
  given: number,
  least: number,
  greatest = Number.MAX_SAFE_INTEGER
): void => {
  if (Number.isSafeInteger(given) && given >= least && given <= greatest) return
  throw new InvalidOption(option, `must be a whole number from ${least} to ${greatest}, not ${given}`)
}

/** Writes a problem to standard error as a line of JSON. The default of `onProblem`. */
export const logProblem = ({ id, kind, message, severity }: Problem): void =>
  void process.stderr.write(
    `${JSON.stringify({ at: new Date().toISOString(), severity, kind, webhook_id: id, message })}\n`
  )

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
