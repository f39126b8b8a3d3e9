/**
 * Puts a report together from what a run came to.
 */
import { DurationText, isoOf } from "@doorhook/core"
import type { CaseRun, Ended, Evidence, Outcome } from "../executor/Judgement.ts"
import type { Verdict } from "../checks/Finding.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { strangersInWords } from "../executor/Strangers.ts"
import { hiddenQuery } from "../HiddenQuery.ts"
import { observabilityOf } from "../record/Seeing.ts"
import type { Stored } from "../executor/Stored.ts"
import type { Facts } from "../record/Facts.ts"
import type { Record } from "../record/Record.ts"
import { beyond, select } from "../requirements/Selection.ts"
import { suite } from "../Suite.ts"
import { byHand } from "./Curl.ts"
import { decidedBy, effectsOf, round, stepsOf } from "./Evidence.ts"
import type { Calibration, Report, ReportedRequirement } from "./Report.ts"
import type { Invocation } from "./Rerun.ts"
import { rerunOf } from "./Rerun.ts"
import { timingOf } from "./Timing.ts"

/** What a report is made from. */
interface ReportInput extends Stored {
  readonly record: Record
  readonly outcomes: ReadonlyArray<Outcome>
}

/** What the command that repeats a run says. */
export const invocationOf = (facts: Facts): Invocation => ({
  url: new URL(facts.url),
  otherUrls: facts.otherUrls.map((url) => new URL(url)),
  seed: facts.seed,
  deadline: facts.deadline,
  settle: facts.settle,
  maxTime: facts.maxTime,
  rule: facts.ack,
  signed: facts.signed,
  owned: facts.owned,
  level: facts.level,
  profiles: facts.profiles,
  flags: facts.repeatFlags
})

const reportRequirement = (
  requirement: Requirement,
  verdict: Verdict,
  observed: string,
  outcome: Outcome | null,
  { files, record: { facts, terms } }: ReportInput
): ReportedRequirement => {
  const evidence: Evidence | null = outcome?.evidence ?? null
  const file = files.get(requirement.id) ?? null
  const known = facts.baseline?.includes(requirement.id) ?? false
  return {
    id: requirement.id,
    level: requirement.level,
    profile: requirement.profile,
    strength: requirement.strength,
    verdict,
    statement: requirement.statement,
    source: requirement.source,
    because: requirement.because,
    expected: requirement.expected(terms),
    observed,
    history: evidence === null ? [] : stepsOf(evidence),
    ...(evidence?.trace.began !== undefined && { historyStartedAt: isoOf(evidence.trace.began) }),
    effects: evidence === null ? [] : effectsOf(evidence),
    confirmed: outcome?.confirmed ?? null,
    cases: outcome?.cases ?? { directed: requirement.directed.length, directedDone: 0, randomDone: 0 },
    cutShort: outcome?.cutShort ?? [],
    stored: file,
    known,
    decidedBy: evidence === null ? null : decidedBy(evidence),
    curl: evidence === null ? null : byHand(evidence, terms.deadline),
    replay: rerunOf(invocationOf(facts), file ?? requirement.id)
  }
}

/** Known failures do not count; known failures that did not happen do. What was broken off can't have passed. */
const verdictOf = (
  requirements: ReadonlyArray<ReportedRequirement>,
  { how }: Ended,
  stale: ReadonlyArray<string>
): Report["verdict"] => {
  if (stale.length > 0 || requirements.some(({ known, verdict }) => verdict === "FAIL" && !known)) return "fail"
  if (how !== "complete" && how !== "time_up") return "inconclusive"
  const open = requirements.some(
    ({ strength, verdict }) => strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")
  )
  return open || requirements.every(({ verdict }) => verdict !== "PASS") ? "inconclusive" : "pass"
}

/** Whether the probe can count past one: it did when asked to, or of a double effect. */
const countsPastOne = ({ calibration, runs }: Record): boolean =>
  (calibration?.double ?? null) !== null ||
  runs.some(({ repeats, trace }) =>
    [trace, ...repeats].some(({ effects }) => effects.some((one) => (one?.most ?? 0) > 1))
  )

const calibrationOf = (record: Record): Calibration => {
  const { calibration, echo, facts, terms } = record
  return {
    echoP99Ms: round(echo),
    guardMs: terms.guard,
    probe:
      facts.probe === null
        ? null
        : {
            kind: facts.probe.kind,
            name: facts.probe.name,
            neverSent: calibration?.neverSent ?? null,
            one: calibration?.one ?? null,
            two: calibration?.two ?? null,
            double: calibration?.double ?? null,
            upperRangeVerified: countsPastOne(record),
            digest: calibration?.digest ?? false,
            lagMs: calibration?.lag ?? 0
          }
  }
}

