/**
 * What a receiver tells its operator: the interface asks receivers to log what failed and to raise an alert.
 */

export interface Problem {
  readonly kind:
    | "refused_address"
    | "refused_signature"
    | "unreadable"
    /** It could not be kept: it was answered 503 and comes again. */
    | "not_kept"
    /** Keeping it took longer than `answerWithinMs`: it was answered 503 and comes again. */
    | "slow"
    | "work_failed"
    /** Work failed for the last time: nothing more is tried. */
    | "work_given_up"
  /** `alert` is for a person, now; `warning` is for the log. */
  readonly severity: "warning" | "alert"
  /** One line: what happened and what to do. Holds no secret and nothing of the event's data. */
  readonly message: string
  /** The `webhook-id`; null where there is none. */
  readonly id: string | null
  /** What was thrown, where something was. */
  readonly cause: unknown
}

/** One line of JSON on standard error: what happens where `onProblem` is not given. */
export const logProblem = ({ id, kind, message, severity }: Problem): void =>
  void process.stderr.write(
    `${JSON.stringify({ at: new Date().toISOString(), severity, kind, webhook_id: id, message })}\n`
  )

/** What was thrown, in a line. */
export const causeInWords = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
