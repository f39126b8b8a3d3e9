/**
 * One event for two integrations has one webhook-id. Each of the receiver's URLs must act on it.
 */
import { oncePerEndpoint } from "../checks/PerEndpoint.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

export const requirement = define({
  id: "R-DUP-08",
  level: 2,
  profile: "tenant",
  statement:
    "An event that comes to two of the receiver's URLs has one effect at each: duplicates are dropped per URL.",
  source: "interface document, section 1: building and tenant integrations; the same webhook-id at every integration",
  because:
    "A building and its tenant may use the same receiver. If the first delivery makes the second a duplicate, one of them never hears of the event.",
  expected: () => "one effect at each URL the event came to, none at one it did not come to",
  needs: ["effects", "endpoints"],
  directed: [
    makeCase("state", "an access log to one URL only", newEvent(accessLog)),
    makeCase("state", "an access log to both URLs", newEvent(accessLog), { k: "elsewhere", ref: 0 }),
    makeCase("state", "a call to both URLs, twice each", newEvent(call), { k: "elsewhere", ref: 0 }, again(0, retry), {
      k: "elsewhere",
      ref: 0
    })
  ],
  check: oncePerEndpoint
})
