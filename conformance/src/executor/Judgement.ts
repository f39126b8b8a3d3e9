/**
 * From traces to verdicts: pure functions over everything that was executed so far.
 */
import { Schema } from "effect"
import type { Finding, Verdict } from "../checks/Finding.ts"
import { inconclusive, thrown } from "../checks/Finding.ts"
import { read } from "../checks/Reading.ts"
import type { Terms } from "../checks/Terms.ts"
import { millis } from "../checks/Words.ts"
import { canonical } from "../history/Canonical.ts"
import type { Case, History } from "../history/History.ts"
import type { Need } from "../requirements/Profile.ts"
import { howToGive } from "../requirements/Profile.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { shortfallsOf } from "./Shortfalls.ts"
import type { Trace } from "../observed/Trace.ts"

/** How often a case is repeated to confirm what may have been an accident. */
export const maxRepeats = 2

/** After so many cases that leave a requirement open, more of them are not worth their time. */
export const patience = 2

/** A case that was executed. */
export interface CaseRun {
  readonly case: Case
  /** Whether nothing else was going on, so that measured times count. */
  readonly alone: boolean
  readonly trace: Trace
  /** Whether all of it was done: the receiver may have gone in the middle. */
  readonly whole: boolean
  /** Whether its effects were read, or there is no probe to read them with. */
  readonly settled: boolean
  /** Traces of the same case executed again, alone. */
  readonly repeats: ReadonlyArray<Trace>
}

/** What is to be done for a requirement. */
export interface Plan {
  readonly requirement: Requirement
  readonly directed: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Case>
  /** The keys of the cases above. */
  readonly keys: ReadonlySet<string>
  /** What it can't be tested without, and is not there. */
  readonly missing: Need | null
  /** What it can't pass without, and is not there. */
  readonly unproven: Need | null
}

/** Why nothing more is executed. */
export const Ended = Schema.Struct({
  how: Schema.Literals(["complete", "time_up", "interrupted", "target_unusable", "probe_unusable", "stayed_down"]),
  /** Why the receiver or the probe is unusable, or why nothing was to be done; empty otherwise. */
  message: Schema.String
})
export type Ended = typeof Ended.Type

/** What decided a verdict. */
export interface Evidence {
  readonly case: Case
  readonly trace: Trace
  /** Whether nothing else was going on. */
  readonly alone: boolean
  /** The attempt's place in the trace; null when there was none to judge. */
  readonly attempt: number | null
}

/** How often a failure was looked for again, and found. */
export const Confirmed = Schema.Struct({ tried: Schema.Int, failed: Schema.Int })
export type Confirmed = typeof Confirmed.Type

/** What came of looking at a failure again. */
export interface Refinement {
  /** The id of the requirement that it breaks. */
  readonly requirement: string
  readonly confirmed: Confirmed
  /** The shortest history that still failed, in place of that of the run at `place`; null where none was shorter. */
  readonly shortened: { readonly place: number; readonly trace: Trace } | null
}

export interface Outcome {
  readonly requirement: Requirement
  readonly verdict: Verdict
  readonly observed: string
  readonly evidence: Evidence | null
  readonly confirmed: Confirmed | null
  readonly cases: { readonly directed: number; readonly directedDone: number; readonly randomDone: number }
  /** Which of its cases were not done in full, and how much of them was. */
  readonly cutShort: ReadonlyArray<string>
  /** Whether it was left undecided for want of time, and of nothing else. */
  readonly lacksTime: boolean
}

const keys = new WeakMap<History, string>()

/** Two cases with equal histories are one. */
export const keyOf = ({ history }: Pick<Case, "history">): string => {
  const known = keys.get(history)
  if (known !== undefined) return known
  const key = canonical(history)
  keys.set(history, key)
  return key
}

const findings = new WeakMap<Trace, Map<Requirement["check"], Finding>>()

/** What a requirement's check says of a trace; asked for again, it is not checked again. */
export const checked = ({ check }: Requirement, trace: Trace, terms: Terms): Finding => {
  const known = findings.get(trace) ?? new Map<Requirement["check"], Finding>()
  findings.set(trace, known)
  const before = known.get(check)
  if (before !== undefined) return before
  const finding = ((): Finding => {
    try {
      return check(trace, terms)
    } catch (cause) {
      // One requirement that can't be judged takes no other's verdict away.
      return thrown(cause)
    }
  })()
  known.set(check, finding)
  return finding
}

export const concerns = (plan: Plan, run: CaseRun): boolean =>
  plan.requirement.examines === "all" || plan.keys.has(keyOf(run.case))

export interface Assessment {
  readonly finding: Finding
  readonly trace: Trace
  /** A failure that may be an accident and has not been repeated yet. */
  readonly suspect: boolean
}

const mayBeAccident = (finding: Finding, run: CaseRun): boolean =>
  finding.verdict === "FAIL"
    ? finding.timing
    : finding.verdict === "INCONCLUSIVE" && !finding.empty && !run.alone && finding.attempt !== null

