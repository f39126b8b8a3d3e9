/**
 * A timestamp that is old or early, but not too much.
 */
import { everyAttemptAcknowledged } from "../checks/Retried.ts"
import { inWords } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent } from "../history/History.ts"
import { define } from "./Requirement.ts"

const stamps = [
  ["old_stamp", "ago"],
  ["early_stamp", "ahead"]
] as const

export const requirement = define({
  id: "R-SIG-08",
  level: 1,
  profile: "signed",
  statement: "A request whose timestamp is up to five minutes off is accepted.",
  source: "Standard Webhooks 1.0, verifying; interface document, section 5",
  because:
    "Queues and clocks are not exact. A tolerance of seconds refuses what is genuine, most of all when the sender is busy, or the receiver's clock is slow.",
  expected: (terms) => `it is answered with ${inWords(terms)}`,
  needs: ["secret"],
  directed: stamps.flatMap(([stamp, when]) =>
    [accessLog, call].flatMap((event) => [
      makeCase("state", `${event.resource_type} stamped four minutes ${when}`, newEvent(event, [stamp])),
      makeCase(
        "state",
        `a retry of ${event.resource_type} stamped four minutes ${when}`,
        newEvent(event),
        again(0, ["next_attempt", stamp])
      )
    ])
  ),
  check: everyAttemptAcknowledged
})
