/**
 * Cases of requests that are not genuine: alone; before the genuine one, which must be handled as if nothing had been;
 * and about an event that is known, of which what was done must stay as it was.
 */
import { accessLog, call } from "../history/Events.ts"
import type { Case } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import type { Forgery } from "../history/Invalid.ts"
import { forgeryInWords } from "../history/Invalid.ts"
import { both } from "../checks/Finding.ts"
import type { Finding } from "../checks/Finding.ts"
import { exactlyOnce, noPhantom, storedAsSent } from "../checks/EachEvent.ts"
import { everyAttemptAcknowledged, forgeriesRefused } from "../checks/Retried.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Trace } from "../observed/Trace.ts"

export const forgedCases = (...kinds: ReadonlyArray<Forgery>): ReadonlyArray<Case> =>
  kinds.flatMap((kind) => [
    makeCase("state", `an event ${forgeryInWords(kind)}`, { k: "forged", event: accessLog, kind }, newEvent(call)),
    makeCase(
      "state",
      `an event ${forgeryInWords(kind)}, then genuine`,
      { k: "forged", event: call, kind },
      again(0, [])
    ),
    makeCase(
      "state",
      `a known event again, ${forgeryInWords(kind)}`,
      newEvent(accessLog),
      { k: "forged_again", ref: 0, kind },
      again(0, retry),
      { k: "forged_again", ref: 0, kind }
    )
  ])

/** Refused, without effect on anything, and no obstacle to what is genuine. */
export const refusedWithoutTrace = (trace: Trace, terms: Terms): Finding =>
  both(
    forgeriesRefused(trace, terms),
    noPhantom(trace, terms),
    everyAttemptAcknowledged(trace, terms),
    exactlyOnce(trace, terms),
    storedAsSent(trace, terms)
  )

export const refused = "a status that does not acknowledge, no effect, and the genuine event handled afterwards"