const cutShortOf = ({ outcomes, record: { facts } }: ReportInput): ReadonlyArray<string> => {
  const short = outcomes.filter(({ cutShort, verdict }) => cutShort.length > 0 && verdict === "PASS")
  const ids = short.map(({ requirement }) => requirement.id)
  return ids.length === 0
    ? []
    : [
        `${ids.join(", ")} passed on cases that were cut short; each says by how much. A longer --max-time than ${DurationText.format(facts.maxTime)} does more of them.`
      ]
}

/** What was asked for and is no part of the run; where that is all of it, the run says so itself. */
const beyondOf = ({ facts }: Record): ReadonlyArray<string> => {
  const wants = beyond(facts)
  return wants.length === 0 || select(facts).selected.length === 0
    ? []
    : [`--only names what is not part of this run, and was not tested. It takes more: ${wants.join(", ")}.`]
}

const timelessOf = ({ outcomes, record: { facts } }: ReportInput): ReadonlyArray<string> => {
  const ids = outcomes.filter(({ lacksTime }) => lacksTime).map(({ requirement }) => requirement.id)
  return ids.length === 0
    ? []
    : [
        `${ids.join(", ")} could not be decided for want of time. A longer --max-time than ${DurationText.format(facts.maxTime)} may be enough.`
      ]
}

/** What passes by its answers alone may store nothing. */
const effectsUnseen = ({ facts }: Record): ReadonlyArray<string> =>
  facts.level > 1
    ? []
    : [
        "Level 1 judges by answers alone. Whether events take effect, once and as they were sent, is seen from --level 2 on, with --probe."
      ]

const notesOf = (input: ReportInput): ReadonlyArray<string> => [
  ...(input.problem === null ? [] : [input.problem]),
  ...effectsUnseen(input.record),
  ...timelessOf(input),
  ...cutShortOf(input),
  ...beyondOf(input.record),
  ...notesOnRun(input.record)
]

const notesOnRun = (record: Record): ReadonlyArray<string> => [
  ...([record.facts.url, ...record.facts.otherUrls].some((url) => url.endsWith(hiddenQuery))
    ? [
        `The query of --url may hold a secret and is left out: write it where a command says ${hiddenQuery} before you run that.`
      ]
    : []),
  ...(record.strangers.length === 0
    ? []
    : [`During the run, ${strangersInWords(record.strangers)}. Somebody else sends to this receiver.`]),
  ...(record.suite === suite
    ? []
    : [`Run by ${record.suite} and judged by ${suite}: cases that only one of them knows count as not done.`]),
  ...(record.facts.probe !== null && record.calibration !== null && !countsPastOne(record)
    ? [
        "The probe's upper range is unverified: nothing shows that it counts past one, and one that can't would hide every double effect. --control-url finds out."
      ]
    : []),
  ...(record.facts.dedupKey === "both"
    ? []
    : [`The ${record.facts.dedupKey} key for dropping duplicates was stressed alone.`]),
  ...(record.facts.ack === "2xx"
    ? ["Any 2xx status counted as an acknowledgement; the interface knows 200 alone."]
    : [])
]

const attemptsOf = (runs: ReadonlyArray<CaseRun>): number =>
  runs.reduce(
    (total, { repeats, trace }) =>
      total + trace.attempts.length + repeats.reduce((sum, { attempts }) => sum + attempts.length, 0),
    0
  )

/** Puts a report together. */
export const makeReport = (input: ReportInput): Report => {
  const { outcomes, record } = input
  const { calibration, durationMs, ended, facts, runs, startedAt, terms } = record
  const requirements = [
    ...outcomes.map((outcome) =>
      reportRequirement(outcome.requirement, outcome.verdict, outcome.observed, outcome, input)
    ),
    ...select(facts).skipped.map((requirement) =>
      reportRequirement(requirement, "SKIPPED", "left out by --skip", null, input)
    )
  ].toSorted((a, b) => a.id.localeCompare(b.id, "en"))
  const stale = (facts.baseline ?? []).filter((id) =>
    requirements.some((one) => one.id === id && one.verdict === "PASS")
  )
  return {
    schemaVersion: 1,
    suite,
    seed: facts.seed,
    target: facts.url,
    level: facts.level,
    profiles: facts.profiles,
    startedAt,
    durationMs: round(durationMs),
    maxTimeMs: facts.maxTime,
    settleMs: facts.settle,
    dedupKey: facts.dedupKey,
    calibration: calibrationOf(record),
    observability: observabilityOf(facts, calibration?.digest ?? false),
    timing: timingOf(runs, terms.deadline),
    baseline: facts.baseline === null ? null : { known: facts.baseline, stale },
    notes: notesOf(input),
    verdict: verdictOf(requirements, ended, stale),
    ended: ended.how,
    endedBecause: ended.message,
    ack: terms.rule,
    deadlineMs: terms.deadline,
    guardMs: terms.guard,
    attempts: attemptsOf(runs),
    requirements
  }
}
