/**
 * Puts a report together from what a run came to.
 */
import { isoOf } from "@doorhook/core"
import type { CaseRun, Ended, Evidence, Outcome } from "../executor/Judgement.ts"
import type { Verdict } from "../checks/Finding.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { observabilityOf } from "../record/Seeing.ts"
import type { Facts } from "../record/Facts.ts"
import type { Record } from "../record/Record.ts"
import { select } from "../requirements/Selection.ts"
import { suite } from "../Suite.ts"
import { byHand } from "./Curl.ts"
import { decidedBy, effectsOf, round, stepsOf } from "./Evidence.ts"
import { countsPastOne, notesOf } from "./Notes.ts"
import type { ReportInput } from "./Notes.ts"
import type { Calibration, Report, ReportedRequirement } from "./Report.ts"
import type { Invocation } from "./Rerun.ts"
import { rerunOf } from "./Rerun.ts"
import { timingOf } from "./Timing.ts"

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
