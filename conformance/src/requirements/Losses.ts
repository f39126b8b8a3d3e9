/**
 * R-LOS: acknowledged events have their effect, failed attempts do not prevent the effect of a retry, and events that
 * were never sent have no effect. R-LATE: lost or late answers, the attempts that follow, and events that arrive too late
 * to act on. R-ORD: events arrive in any order.
 */
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call, noted, withMember } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import {
  cutAgain,
  cutNew,
  disturbed,
  inAnswer,
  inBody,
  malformed,
  newCall,
  newEvent,
  newLog,
  only,
  operated,
  retried,
  retryAll,
  retryOf,
  retryOpen,
  state
} from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { string } from "../history/Json.ts"
import { malformationInWords } from "../history/Variations.ts"
import type { Malformation } from "../history/Variations.ts"
import {
  acknowledgedHasEffect,
  all,
  atMostOnce,
  eachEvent,
  everyAttempt,
  exactlyOnce,
  isExpired,
  isReplay,
  lastAttempts,
  noPhantom,
  wentOut
} from "../judgement/Judge.ts"
import type { EventStory } from "../judgement/Judge.ts"
import { inWords } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import type { Finding } from "../judgement/Verdict.ts"
import { largeEvent, manyEvents, ordinaryCases, timeCases } from "./Acknowledgement.ts"
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

/** Requires one effect after the retry, unless the receiver acknowledged the malformed event. */
const oneUnlessMalformedAccepted = (trace: Trace, criteria: Criteria): Finding => {
  const isOwed = trace.attempts.every(
    ({ exchange, kind }) => kind !== "malformed" || exchange._tag === "Failed" || exchange.status >= 300
  )
  return isOwed ? all(lastAttempts, exactlyOnce)(trace, criteria) : lastAttempts(trace, criteria)
}

export const lossRequirements: ReadonlyArray<Requirement> = [
  requirement("R-LOS-01", 2, {
    statement: "An acknowledged event has its effect soon, and without being sent again.",
    source: "interface document, section 6, rules 3 and 5",
    because: symptoms.lost,
    expected: () => "one effect for every acknowledged event of a documented kind, within the settling time",
    needs: ["effects"],
    examines: "all",
    given: [...ordinaryCases, largeEvent, manyEvents, ...timeCases],
    judge: acknowledgedHasEffect
  }),
  requirement("R-LOS-02", 2, {
    statement:
      "An event whose attempts failed is handled at the next undisturbed attempt: a failure does not mark its id as known.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "A receiver that records an id before it has handled the event takes the retry of a failed attempt for a duplicate, acknowledges it and drops it.",
    becauses: {
      unacknowledged:
        "A receiver that refuses an event because an earlier attempt broke refuses every retry, too. The sender gives the event up after days.",
      duplicate_refused: symptoms.duplicate_refused,
      doubled: unrecorded
    },
    expected: (criteria) =>
      `the retry after broken attempts is answered with ${inWords(criteria)}, and there is one effect`,
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
        "broken off in the body, then closed before the answer",
        cutNew(call, inBody(50)),
        cutAgain(0, inAnswer(0)),
        retried(0)
      ),
      disturbed("a malformed attempt first", malformed(accessLog, "truncated"), retried(0))
    ],
    further: [
      disturbed("connection closed before the answer", cutNew(accessLog, inAnswer(0)), retried(0)),
      ...[0, 25, 75, 99].map((percent) => brokenOff(accessLog, percent)),
      ...[0, 25, 50, 75].map((percent) => brokenOff(call, percent))
    ],
    judge: oneUnlessMalformedAccepted
  }),
  requirement("R-LOS-03", 2, {
    statement: "An event that was never sent, or was broken off, has no effect. Nor has a body that is no event.",
    source: "interface document, section 2.3; RFC 8259, section 2",
    because: "A receiver that acts on half a request opens doors for events that did not happen.",
    expected: () => "no effect",
    needs: ["effects"],
    examines: "all",
    given: [noEvent("truncated"), noEvent("unclosed"), noEvent("single_quotes"), neverWhole(60), neverWhole(99.9)],
    further: [
      neverWhole(30),
      neverWhole(95),
      // A SHOULD, because the event is complete: many parsers read the first value and ignore the rest (RFC 8259,
      // section 9).
      ...only("SHOULD", [noEvent("trailing")]).map((one) => ({
        ...one,
        because:
          "The event is complete, so acting on it does no harm. But a genuine sender writes nothing after the JSON, and a strict parser refuses a body that has more."
      }))
    ],
    judge: noPhantom
  })
]

const givenUp = (event: EventTemplate, share: number): Case =>
  disturbed(
    `${event.resource_type} given up after ${share * 100} % of the usual answer time`,
    cutNew(event, inAnswer(share)),
    retried(0)
  )

/** A call in a case about its deadline. No access log can replace it, because only calls expire. */
const awaited = noted(call, "that somebody waits for")

