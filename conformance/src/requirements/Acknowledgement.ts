/**
 * R-ACK: what counts as an acknowledgement, for everyday events and under load.
 */
import { DurationText } from "@doorhook/core"
import type { Trace } from "../evidence/Trace.ts"
import { ordinary, timed, unusualEvents } from "../history/Domain.ts"
import { accessLog, call, noted, withUnknown } from "../history/Events.ts"
import { again, makeCase, newEvent } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { string } from "../history/Json.ts"
import { single } from "../history/Samples.ts"
import { retry } from "../history/Variations.ts"
import {
  completeAnswers,
  exactStatus,
  firstAttempts,
  isLimited,
  limitBecause,
  limitInWords,
  limitsIn,
  statusInTime
} from "../judgement/Judge.ts"
import { exchangeInWords, inWords, classify, statusInWords } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { fail, inconclusive, nothing, pass } from "../judgement/Verdict.ts"
import type { Finding } from "../judgement/Verdict.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

/** The simplest cases. If a receiver does not acknowledge these, nothing else can be tested. */
export const simplestCases: ReadonlyArray<Case> = [
  makeCase("timing", "an unlocked door", newEvent(accessLog)),
  makeCase("timing", "a video call", newEvent(call))
]

export const ordinaryCases: ReadonlyArray<Case> = [
  ...simplestCases,
  makeCase(
    "timing",
    "several events over one connection",
    newEvent(accessLog),
    newEvent(call),
    newEvent(accessLog),
    newEvent(accessLog)
  )
]

/** Enough events, ten at a time, to trigger a rare fault. */
export const manyEvents: Case = makeCase("state", "many ordinary events, ten at once", { k: "filler", count: 300 })

const large = noted(withUnknown(accessLog, ["transcript", string("All quiet. ".repeat(9_000))]), "99 kB")

export const largeEvent: Case = makeCase("timing", "a large event", newEvent(large))

/**
 * Length of the quiet time, in milliseconds. Receivers close idle connections after whole seconds. A time between whole
 * seconds avoids using a connection at the moment it closes.
 */
const quiet = 3_600

/** Sends nothing for a while, then events over the kept connection and over a new one. */
export const quietCase: Case = makeCase(
  "quiet",
  "events after a quiet time",
  newEvent(accessLog),
  { k: "idle", ms: quiet },
  newEvent(accessLog, ["kept"]),
  newEvent(call, ["new_connection"]),
  again(0, retry)
)

/** Cases whose answers may take longer than answers to the simplest events. */
const slowerCases: ReadonlyArray<Case> = [
  makeCase("timing", "a duplicate", newEvent(accessLog), again(0, retry)),
  largeEvent,
  quietCase
]

/** Events at times of every form, as hosts in other zones and controllers with a wrong clock send them. */
export const timeCases: ReadonlyArray<Case> = unusualEvents(false).flatMap(({ events, kind, member, plain }) =>
  member === "logged_at"
    ? [
        {
          ...makeCase(
            "state",
            `${plain.resource_type} events at times of every form`,
            ...events.map((one) => newEvent(one))
          ),
          because: kind.because
        }
      ]
    : []
)

const samples = single("timing", "random ordinary events", ordinary, 8)
const timedSamples = single("state", "events at random times", timed, 8)

const inTimeShare = 0.999

/**
 * Requires that no event is refused or broken off, and that 99.9 % are answered in time. Each answer is timed from when
 * its event was due. A limit breaks only a SHOULD if the receiver acknowledges what it refused once that is sent again.
 */
