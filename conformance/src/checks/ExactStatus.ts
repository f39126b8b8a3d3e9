/**
 * Every answer has a status that acknowledges, and no other. A redirect is an answer like any other: it is not followed.
 */
import { Acknowledgement } from "@doorhook/core"
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import type { Finding } from "./Finding.ts"
import { fail } from "./Finding.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const everyStatusAcknowledges = (trace: Trace, { rule }: Terms): Finding =>
  eachAttempt(trace, "no answer came, so there was no status to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery") return null
    if (exchange._tag === "Failed") return null
    return Acknowledgement.isAcknowledgingStatus(exchange.status, rule)
      ? "good"
      : fail(index, exchangeInWords(exchange))
  })
