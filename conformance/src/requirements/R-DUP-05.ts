/**
 * How long, and over how many other events, a receiver remembers.
 */
import { builtInTypes, RetryPolicy } from "@doorhook/core"
import { exactlyOnce } from "../checks/EachEvent.ts"
import { accessLog, call } from "../history/Events.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

/** What the receiver should outlast at least; the suite goes as far as its time allows. */
const manyOthers = 10_000

const [first, second] = builtInTypes.access_log.retry.delays

/** From the first attempt of an access log to its second retry at the latest, in milliseconds. */
const secondRetry = Math.ceil((first + second) * (1 + RetryPolicy.maxJitter))

export const requirement = define({
  id: "R-DUP-05",
  level: 2,
  statement: "An event is known again after many others, and at its later retries.",
  source: "interface document, section 6, rule 4",
  because:
    "A retry may come days after the first attempt. A memory of the last thousand ids, or of the last minute, has forgotten it by then.",
  expected: () =>
    `one effect for an event that comes again after up to ${manyOthers} others, or ${secondRetry / 1_000} seconds later`,
  needs: ["effects"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    makeCase("state", "again after 40 others", newEvent(accessLog), { k: "filler", count: 40 }, again(0, retry)),
    makeCase(
      "load",
      "again after thousands of others",
      newEvent(accessLog),
      newEvent(call),
      newEvent(accessLog),
      { k: "filler", count: manyOthers },
      { k: "again_all", how: retry }
    ),
    makeCase(
      "aged",
      "again at the second retry",
      newEvent(accessLog),
      newEvent(call),
      newEvent(accessLog),
      { k: "age", ms: secondRetry },
      { k: "again_all", how: retry }
    )
  ],
  check: exactlyOnce
})
