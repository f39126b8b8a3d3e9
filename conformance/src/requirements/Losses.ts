/**
 * R-LOS: what was acknowledged has its effect, what failed is not poisoned, and nothing comes of nothing.
 */
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call } from "../history/Events.ts"
import { malformationInWords } from "../history/Forgeries.ts"
import type { Malformation } from "../history/Forgeries.ts"
import { cutAgain, cutNew, inAnswer, inBody, only, retried } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import type { EventTemplate } from "../history/Events.ts"
import type { Finding } from "../judgement/Finding.ts"
import { acknowledgedHasEffect, all, exactlyOnce, lastAttempts, noPhantom } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import { largeEvent, manyEvents, ordinaryCases } from "./Acknowledging.ts"
import { disturbed, malformed } from "./Cases.ts"
import { requirement, symptoms, unrecorded } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const brokenOff = (event: EventTemplate, percent: number): Case =>
  disturbed(
    `${event.resource_type} broken off after ${percent} % of its body`,
    cutNew(event, inBody(percent)),
    retried(0)
  )

const neverWhole = (percent: number): Case =>
  disturbed(`an event broken off after ${percent} % and never sent again`, cutNew(call, inBody(percent)))

const noEvent = (kind: Malformation): Case =>
  disturbed(`an event ${malformationInWords(kind)}`, malformed(accessLog, kind))

/** A receiver that acknowledged what was no event owes nothing for it. */
const oneUnlessMalformedAccepted = (trace: Trace, terms: Terms): Finding => {
  const isOwed = trace.attempts.every(
    ({ exchange, kind }) => kind !== "malformed" || exchange._tag === "Failed" || exchange.status >= 300
  )
  return isOwed ? all(lastAttempts, exactlyOnce)(trace, terms) : lastAttempts(trace, terms)
}

export const losing: ReadonlyArray<Requirement> = [
  requirement("R-LOS-01", 2, {
    statement: "An acknowledged event has its effect soon, and without being sent again.",
    source: "interface document, section 6, rules 3 and 5",
    because: symptoms.lost,
    expected: () => "one effect for every acknowledged event of a documented kind, within the settling time",
    needs: ["effects"],
    examines: "all",
    given: [...ordinaryCases, largeEvent, manyEvents],
    judge: acknowledgedHasEffect
  }),
  requirement("R-LOS-02", 2, {
    statement:
      "An event whose attempts failed is handled at the next undisturbed attempt: a failure does not mark its id as known.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A receiver that records an id before it has handled the event takes the retry of a broken attempt for a duplicate, acknowledges it and drops it.",
    becauses: {
      unacknowledged:
        "A receiver that refuses an event because an attempt of it broke refuses every retry too: the event is given up after days.",
      duplicate_refused: symptoms.duplicate_refused,
      doubled: unrecorded
    },
    expected: (terms) => `the retry after broken attempts is answered with ${inWords(terms)}, and there is one effect`,
    needs: ["effects"],
    given: [
      brokenOff(accessLog, 50),
      brokenOff(call, 99),
      disturbed(
        "three broken attempts",
        cutNew(accessLog, inBody(60)),
        cutAgain(0, inBody(90)),
        cutAgain(0, inBody(10)),
        retried(0)
      ),
      disturbed(
        "broken off in the body, then gone before the answer",
        cutNew(call, inBody(50)),
        cutAgain(0, inAnswer(0)),
        retried(0)
      ),
      disturbed("a malformed attempt first", malformed(accessLog, "truncated"), retried(0))
    ],
    further: [
      disturbed("gone before the answer", cutNew(accessLog, inAnswer(0)), retried(0)),
      ...[0, 25, 75, 99].map((percent) => brokenOff(accessLog, percent)),
      ...[0, 25, 50, 75].map((percent) => brokenOff(call, percent))
    ],
    judge: oneUnlessMalformedAccepted
  }),
  requirement("R-LOS-03", 2, {
    statement: "An event that was never sent or was broken off has no effect, nor has a body that is no event.",
    source: "interface document, section 2.3; RFC 8259, section 2",
    because: "A receiver that acts on half a request opens doors for events that did not happen.",
    expected: () => "no effect",
    needs: ["effects"],
    examines: "all",
    given: [noEvent("truncated"), noEvent("unclosed"), noEvent("single_quotes"), neverWhole(60), neverWhole(99.9)],
    further: [
      neverWhole(30),
      neverWhole(95),
      // The event is whole; many parsers read the first value of a text and leave the rest (RFC 8259, section 9).
      ...only("SHOULD", [noEvent("trailing")]).map((one) => ({
        ...one,
        because:
          "The event is complete, so acting on it does no harm by itself. But the sender writes no text after the JSON, and a strict parser notices it."
      }))
    ],
    judge: noPhantom
  })
]
