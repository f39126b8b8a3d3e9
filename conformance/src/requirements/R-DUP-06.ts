/**
 * The last retry there can be, which no run can wait for: the receiver's clock is moved instead.
 */
import { builtInTypes, RetryPolicy } from "@doorhook/core"
import { exactlyOnce } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { lastAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

const hour = 3_600_000

/** From the first attempt to the last retry, jitter included, and an hour more. */
const horizon =
  builtInTypes.access_log.retry.delays.reduce((sum, delay) => sum + delay, 0) * (1 + RetryPolicy.maxJitter) + hour

const after = (ms: number, title: string) =>
  makeCase("operated", title, newEvent(accessLog), newEvent(call), { k: "advance", ms }, { k: "again_all", how: retry })

export const requirement = define({
  id: "R-DUP-06",
  level: 2,
  profile: "clock",
  statement: "An event is known again for as long as the sender may retry it.",
  source: "interface document, section 6, rule 4; the retry schedule in docs/decisions.md",
  because:
    "An access log is retried for about three days. A memory that is shorter lets the last retries through, and a receiver that refuses what is old never gets them acknowledged.",
  expected: (terms) =>
    `an event that comes again ${Math.round(horizon / hour)} hours later is answered with ${inWords(terms)}, and there is one effect`,
  needs: ["effects", "advance"],
  directed: [
    after(10 * 60_000, "again after ten minutes"),
    after(25 * hour, "again after a day"),
    after(Math.ceil(horizon), "again at the last retry")
  ],
  check: (trace, terms) => both(lastAttemptAcknowledged(trace, terms), exactlyOnce(trace, terms))
})
