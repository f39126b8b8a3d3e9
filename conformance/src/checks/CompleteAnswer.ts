/**
 * Every answer that begins also ends: the body is whole, as long as it says, and over within the deadline; the connection
 * is usable afterwards or closed in order.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachAttempt } from "./EachAttempt.ts"
import type { Finding } from "./Finding.ts"
import { fail, inconclusive } from "./Finding.ts"
import { bodyTime, statusTime } from "./Reading.ts"
import type { Terms } from "./Terms.ts"
import { exchangeInWords } from "./Words.ts"

export const everyAnswerComplete = (trace: Trace, terms: Terms): Finding =>
  eachAttempt(trace, "no answer began in time, so there was no end to judge", ({ exchange, kind }, index) => {
    if (kind !== "delivery") return null
    const observed = exchangeInWords(exchange)
    if (exchange._tag === "Failed") return exchange.outcome === "timeout" ? null : fail(index, observed)
    if (exchange.ending === "cut_off" || exchange.ending === "malformed") return fail(index, observed)
    // Of an answer that begins late, the end says nothing more.
    if (statusTime(exchange, terms) === "late") return null
    switch (bodyTime(exchange, terms)) {
      case "in_time":
        return "good"
      case "borderline":
        return inconclusive(index, `${observed}, the body's end ${terms.guard} ms or less from the deadline`)
      case "late":
        return fail(index, observed, true)
    }
  })
