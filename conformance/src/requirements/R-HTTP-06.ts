/**
 * A connection that is used again and again.
 */
import { everyAnswerComplete } from "../checks/CompleteAnswer.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import type { Operation } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

const one = (_: unknown, index: number): Operation =>
  index % 3 === 2 ? again(index, retry) : newEvent(index % 2 === 0 ? accessLog : call)

const kept = (_: unknown, index: number): Operation => newEvent(index % 2 === 0 ? accessLog : call, ["kept"])

export const requirement = define({
  id: "R-HTTP-06",
  level: 1,
  statement: "Many events over one connection are acknowledged like the first; it is kept, or closed in order.",
  source: "RFC 9112, section 9.3",
  because: "The sender keeps connections. Bytes left over from one request or answer spoil the next on it.",
  expected: (terms) => `every one of 40 requests over a connection is answered with ${inWords(terms)}`,
  presupposes: ["R-DUP-01"],
  directed: [
    makeCase("state", "40 requests over one connection", ...Array.from({ length: 40 }, one)),
    makeCase("state", "12 requests over one connection, a moment apart", ...Array.from({ length: 12 }, kept)),
    makeCase(
      "state",
      "requests over one connection with pauses",
      newEvent(accessLog),
      { k: "idle", ms: 1_200 },
      newEvent(call),
      { k: "idle", ms: 600 },
      newEvent(accessLog)
    )
  ],
  check: (trace, terms) => both(everyAttemptAcknowledged(trace, terms), everyAnswerComplete(trace, terms))
})
