/**
 * Puts a report together from what a run came to.
 */
import { DurationText } from "@doorhook/core"
import type { Guard } from "../executor/Calibration.ts"
import { percentile99 } from "../executor/Calibration.ts"
import type { CaseRun, Ended, Evidence, Outcome } from "../executor/Judgement.ts"
import type { ProbeCalibration } from "../executor/ProbeCalibration.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Verdict } from "../checks/Finding.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { observabilityOf } from "../run/Seeing.ts"
import type { Settled } from "../run/SuiteOptions.ts"
import { suite } from "../Suite.ts"
import { curlOf } from "./Curl.ts"
import { decidedBy, effectsOf, round, stepsOf } from "./Evidence.ts"
import type { Calibration, Report, ReportedRequirement, TimingLane } from "./Report.ts"
import type { Invocation } from "./Rerun.ts"
import { rerunOf } from "./Rerun.ts"
import { shownUrl } from "./Shown.ts"

/** What a report is made from. */
export interface ReportInput {
  readonly options: Settled
  readonly terms: Terms
  readonly guard: Guard
  readonly startedAt: string
  readonly durationMs: number
  readonly calibration: ProbeCalibration | null
  readonly outcomes: ReadonlyArray<Outcome>
  readonly skipped: ReadonlyArray<Requirement>
  readonly ended: Ended
  readonly runs: ReadonlyArray<CaseRun>
  readonly attempts: number
  /** Files with the histories of failures, by the requirement's id. */
  readonly stored: ReadonlyMap<string, string>
  /** Why some of them could not be written. */
  readonly problem: string | null
}

const invocationOf = (options: Settled): Invocation => ({
  url: options.url,
  seed: options.seed,
  deadline: options.deadline,
  rule: options.ack,
  signed: options.secret !== null,
  owned: options.owned,
  level: options.level,
  profiles: options.profiles,
  flags: options.repeatFlags
})

const reportRequirement = (
  requirement: Requirement,
  verdict: Verdict,
  observed: string,
  outcome: Outcome | null,
  { options, stored, terms }: ReportInput
): ReportedRequirement => {
  const evidence: Evidence | null = outcome?.evidence ?? null
  const decisive =
    evidence === null || evidence.attempt === null ? undefined : evidence.trace.attempts[evidence.attempt]
  const file = stored.get(requirement.id) ?? null
  const known = options.baseline?.includes(requirement.id) ?? false
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
    effects: evidence === null ? [] : effectsOf(evidence),
    confirmed: outcome?.confirmed ?? null,
    cases: outcome?.cases ?? { directed: requirement.directed.length, directedDone: 0, randomDone: 0 },
    cutShort: outcome?.cutShort ?? [],
    stored: file,
    known,
    decidedBy: evidence === null ? null : decidedBy(evidence),
    curl: decisive === undefined ? null : curlOf(options.url, decisive.request, terms.deadline, !decisive.first),
    replay: rerunOf(invocationOf(options), file ?? requirement.id)
  }
}

/** Known failures do not count; known failures that did not happen do. What was broken off can't have passed. */
const verdictOf = (
  requirements: ReadonlyArray<ReportedRequirement>,
  { how }: Ended,
  stale: ReadonlyArray<string>
): Report["verdict"] => {
  if (stale.length > 0 || requirements.some(({ known, verdict }) => verdict === "FAIL" && !known)) return "fail"
  if (how === "interrupted" || how === "target_unusable") return "inconclusive"
  const open = requirements.some(
    ({ strength, verdict }) => strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")
  )
  return open || requirements.every(({ verdict }) => verdict !== "PASS") ? "inconclusive" : "pass"
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 10_000, 30_000, 60_000]

const timingOf = (runs: ReadonlyArray<CaseRun>): TimingLane => {
  const times = runs
    .filter(({ alone }) => alone)
    .flatMap(({ repeats, trace }) => [trace, ...repeats])
    .flatMap(({ attempts }) => attempts)
    .filter(({ exchange, kind }) => kind === "delivery" && exchange._tag === "Answered")
    .map(({ exchange }) => exchange.elapsed)
    .toSorted((a, b) => a - b)
  const at = (share: number): number => round(times[Math.max(0, Math.ceil(times.length * share) - 1)] ?? 0)
  const histogram = steps
    .map((upToMs, index) => {
      const above = steps[index - 1] ?? -1
      return { upToMs, count: times.filter((time) => time > above && time <= upToMs).length }
    })
    .filter(({ count }) => count > 0)
  return {
    attempts: times.length,
    p50Ms: at(0.5),
    p90Ms: at(0.9),
    p99Ms: round(percentile99(times)),
    maxMs: round(times.at(-1) ?? 0),
    histogram
  }
}

