/**
 * The ordinary events that several requirements look at: sent once, judged by each of them.
 */
import { accessLog, call } from "../history/Events.ts"
import type { Case } from "../history/History.ts"
import { makeCase, newEvent } from "../history/History.ts"
import { ordinary } from "../history/Payloads.ts"
import type { Samples } from "../history/Samples.ts"
import { single } from "../history/Samples.ts"

/** The simplest case of all. A receiver that does not acknowledge it can't be asked for more. */
export const simplest: Case = makeCase("timing", "an unlocked door", newEvent(accessLog))

export const ordinaryCases: ReadonlyArray<Case> = [
  simplest,
  makeCase("timing", "a video call", newEvent(call)),
  makeCase(
    "timing",
    "several events over one connection",
    newEvent(accessLog),
    newEvent(call),
    newEvent(accessLog),
    newEvent(accessLog)
  )
]

export const ordinarySamples: Samples = single("timing", "events of a day", ordinary, 8)
