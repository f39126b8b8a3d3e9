/**
 * Every answer's status comes within the deadline. Whether its body ends in time is `CompleteAnswer`'s.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { statusTime } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const everyStatusInTime = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(
    trace,
    "the connection broke before an answer, so there was no time to judge",
    ({ exchange, kind }, index) => {
      if (kind !== "delivery") return null
      const observed = exchangeInWords(exchange)
      if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? fail(index, observed, true) : null
      switch (statusTime(exchange, terms)) {
        case "in_time":
          return "good"
        case "borderline":
          return inconclusive(
            index,
            `${observed}: within ${terms.guard} ms of the deadline, nearer than can be measured`
          )
        case "late":
          return fail(index, observed, true)
      }
    }
  )
