/**
 * Senders that go away in the middle, and what they leave behind.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import type { Operation } from "../history/History.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

const stalled = (count: number, percent: number): Operation => ({ k: "stalled", count, percent })

const storm = (count: number, percent: number): Operation => ({ k: "abort_storm", count, percent })

export const requirement = define({
  id: "R-HTTP-09",
  level: 1,
  statement: "Requests that stop, are broken off, or are no events do not keep the receiver from others.",
  source: "RFC 9112, section 8; RFC 8259, section 2",
  because:
    "A handler that waits for ever for the rest of a body holds a worker, a lock or a transaction; one that throws on a body it can't read may end its process. Some lost connections later nothing is answered any more.",
  expected: (terms) => `events after many broken requests are answered with ${inWords(terms)}`,
  directed: [
    makeCase(
      "disturbed",
      "events after bodies that are no JSON",
      { k: "malformed", event: accessLog, kind: "truncated" },
      { k: "malformed", event: call, kind: "single_quotes" },
      newEvent(accessLog),
      newEvent(call)
    ),
    makeCase("disturbed", "events after eight broken requests", storm(8, 50), newEvent(accessLog), newEvent(call)),
    makeCase("disturbed", "events after 30 broken requests", storm(30, 90), newEvent(accessLog), newEvent(call)),
    makeCase(
      "blocking",
      "events beside a request that has stopped",
      stalled(1, 50),
      newEvent(accessLog),
      newEvent(call)
    ),
    makeCase("blocking", "events beside four that have stopped", stalled(4, 0), newEvent(call), newEvent(accessLog)),
    makeCase("disturbed", "events after requests without a body", storm(16, 0), newEvent(accessLog), newEvent(call)),
    makeCase(
      "disturbed",
      "events after broken requests again and again",
      storm(8, 10),
      newEvent(call),
      storm(8, 70),
      newEvent(accessLog),
      storm(16, 99),
      newEvent(call)
    )
  ],
  check: everyAttemptAcknowledged
})