/** What a run says of a requirement, its repeats considered. */
export const assess = (requirement: Requirement, run: CaseRun, terms: Terms): Assessment => {
  const finding = checked(requirement, run.trace, terms)
  if (!mayBeAccident(finding, run)) return { finding, trace: run.trace, suspect: false }
  for (const trace of run.repeats) {
    const repeated = checked(requirement, trace, terms)
    if (repeated.verdict === "FAIL") return { finding: repeated, trace, suspect: false }
    // Times are not judged where several histories run at once: what is right alone is right.
    if (!run.alone && repeated.verdict === "PASS") return { finding: repeated, trace, suspect: false }
  }
  if (run.repeats.length < maxRepeats) return { finding, trace: run.trace, suspect: true }
  if (finding.verdict !== "FAIL") return { finding, trace: run.trace, suspect: false }
  const observed = `${finding.observed}; seen once, and not again in ${maxRepeats} repeats`
  return { finding: inconclusive(finding.attempt, observed), trace: run.trace, suspect: false }
}

/** Whether the receiver has acknowledged anything at all. */
export const acknowledgesAtAll = (runs: ReadonlyArray<CaseRun>, terms: Terms): boolean =>
  runs.some(({ trace }) => trace.attempts.some(({ exchange }) => read(exchange, terms) === "acknowledged"))

type Incomplete = Pick<Outcome, "observed" | "lacksTime">

const whyIncomplete = (
  plan: Plan,
  done: number,
  runs: ReadonlyArray<CaseRun>,
  terms: Terms,
  ended: Ended
): Incomplete => {
  const soFar = `${done} of ${plan.directed.length} cases done`
  const untimely = (observed: string): Incomplete => ({ observed, lacksTime: true })
  const hindered = (observed: string): Incomplete => ({ observed, lacksTime: false })
  switch (ended.how) {
    case "complete":
      return plan.requirement.presumesAcknowledgement && !acknowledgesAtAll(runs, terms)
        ? hindered(
            "not tested: the receiver acknowledged no ordinary event, so nothing more can be said (see R-ACK-01)"
          )
        : untimely(`there was no time for all of it (--max-time): ${soFar}`)
    case "time_up":
      return untimely(`the time was up (--max-time) with ${soFar}`)
    case "interrupted":
      return hindered(`interrupted with ${soFar}`)
    case "target_unusable":
      return hindered(`the receiver could not be reached or operated any more, with ${soFar}`)
    case "probe_unusable":
      return hindered(`not tested: the probe could not be used before all of it was done. ${ended.message}`.trimEnd())
    case "stayed_down":
      return hindered("not tested: the receiver was killed and did not start again before all of it was done")
  }
}

interface Passed {
  readonly finding: Extract<Finding, { readonly verdict: "PASS" }>
  readonly trace: Trace
}

/** How many were looked at of the many events of whom not each was; nothing where all of them were. */
const bulkInWords = (passed: ReadonlyArray<Passed>): ReadonlyArray<string> => {
  const bulk = passed
    .filter(({ finding }) => finding.events > 0)
    .flatMap(({ trace }) => trace.events.flatMap((sent, event) => (sent.bulk ? [trace.effects[event] ?? null] : [])))
  const seen = bulk.filter((effects) => effects !== null).length
  return seen === bulk.length ? [] : [`${seen} of ${bulk.length} events that came in bulk were looked at`]
}

const passedInWords = (plan: Plan, assessed: ReadonlyArray<Assessment>): string => {
  const passed = assessed.flatMap(({ finding, trace }) => (finding.verdict === "PASS" ? [{ finding, trace }] : []))
  const judged = passed.flatMap(({ finding, trace }) =>
    finding.attempts.flatMap((index) => trace.attempts[index] ?? [])
  )
  const events = passed.reduce((sum, { finding }) => sum + finding.events, 0)
  let slowest = 0
  for (const { exchange } of judged) slowest = Math.max(slowest, exchange.elapsed)
  const left = plan.keys.size - assessed.filter(({ trace }) => plan.keys.has(keyOf(trace))).length
  return [
    ...(judged.length === 0 ? [] : [`${judged.length} attempts, the slowest answered in ${millis(slowest)}`]),
    ...(events === 0 ? [] : [`the effects of ${events} events`]),
    ...bulkInWords(passed),
    ...(left > 0 ? [`${left} of ${plan.keys.size} histories left out`] : [])
  ].join("; ")
}

/** The most cases that were cut short that a verdict names. */
const mostNamed = 3

const cutShortInWords = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.length === 0
    ? []
    : [
        `CUT SHORT ${all.slice(0, mostNamed).join("; ")}${all.length > mostNamed ? ` and ${all.length - mostNamed} more` : ""}`
      ]

type Assessed = Assessment & { readonly whole: boolean; readonly run: CaseRun }

const isBroken = ({ finding, suspect }: Assessment): boolean => finding.verdict === "FAIL" && !suspect

/** How much is unusual about the attempts of a history. */
const variationsIn = ({ ops }: History): number => ops.reduce((sum, op) => sum + ("how" in op ? op.how.length : 0), 0)

