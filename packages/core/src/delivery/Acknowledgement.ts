/**
 * The definition of an acknowledgement, shared by the sender, the simulator and the conformance suite (interface
 * document, section 6, rule 3). The status is exactly 200, or any 2xx if the integration's setting allows it. The
 * headers must be complete within the deadline.
 */
import type { AttemptOutcome } from "../model/Delivery.ts"
import type { TransportResult } from "../ports/Transport.ts"

/** Default time limit for an acknowledgement, in milliseconds from the start of the request. */
export const defaultDeadline = 5_000

/** Statuses that acknowledge: only 200 (the default) or any 2xx. */
export type AcknowledgementRule = "200" | "2xx"

/** Whether a status counts as an acknowledgement under the rule. */
export const isAcknowledgingStatus = (status: number, rule: AcknowledgementRule): boolean =>
  rule === "200" ? status === 200 : status >= 200 && status <= 299

/** Returns the outcome of a request. `deadline` is in milliseconds from the start of the request. */
export const judge = (result: TransportResult, deadline: number, rule: AcknowledgementRule): AttemptOutcome => {
  if (result._tag === "Failed") return result.outcome
  if (!isAcknowledgingStatus(result.status, rule)) return "bad_status"
  return result.headers_elapsed <= deadline ? "acknowledged" : "timeout"
}