/** Requires that an event has no effect if no whole attempt of it came before its deadline. */
const noneAfterDeadline = (trace: Trace, criteria: Criteria): Finding =>
  eachEvent(trace, criteria, "no event arrived after its deadline", ({ attempts, most }) => {
    const whole = attempts.filter(([, one]) => wentOut(one, trace))
    if (most === null || whole.length === 0 || !whole.every(([, one]) => isExpired(one))) return null
    return most > 0 ? "it arrived after its deadline (doorhook-expires-at)" : true
  })

/**
 * Requires that an event that arrives only as a replay is stored, as a digest or an effect shows. If the probe shows a
 * stored event without an effect, it counts what the receiver does, and a replayed call must have no effect.
 */
const replaysStored = (trace: Trace, criteria: Criteria): Finding => {
  const isStored = ({ event, last }: EventStory): boolean =>
    last !== 0 || (trace.effects[event]?.digest ?? null) !== null
  const showsStored = trace.effects.some((seen) => seen !== null && seen.last === 0 && seen.digest !== null)
  const showsDigests = trace.effects.some((seen) => seen !== null && seen.digest !== null)
  return eachEvent(trace, criteria, "no replay's effects were read", (story) => {
    if (story.most === null || !story.attempts.every(([, one]) => isReplay(one))) return null
    if (showsStored && story.most > 0 && story.sent.resourceType === call.resource_type)
      return "the receiver acted on it, although it was marked as a replay"
    if (isStored(story)) return true
    return showsDigests && story.state === "acknowledged" ? "it was acknowledged and not stored" : null
  })
}

