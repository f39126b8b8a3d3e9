/**
 * The one definition of «acknowledged» (document section 6, rule 3), used by the sender, the simulator and the
 * conformance suite alike: status exactly 200, or any 2xx where an integration asks for it, and the answer's headers
 * complete within the deadline.
 */
import type { AttemptOutcome } from "../model/Delivery.ts"
import type { TransportResult } from "../ports/Transport.ts"

/** How long a receiver has to acknowledge, in milliseconds, counted from the start of the request. */
export const defaultDeadline = 5_000

/** Which statuses acknowledge: `200` alone by the document, any 2xx where an integration asks for it. */
export type AcknowledgementRule = "200" | "2xx"

/** Whether a status acknowledges. */
export const isAcknowledgingStatus = (status: number, rule: AcknowledgementRule): boolean =>
  rule === "200" ? status === 200 : status >= 200 && status <= 299

/** The outcome code of a request that was made under a deadline. */
export const judge = (result: TransportResult, deadline: number, rule: AcknowledgementRule): AttemptOutcome => {
  if (result._tag === "Failed") return result.outcome
  if (!isAcknowledgingStatus(result.status, rule)) return "bad_status"
  return result.headers_elapsed <= deadline ? "acknowledged" : "timeout"
}
