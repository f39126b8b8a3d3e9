/**
 * A connection for one request, as HTTP/1.0 knows it.
 */
import { everyAnswerComplete } from "../checks/CompleteAnswer.ts"
import { both } from "../checks/Finding.ts"
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import type { Operation } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

const one = (_: unknown, index: number): Operation => newEvent(index % 2 === 0 ? accessLog : call, ["close"])

export const requirement = define({
  id: "R-HTTP-07",
  level: 1,
  statement: "Events over connections of their own, with connection: close, are acknowledged.",
  source: "RFC 9112, section 9.6",
  because: "Not every sender or proxy keeps connections.",
  expected: (terms) => `each of several requests with connection: close is answered with ${inWords(terms)}`,
  presupposes: ["R-DUP-01"],
  directed: [
    makeCase("state", "eight requests, each over its own connection", ...Array.from({ length: 8 }, one)),
    makeCase(
      "state",
      "a duplicate over its own connection",
      newEvent(accessLog, ["close"]),
      again(0, [...retry, "close"])
    )
  ],
  check: (trace, terms) => both(everyAttemptAcknowledged(trace, terms), everyAnswerComplete(trace, terms))
})