export const lateRequirements: ReadonlyArray<Requirement> = [
  requirement("R-LATE-01", 2, {
    statement: "When the answer is lost on its way, the retry is acknowledged and there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "Networks fail after the work is done and before the answer arrives. The sender then sends the event again. A receiver that refuses the retry gets further retries for days.",
    becauses: {
      lost: "Networks fail before the answer arrives. If the receiver rolls its work back because the sender hung up, but keeps the id, the event is lost.",
      doubled: unrecorded
    },
    expected: (criteria) => `the retry is answered with ${inWords(criteria)}, and there is one effect`,
    needs: ["effects"],
    given: [
      givenUp(accessLog, 0),
      givenUp(call, 0.6),
      givenUp(accessLog, 1),
      disturbed(
        "three lost answers",
        cutNew(accessLog, inAnswer(0)),
        cutAgain(0, inAnswer(0.5)),
        cutAgain(0, inAnswer(1)),
        retried(0)
      ),
      disturbed("the answer to a duplicate is lost", newCall, cutAgain(0, inAnswer(0.3)), retried(0)),
      {
        ...disturbed(
          "the third attempt is the first that arrives whole",
          cutNew(accessLog, inBody(0)),
          cutAgain(0, inBody(0)),
          retryOf(0),
          retryOf(0)
        ),
        because:
          "The attempt number counts the attempts that were sent, not those that arrived. A receiver that takes any number above 1 for a duplicate drops events whose first attempts were lost."
      }
    ],
    further: [
      givenUp(call, 0),
      ...[0.2, 0.4, 0.6, 0.8, 1.2].map((share) => givenUp(accessLog, share)),
      ...[0.2, 0.4, 0.8, 1, 1.2].map((share) => givenUp(call, share))
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement("R-LATE-02", 2, {
    statement: "When the receiver is too slow and the event is sent again in the meantime, there is one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "After a pause of some seconds (a full disk, a garbage collection, a migration) the sender sends every event of that time again.",
    expected: (criteria) => `one effect, and a later retry is answered with ${inWords(criteria)}`,
    needs: ["effects", "pause"],
    given: [
      operated(
        "events while the receiver is paused",
        { k: "pause_during", events: [accessLog, call, accessLog, accessLog, call, accessLog] },
        retryOpen,
        retryAll
      )
    ],
    judge: all(lastAttempts, exactlyOnce)
  }),
  requirement("R-LATE-03", 1, {
    statement: "A receiver acknowledges further attempts of an event that it has handled but answered too late.",
    source: "interface document, section 6, rule 3",
    because:
      "If the receiver refuses them, the event is retried for days and then reported as failed, although it was handled.",
    expected: (criteria) =>
      `after the sender gives up an attempt, each further attempt is answered with ${inWords(criteria)}`,
    given: [
      disturbed(
        "retries after an answer that came too late",
        cutNew(accessLog, inAnswer(1.2)),
        retried(0),
        retryOf(0),
        retryOf(0)
      ),
      disturbed("retries of a call that was given up immediately", cutNew(call, inAnswer(0)), retried(0), retryOf(0))
    ],
    further: [
      disturbed(
        "two answers that came too late",
        cutNew(accessLog, inAnswer(1)),
        cutAgain(0, inAnswer(1.2)),
        retried(0),
        retryOf(0)
      )
    ],
    judge: everyAttempt
  }),
  requirement("R-LATE-04", 2, {
    strength: "SHOULD",
    statement: "A call that arrives after its deadline (`doorhook-expires-at`) has no effect.",
    source: "doorhook-expires-at in docs/receiving.md",
    because:
      "Nobody waits at the door any more. A phone that rings an hour late disturbs somebody, and may open the door to a stranger. The receiver may store such a call. If the probe counts stored events rather than rings, leave this requirement out (--skip R-LATE-04).",
    expected: () => "no effect of a call whose deadline has passed, and one of a call that arrived in time",
    needs: ["effects"],
    given: [
      state("a call in time, then another after its deadline", newEvent(awaited), newEvent(awaited, ["expired"])),
      disturbed(
        "a call that was broken off in time and arrives whole after its deadline",
        cutNew(awaited, inBody(50)),
        retryOf(0, "expired")
      ),
      state("an expired call that somebody asked for again", newEvent(awaited, ["expired", "replay"])),
      state("a call in time, sent again after its deadline", newEvent(awaited), retryOf(0, "expired"))
    ],
    judge: all(noneAfterDeadline, exactlyOnce)
  }),
  requirement("R-LATE-05", 2, {
    strength: "SHOULD",
    statement: "An event that somebody asked for again (`doorhook-replay`) is stored once, without acting on it.",
    source: "doorhook-replay in docs/receiving.md",
    because:
      "After an outage, an operator recovers the events of hours. A receiver that drops them has a gap in its log; one that acts on them rings every phone of the house at once.",
    expected: (criteria) =>
      `${inWords(criteria)}, and the event is stored: the probe counts one effect, or none of a call and shows a digest`,
    needs: ["effects"],
    given: [
      state(
        "an access log and a call that arrive only as replays, beside others",
        newLog,
        newEvent(awaited, ["expired"]),
        newEvent(accessLog, ["replay"]),
        newEvent(awaited, ["replay"])
      ),
      state("an access log that arrives again as a replay", newLog, retryOf(0, "replay"))
    ],
    judge: all(everyAttempt, atMostOnce, replaysStored)
  })
]

const at = (time: string, event: EventTemplate = accessLog): EventTemplate =>
  noted(withMember(event, "logged_at", string(time)), time)

const years = (event: EventTemplate): ReadonlyArray<EventTemplate> => [
  at("2016-02-29T23:59:59.999Z", event),
  at("2019-03-31T01:30:00Z", event),
  at("2020-10-25T00:30:00.5Z", event),
  at("2023-12-31T23:59:59Z", event),
  at("2024-11-03T05:59:59.123456Z", event),
  at("2026-01-01T00:00:00Z", event)
]

const shuffled = (title: string, events: ReadonlyArray<EventTemplate>, order: ReadonlyArray<number>): Case =>
  state(title, { k: "shuffled", events, order })

const sixAlike = Array.from({ length: 6 }, () => accessLog)

export const orderRequirements: ReadonlyArray<Requirement> = [
  requirement("R-ORD-01", 2, {
    statement: "Events are handled in any order, old events included: the effects are the same.",
    source: "interface document, section 6: order is not promised",
    because:
      "Retries arrive after newer events. A controller that was offline sends the events that it has stored. A clock may be ahead. A receiver that accepts only events newer than the last one drops or refuses the others.",
    becauses: { duplicate_refused: symptoms.duplicate_refused, doubled: symptoms.doubled },
    expected: (criteria) => `${inWords(criteria)} and one effect for each event, whatever the order of the events`,
    needs: ["effects"],
    given: [
      shuffled("six events sent in reverse order", sixAlike, [5, 4, 3, 2, 1, 0]),
      shuffled("access logs of ten years, in any order", years(accessLog), [2, 5, 0, 4, 1, 3]),
      shuffled("calls of ten years, newest first", years(call), [5, 4, 3, 2, 1, 0]),
      state(
        "two events with the same time",
        newEvent(at("2026-03-01T12:00:00Z")),
        newEvent(at("2026-03-01T12:00:00Z"))
      ),
      state("an event from a clock that is ahead", newEvent(at("2031-01-01T00:00:00Z")), newLog),
      state(
        "a retry of an old event after newer ones",
        newEvent(at("2022-05-01T08:00:00Z")),
        newLog,
        retryOf(0),
        newEvent(at("2022-05-01T07:00:00Z"))
      )
    ],
    further: [
      shuffled("six events sent in another order", sixAlike, [3, 0, 5, 1, 4, 2]),
      shuffled("access logs of ten years, newest first", years(accessLog), [5, 4, 3, 2, 1, 0]),
      shuffled("access logs of ten years, oldest first", years(accessLog), [0, 1, 2, 3, 4, 5]),
      state("an event older than the last", newLog, newEvent(at("2021-06-01T12:00:00Z"))),
      state(
        "an event a little older than the last",
        newEvent(at("2026-03-01T12:00:05Z")),
        newEvent(at("2026-03-01T12:00:04Z"))
      )
    ],
    judge: all(everyAttempt, exactlyOnce)
  })
]