const underLoad = (trace: Trace, criteria: Criteria): Finding => {
  const loaded = trace.attempts.flatMap((attempt, index) =>
    attempt.kind === "load" && !isLimited(attempt)
      ? [{ attempt, index, answer: classify(attempt.exchange, criteria) }]
      : []
  )
  if (loaded.length === 0) return nothing("no load was sent")
  const wrong = loaded.find(({ answer }) => answer === "refused" || answer === "broken")
  if (wrong !== undefined) return fail(wrong.index, `under load: ${exchangeInWords(wrong.attempt.exchange)}`)
  const late = loaded.filter(({ answer }) => answer === "late" || answer === "unfinished")
  const borderline = loaded.filter(({ answer }) => answer === "borderline")
  const allowed = Math.floor(loaded.length * (1 - inTimeShare))
  const first = [...late, ...borderline][0]?.index ?? null
  const heldUp = trace.shortfalls.reduce((sum, { done, of, what }) => sum + (what === "connections" ? of - done : 0), 0)
  if (late.length - heldUp > allowed)
    return fail(first, `${late.length} of ${loaded.length} answers arrived too late`, { timing: true })
  if (heldUp > allowed)
    return inconclusive(
      first,
      `${heldUp} of ${loaded.length} events were sent too late, because all of the suite's connections were busy, so this rate can't be judged`
    )
  if (late.length + borderline.length > allowed) {
    return inconclusive(
      first,
      `${late.length + borderline.length} of ${loaded.length} answers arrived too close to the deadline to judge`
    )
  }
  const limited = trace.attempts.findIndex(isLimited)
  if (limited === -1) return pass(loaded.map(({ index }) => index))
  const { kept, vain } = limitsIn(trace, criteria)
  if (vain !== -1 || kept === -1)
    return inconclusive(
      vain === -1 ? limited : vain,
      `${limitInWords(trace.attempts)}, and ${vain === -1 ? "no refused event was sent again" : "refused an event at each repeat"}`
    )
  return fail(kept, limitInWords(trace.attempts), { strength: "SHOULD", because: limitBecause })
}

export const ackRequirements: ReadonlyArray<Requirement> = [
  requirement("R-ACK-01", 1, {
    statement: "Every valid event is acknowledged at its first attempt.",
    source: "interface document, section 6, rule 3",
    because: symptoms.unacknowledged,
    expected: (criteria) => `the first attempt of every ordinary event is answered with ${inWords(criteria)}`,
    presumesAcknowledgement: false,
    presupposes: ["R-ACK-02", "R-ACK-03", "R-ACK-04"],
    given: [...ordinaryCases, ...slowerCases, manyEvents, ...timeCases],
    sampled: timedSamples,
    judge: firstAttempts
  }),
  requirement("R-ACK-02", 1, {
    statement: "The status of the answer is exactly 200: 201, 202, 204 and redirects do not acknowledge.",
    source: "interface document, section 6, rule 3",
    because:
      "The interface has one acknowledgement, 200 OK. Redirects are not followed: a redirected POST may arrive as a GET, or at another receiver.",
    expected: (criteria) => `every answer has ${statusInWords(criteria)}`,
    presumesAcknowledgement: false,
    given: [...ordinaryCases, manyEvents],
    sampled: samples,
    judge: exactStatus
  }),
  requirement("R-ACK-03", 1, {
    statement: "The answer arrives within 5 seconds of the start of the request, including the time to connect.",
    source: "interface document, section 6, rule 3, and section 8",
    because:
      "A later answer does not count: the event is sent again although it was handled. Put the work into a queue and answer immediately.",
    expected: ({ deadline }) => `the status of every answer arrives within ${DurationText.format(deadline)}`,
    presumesAcknowledgement: false,
    given: [...ordinaryCases, ...slowerCases],
    sampled: samples,
    judge: statusInTime
  }),
  requirement("R-ACK-04", 1, {
    statement: "The answer is complete: its body ends within the deadline and has the announced length.",
    source: "interface document, section 6, rule 3; RFC 9112, sections 6.3 and 8",
    because:
      "An answer that never ends keeps a connection of the sender busy. A wrong length corrupts the next answer on the connection.",
    expected: ({ deadline }) =>
      `every answer ends within ${DurationText.format(deadline)}, with as many bytes as announced`,
    presumesAcknowledgement: false,
    given: [...ordinaryCases, ...slowerCases],
    sampled: samples,
    judge: completeAnswers
  }),
  requirement("R-ACK-05", 1, {
    profile: "load",
    statement:
      "At the declared peak rate every event is acknowledged, 99.9 % of them within 5 seconds of when they were due.",
    source: "interface document, section 6, rule 3, and section 8",
    because:
      "After an outage of a controller, or when a shift begins, many events arrive at once. A receiver that falls behind gets each event several times, and falls behind further.",
    expected: (criteria) =>
      `every event at the peak rate is answered with ${inWords(criteria)}, counted from when it was due`,
    needs: ["rate"],
    given: [
      makeCase("load", "the declared peak rate", { k: "load", factor: 1, ms: 8_000 }),
      makeCase("load", "a burst of five times the peak rate", { k: "load", factor: 5, ms: 1_000 })
    ],
    judge: underLoad
  })
]
