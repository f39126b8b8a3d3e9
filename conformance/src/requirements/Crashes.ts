/**
 * R-CRA: crashes and restarts, during traffic and after it.
 */
import type { Trace } from "../evidence/Trace.ts"
import { accessLog, call } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { filler, newCall, newLog, operated, restart, retryAll, retryOf, retryOpen } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { randomRestarts } from "../history/Samples.ts"
import {
  acknowledged,
  all,
  completeAnswers,
  eachEvent,
  exactlyOnce,
  lastAttempts,
  startsAgain,
  statusInTime
} from "../judgement/Judge.ts"
import type { EventStory } from "../judgement/Judge.ts"
import { inWords, classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import type { Finding } from "../judgement/Verdict.ts"
import { requirement, symptoms } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const crash = (after: number, workers: number, event: EventTemplate = accessLog, copies = 1): Case =>
  operated(
    `killed ${after} ms after the first event of ${workers} workers' traffic, ${event.resource_type}${copies > 1 ? `, each ${copies} times at once` : ""}`,
    { k: "kill_amid", event, workers, after, ...(copies > 1 ? { copies } : {}) },
    retryOpen
  )

/** Milliseconds from an acknowledgement to the kill: so few that a write in the background has hardly begun. */
const soon = 5

/**
 * Crashes at several moments, when some events are acknowledged, some are being handled and some have not fully
 * arrived.
 */
const crashes: ReadonlyArray<Case> = [
  operated(
    `killed ${soon} ms after the first acknowledgement of 6 workers' traffic, access_log`,
    { k: "kill_amid", event: accessLog, workers: 6, after: soon, from: "acknowledgement" },
    retryOpen
  ),
  operated(
    `killed ${soon} ms after the first acknowledgement of 4 workers' traffic, each call twice at once`,
    { k: "kill_amid", event: call, workers: 4, after: soon, from: "acknowledgement", copies: 2 },
    retryOpen
  ),
  crash(40, 6),
  crash(15, 8, call)
]
const crashesFurther: ReadonlyArray<Case> = [crash(5, 8), crash(90, 4), crash(40, 5, accessLog, 2)]

/** A graceful restart, which may stop a worker that still has a queue, must not lose more than a crash. */
const restartAfterAnswers = operated("restarted right after acknowledgements", newLog, newCall, newLog, restart)

const endings = ({ interventions }: Trace) =>
  interventions.flatMap(({ op, until, what }) => (op === null || what === "paused" ? [] : [{ op, until }]))

/** Returns the attempts that were sent before the receiver was stopped. */
const before = ({ attempts }: EventStory, trace: Trace): EventStory["attempts"] => {
  const [first] = endings(trace)
  return attempts.filter(
    ([, { kind, op }]) => kind === "amid" || (kind === "delivery" && first !== undefined && op < first.op)
  )
}

const wasAcknowledged = (story: EventStory, trace: Trace, criteria: Criteria): boolean =>
  before(story, trace).some(([, { exchange }]) => classify(exchange, criteria) === "acknowledged")

/** Requires that each event that was acknowledged before a stop has exactly one effect after it. */
const acknowledgedSurvives = (trace: Trace, criteria: Criteria): Finding =>
  eachEvent(trace, criteria, "nothing was acknowledged before the receiver was stopped", (story) => {
    if (story.last === null || !story.owed || !wasAcknowledged(story, trace, criteria)) return null
    return story.last === 1 && story.most === 1 ? true : "acknowledged before the receiver was stopped"
  })

/** Requires that an event that was in flight when the receiver died is acknowledged at the retry and has one effect. */
const retriedAfterCrash = (trace: Trace, criteria: Criteria): Finding =>
  eachEvent(trace, criteria, "nothing was in flight when the receiver died", (story) => {
    if (story.last === null || story.most === null) return null
    if (!story.attempts.some(([, { kind }]) => kind === "amid") || wasAcknowledged(story, trace, criteria)) return null
    if (story.state !== "acknowledged") return story.most > 1 ? "in flight when the receiver died" : null
    return story.last === 1 && story.most === 1 ? true : "in flight when the receiver died, and sent again"
  })

/** Requires that attempts after a restart are acknowledged. */
const afterRestart = acknowledged("nothing was sent after a restart", ({ kind, started }, _, trace) => {
  const last = endings(trace).at(-1)
  return kind === "delivery" && last !== undefined && trace.began + started >= last.until
})

export const crashRequirements: ReadonlyArray<Requirement> = [
  requirement("R-CRA-01", 3, {
    statement:
      "An event that was acknowledged before a crash or restart has its effect afterwards, without being sent again.",
    source: "interface document, section 6, rules 3 and 5",
    because:
      "After an acknowledgement, the sender does not send the event again. What a receiver keeps only in memory when it answers 200 is lost with the process.",
    becauses: {
      doubled: "If a job leaves its queue some time after its work is done, a crash in between repeats the work.",
      doubled_at_once: symptoms.doubled_at_once
    },
    expected: () => "one effect for every event that was acknowledged before the receiver was stopped",
    needs: ["effects", "stop"],
    provenBy: ["kill"],
    given: [...crashes, restartAfterAnswers],
    further: crashesFurther,
    judge: all(acknowledgedSurvives, startsAgain)
  }),
  requirement("R-CRA-02", 3, {
    statement: "An event that a crash interrupted is acknowledged when it is sent again, and has one effect.",
    source: "interface document, section 6, rules 3 and 4",
    because:
      "If the id and the effect are not recorded in one transaction, a crash between them leaves one without the other: the event is lost, or handled twice.",
    becauses: {
      doubled_at_once: symptoms.doubled_at_once,
      duplicate_refused:
        "A lock, or a row that says that an event is being handled, outlives the process that held it: every retry is refused."
    },
    expected: (criteria) => `the retry after the crash is answered with ${inWords(criteria)}, and there is one effect`,
    needs: ["effects", "stop"],
    provenBy: ["kill"],
    given: crashes,
    further: crashesFurther,
    judge: all(retriedAfterCrash, lastAttempts, startsAgain)
  }),
  requirement("R-CRA-03", 3, {
    statement: "An event that was handled before a restart is recognised as a duplicate after it.",
    source: "interface document, section 6, rule 4",
    because:
      "Ids that are kept only in the process are gone after each deployment, which is when duplicates arrive. Loading only the latest ids again is not enough.",
    becauses: {
      lost: "The restart lost the effect but not the id, so the duplicate did not restore the effect.",
      doubled_at_once: symptoms.doubled_at_once,
      duplicate_refused: symptoms.duplicate_refused
    },
    presupposes: ["R-CRA-01"],
    expected: (criteria) =>
      `the duplicate after the restart is answered with ${inWords(criteria)}, and there is one effect`,
    needs: ["effects", "stop"],
    given: [
      operated("duplicates after a restart", newLog, newCall, retryOf(0), newLog, restart, retryAll),
      operated("duplicates after 300 other events and a restart", newLog, newCall, filler(300), restart, retryAll),
      operated(
        "duplicates after a crash and a restart",
        { k: "kill_amid", event: accessLog, workers: 4, after: 20 },
        retryOpen,
        restart,
        retryAll
      )
    ],
    further: [
      operated("duplicates after two restarts in a row", newCall, newLog, restart, restart, retryAll),
      operated("duplicates after 1,000 other events and a restart", newLog, newCall, filler(1_000), restart, retryAll)
    ],
    sampled: randomRestarts,
    judge: all(lastAttempts, exactlyOnce, startsAgain)
  }),
  requirement("R-CRA-04", 3, {
    statement: "The first event after a start is acknowledged in time.",
    source: "interface document, section 6, rule 3, and section 8",
    because:
      "A receiver that reports ready and then needs too long for the first event receives it twice after every deployment.",
    expected: (criteria) => `the first event after the receiver is ready is answered with ${inWords(criteria)}`,
    needs: ["stop"],
    given: [operated("an access log right after a start", restart, newLog, newCall)],
    further: [operated("a call right after a start", restart, newCall, newLog)],
    judge: all(afterRestart, statusInTime, completeAnswers, startsAgain)
  })
]
