/**
 * The ordinary events that several requirements look at: sent once, judged by each of them.
 */
import { accessLog, call, noted, withUnknown } from "../history/Events.ts"
import type { Case } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { ordinary } from "../history/Payloads.ts"
import { string } from "../history/RawJson.ts"
import type { Samples } from "../history/Samples.ts"
import { single } from "../history/Samples.ts"

/** The simplest case of all. A receiver that does not acknowledge it can't be asked for more. */
export const simplest: Case = makeCase("timing", "an unlocked door", newEvent(accessLog))

const large = noted(withUnknown(accessLog, ["transcript", string("All quiet. ".repeat(9_000))]), "99 kB")

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

/** How long the receiver is left alone, in milliseconds: longer than connections are usually kept idle. */
const quiet = 6_000

/** What may take longer than the simplest event: a duplicate, a large event, the first after a while. */
export const slowerCases: ReadonlyArray<Case> = [
  makeCase("timing", "a duplicate", newEvent(accessLog), again(0, retry)),
  makeCase("timing", "a large event", newEvent(large)),
  makeCase(
    "aged",
    "events after a quiet while",
    newEvent(accessLog),
    { k: "age", ms: quiet },
    newEvent(accessLog),
    newEvent(call)
  )
]

/** Enough events to meet a fault that shows now and then. */
export const manyEvents: Case = makeCase("state", "many ordinary events, several at once", { k: "filler", count: 300 })

export const ordinarySamples: Samples = single("timing", "events of a day", ordinary, 8)