/** Whether the probe can count past one: it did when asked to, or of a double effect. */
const countsPastOne = ({ calibration, runs }: ReportInput): boolean =>
  (calibration?.double ?? null) !== null ||
  runs.some(({ repeats, trace }) =>
    [trace, ...repeats].some(({ effects }) => effects.some((one) => (one?.most ?? 0) > 1))
  )

const calibrationOf = (input: ReportInput): Calibration => {
  const { calibration, guard, options } = input
  return {
    echoP99Ms: round(guard.echo),
    guardMs: guard.guard,
    probe:
      options.probe === null
        ? null
        : {
            kind: options.probe.kind,
            name: options.probe.name,
            neverSent: calibration?.neverSent ?? null,
            one: calibration?.one ?? null,
            two: calibration?.two ?? null,
            double: calibration?.double ?? null,
            upperRangeVerified: countsPastOne(input),
            digest: calibration?.digest ?? false,
            lagMs: calibration?.lag ?? 0
          }
  }
}

const cutShortOf = ({ options, outcomes }: ReportInput): ReadonlyArray<string> => {
  const short = outcomes.filter(({ cutShort, verdict }) => cutShort.length > 0 && verdict === "PASS")
  const ids = short.map(({ requirement }) => requirement.id)
  return ids.length === 0
    ? []
    : [
        `${ids.join(", ")} passed on cases that were cut short; each says by how much. A longer --max-time than ${DurationText.format(options.maxTime)} does more of them.`
      ]
}

const notesOf = (input: ReportInput): ReadonlyArray<string> => [
  ...(input.problem === null ? [] : [input.problem]),
  ...cutShortOf(input),
  ...notesOnOptions(input)
]

const notesOnOptions = (input: ReportInput): ReadonlyArray<string> => [
  ...(input.options.probe !== null && input.calibration !== null && !countsPastOne(input)
    ? [
        "The probe's upper range is unverified: nothing shows that it counts past one, and one that can't would hide every double effect. --control-url finds out."
      ]
    : []),
  ...(input.options.dedupKey === "both"
    ? []
    : [`The ${input.options.dedupKey} key for dropping duplicates was stressed alone.`]),
  ...(input.options.ack === "2xx"
    ? ["Any 2xx status counted as an acknowledgement; the interface knows 200 alone."]
    : [])
]

/** Puts a report together. */
export const makeReport = (input: ReportInput): Report => {
  const { attempts, calibration, durationMs, ended, options, outcomes, runs, skipped, startedAt, terms } = input
  const requirements = [
    ...outcomes.map((outcome) =>
      reportRequirement(outcome.requirement, outcome.verdict, outcome.observed, outcome, input)
    ),
    ...skipped.map((requirement) => reportRequirement(requirement, "SKIPPED", "left out by --skip", null, input))
  ].toSorted((a, b) => a.id.localeCompare(b.id, "en"))
  const stale = (options.baseline ?? []).filter((id) =>
    requirements.some((one) => one.id === id && one.verdict === "PASS")
  )
  return {
    schemaVersion: 1,
    suite,
    seed: options.seed,
    target: shownUrl(options.url),
    level: options.level,
    profiles: options.profiles,
    startedAt,
    durationMs: round(durationMs),
    maxTimeMs: options.maxTime,
    settleMs: options.settle,
    dedupKey: options.dedupKey,
    calibration: calibrationOf(input),
    observability: observabilityOf(options, calibration?.digest ?? false),
    timing: timingOf(runs),
    baseline: options.baseline === null ? null : { known: options.baseline, stale },
    notes: notesOf(input),
    verdict: verdictOf(requirements, ended, stale),
    ended: ended.how,
    endedBecause: ended.message,
    ack: terms.rule,
    deadlineMs: terms.deadline,
    guardMs: terms.guard,
    attempts,
    requirements
  }
}
