/**
 * Cases of requests that are not genuine: alone, and followed by the genuine one, which must be handled as if nothing had
 * been.
 */
import { accessLog, call } from "../history/Events.ts"
import type { Case } from "../history/History.ts"
import { again, makeCase, newEvent } from "../history/History.ts"
import type { Forgery } from "../history/Invalid.ts"
import { forgeryInWords } from "../history/Invalid.ts"
import { both } from "../checks/Finding.ts"
import type { Finding } from "../checks/Finding.ts"
import { exactlyOnce, noPhantom } from "../checks/EachEvent.ts"
import { everyAttemptAcknowledged, forgeriesRefused } from "../checks/Retried.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Trace } from "../executor/Trace.ts"

export const forgedCases = (...kinds: ReadonlyArray<Forgery>): ReadonlyArray<Case> =>
  kinds.flatMap((kind) => [
    makeCase("state", `an event ${forgeryInWords(kind)}`, { k: "forged", event: accessLog, kind }, newEvent(call)),
    makeCase(
      "state",
      `an event ${forgeryInWords(kind)}, then genuine`,
      { k: "forged", event: call, kind },
      again(0, [])
    )
  ])

/** Refused, without effect, and no obstacle to what is genuine. */
export const refusedWithoutTrace = (trace: Trace, terms: Terms): Finding =>
  both(
    forgeriesRefused(trace, terms),
    noPhantom(trace, terms),
    everyAttemptAcknowledged(trace, terms),
    exactlyOnce(trace, terms)
  )

export const refused = "a status that does not acknowledge, no effect, and the genuine event handled afterwards"
