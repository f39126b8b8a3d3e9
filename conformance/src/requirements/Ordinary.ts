/**
 * The ordinary events that several requirements look at: sent once, judged by each of them.
 */
import { accessLog, call, noted, withMember, withUnknown } from "../history/Events.ts"
import type { Case, EventTemplate } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { ordinary } from "../history/Payloads.ts"
import { string } from "../history/RawJson.ts"
import type { Samples } from "../history/Samples.ts"
import { single } from "../history/Samples.ts"

/** The simplest case of all. A receiver that does not acknowledge it can't be asked for more. */
const simplest: Case = makeCase("timing", "an unlocked door", newEvent(accessLog))

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

const at = (event: EventTemplate, time: string, what: string): Case =>
  makeCase("state", `an event ${what}`, newEvent(noted(withMember(event, "logged_at", string(time)), what)))

/** ISO 8601 in UTC has several forms, and a controller that was offline, or whose clock is wrong, sends any time. */
export const timeCases: ReadonlyArray<Case> = [
  at(accessLog, "2026-03-02T08:00:00Z", "of a whole second"),
  at(call, "2026-03-02T08:00:00.5Z", "of half a second"),
  at(accessLog, "2026-03-02T08:00:00.123456Z", "timed to the microsecond"),
  at(call, "2026-03-02T08:00:00+00:00", "whose UTC is written +00:00"),
  at(accessLog, "2016-02-29T23:59:59.999Z", "of ten years ago"),
  at(call, "2031-01-01T00:00:00Z", "of years ahead")
]

/** Enough events to meet a fault that shows now and then. */
export const manyEvents: Case = makeCase("state", "many ordinary events, several at once", { k: "filler", count: 300 })

export const ordinarySamples: Samples = single("timing", "events of a day", ordinary, 8)