/** Of several that are as short, the plainest: which of them was over first is chance. */
const shortest = (assessed: ReadonlyArray<Assessed>): Assessed | undefined =>
  assessed.toSorted(
    ({ trace: a }, { trace: b }) =>
      a.history.ops.length - b.history.ops.length ||
      a.attempts.length - b.attempts.length ||
      variationsIn(a.history) - variationsIn(b.history)
  )[0]

/** What keeps a requirement from having passed: what breaks it, else what leaves it open. */
const obstacleIn = (assessed: ReadonlyArray<Assessed>): Assessed | undefined => {
  const nothingPassed = assessed.every(({ finding }) => finding.verdict !== "PASS")
  return (
    shortest(assessed.filter(isBroken)) ??
    assessed.find(({ finding }) => finding.verdict === "ERROR") ??
    assessed.find(
      ({ finding }) =>
        finding.verdict === "FAIL" || (finding.verdict === "INCONCLUSIVE" && (!finding.empty || nothingPassed))
    )
  )
}

/** A probe is often a part of the receiver, and is gone with it. */
const isGone = ({ how }: Ended): boolean =>
  how === "target_unusable" || how === "probe_unusable" || how === "stayed_down"

/** A connection that broke while the receiver was dying is no fault of its own. */
const isOfDeath = ({ finding, trace }: Assessment): boolean => {
  if (finding.verdict !== "FAIL" || finding.attempt === null) return false
  return trace.attempts[finding.attempt]?.exchange._tag === "Failed"
}

const died = (finding: Finding): Finding =>
  finding.verdict === "FAIL"
    ? inconclusive(finding.attempt, `${finding.observed}; the receiver was gone soon after`)
    : finding

/** Whether a run is all there is to see of its case: answers alone are half of what effects have a say in. */
const isDone = (run: CaseRun, { requirement: { needs, provenBy } }: Plan): boolean =>
  run.whole && (run.settled || ![...needs, ...provenBy].some((need) => need === "effects" || need === "digest"))

/** The verdict on a requirement, from everything that was executed. */
export const judge = (
  plan: Plan,
  runs: ReadonlyArray<CaseRun>,
  terms: Terms,
  ended: Ended,
  confirmed: Confirmed | null = null
): Outcome => {
  const { requirement } = plan
  const concerned = runs.filter((run) => concerns(plan, run))
  const done = new Set(concerned.filter((run) => isDone(run, plan)).map((run) => keyOf(run.case)))
  const directedDone = plan.directed.filter((one) => done.has(keyOf(one))).length
  const cases = {
    directed: plan.directed.length,
    directedDone,
    randomDone: plan.sampled.filter((one) => done.has(keyOf(one))).length
  }
  const own = concerned.filter((run) => plan.keys.has(keyOf(run.case)))
  const cutShort = shortfallsOf(own.map((run) => ({ title: run.case.title, trace: run.trace })))
  const outcome = (verdict: Verdict, observed: string, evidence: Evidence | null = null): Outcome => ({
    requirement,
    verdict,
    observed,
    evidence,
    confirmed,
    cases,
    cutShort,
    lacksTime: false
  })
  if (plan.missing !== null) return outcome("NOT_OBSERVABLE", `not seen: ${howToGive[plan.missing]}`)
  const assessed = concerned
    .map((run) => ({ ...assess(requirement, run, terms), whole: isDone(run, plan), run }))
    .map((one) => (isGone(ended) && isOfDeath(one) ? { ...one, finding: died(one.finding) } : one))
    // Of a history that was broken off, only what it proves counts.
    .filter(({ finding, whole }) => whole || finding.verdict === "FAIL" || finding.verdict === "ERROR")
  const obstacle = obstacleIn(assessed)
  if (obstacle !== undefined && obstacle.finding.verdict !== "PASS") {
    const { finding, run, suspect, trace } = obstacle
    const proven = finding.verdict === "FAIL" && !suspect
    // Repeats are made alone.
    const alone = run.alone || trace !== run.trace
    const evidence = { case: run.case, trace, alone, attempt: finding.attempt }
    if (finding.verdict === "ERROR") return outcome("ERROR", finding.observed, evidence)
    return outcome(
      !proven ? "INCONCLUSIVE" : requirement.strength === "MUST" ? "FAIL" : "WARN",
      suspect ? `${finding.observed}; not confirmed by a repeat` : finding.observed,
      evidence
    )
  }
  if (directedDone < plan.directed.length) {
    const { lacksTime, observed } = whyIncomplete(plan, directedDone, runs, terms, ended)
    return { ...outcome("INCONCLUSIVE", observed), lacksTime }
  }
  const passed = [passedInWords(plan, assessed), ...cutShortInWords(cutShort)].join("; ")
  return plan.unproven === null
    ? outcome("PASS", passed)
    : outcome("NOT_OBSERVABLE", `nothing wrong in ${passed}, but not all of it was seen: ${howToGive[plan.unproven]}`)
}
