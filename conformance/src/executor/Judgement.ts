/**
 * From traces to verdicts: pure functions over everything that was executed so far.
 */
import type { Finding, Verdict } from "../checks/Finding.ts"
import { inconclusive } from "../checks/Finding.ts"
import { read } from "../checks/Reading.ts"
import type { Terms } from "../checks/Terms.ts"
import { millis } from "../checks/Words.ts"
import type { Case } from "../history/History.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import type { Trace } from "./Trace.ts"

/** How often a case is repeated to confirm what may have been an accident. */
export const maxRepeats = 2

/** After so many cases that leave a requirement open, more of them are not worth their time. */
const patience = 2

/** A case that was executed. */
export interface CaseRun {
  readonly case: Case
  /** Whether nothing else was going on, so that only measured times can be accidents. */
  readonly alone: boolean
  readonly trace: Trace
  /** Whether all of it was done: the receiver may have gone in the middle. */
  readonly whole: boolean
  /** Traces of the same case executed again, alone. */
  readonly repeats: ReadonlyArray<Trace>
}

/** What is to be done for a requirement. */
export interface Plan {
  readonly requirement: Requirement
  readonly directed: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Case>
}

/** Why nothing more is executed. */
export interface Ended {
  readonly how: "complete" | "time_up" | "interrupted" | "target_unusable"
  /** Why the receiver is unusable; empty otherwise. */
  readonly message: string
}

/** The attempt that decided a verdict. */
export interface Evidence {
  readonly case: Case
  readonly trace: Trace
  /** Its place in the trace; null when there was no attempt to judge. */
  readonly attempt: number | null
}

export interface Outcome {
  readonly requirement: Requirement
  readonly verdict: Verdict
  readonly observed: string
  readonly evidence: Evidence | null
}

/** Two cases with equal histories are one. */
export const keyOf = ({ history }: Case): string => JSON.stringify(history)

const concerns = (plan: Plan, run: CaseRun): boolean =>
  [...plan.directed, ...plan.sampled].some((planned) => keyOf(planned) === keyOf(run.case))

interface Assessment {
  readonly finding: Finding
  readonly trace: Trace
  /** A failure that may be an accident and has not been repeated yet. */
  readonly suspect: boolean
}

/** What a run says of a requirement, its repeats considered. */
const assess = ({ check }: Requirement, run: CaseRun, terms: Terms): Assessment => {
  const finding = check(run.trace, terms)
  if (finding.verdict !== "FAIL" || (run.alone && !finding.timing)) return { finding, trace: run.trace, suspect: false }
  for (const trace of run.repeats) {
    const repeated = check(trace, terms)
    if (repeated.verdict === "FAIL") return { finding: repeated, trace, suspect: false }
  }
  if (run.repeats.length < maxRepeats) return { finding, trace: run.trace, suspect: true }
  const observed = `${finding.observed}; seen once, and not again in ${maxRepeats} repeats`
  return { finding: inconclusive(finding.attempt, observed), trace: run.trace, suspect: false }
}

/** Whether a run shows something against a requirement that must be repeated before it counts. */
const isSuspect = (plan: Plan, run: CaseRun, terms: Terms): boolean =>
  concerns(plan, run) && assess(plan.requirement, run, terms).suspect

const isBroken = (plan: Plan, run: CaseRun, terms: Terms): boolean => {
  const { finding, suspect } = assess(plan.requirement, run, terms)
  return concerns(plan, run) && finding.verdict === "FAIL" && !suspect
}

/** Whether repeating a run would help to decide a requirement. */
export const isWorthRepeating = (plan: Plan, run: CaseRun, runs: ReadonlyArray<CaseRun>, terms: Terms): boolean =>
  isSuspect(plan, run, terms) && !runs.some((other) => isBroken(plan, other, terms))

/** Whether more cases are worth executing for a requirement. */
export const isOpen = (plan: Plan, runs: ReadonlyArray<CaseRun>, terms: Terms): boolean => {
  const assessed = runs.filter((run) => concerns(plan, run)).map((run) => assess(plan.requirement, run, terms))
  return (
    assessed.every(({ finding }) => finding.verdict !== "FAIL") &&
    assessed.filter(({ finding }) => finding.verdict === "INCONCLUSIVE").length < patience
  )
}

/** Whether the receiver has acknowledged anything at all. */
export const acknowledgesAtAll = (runs: ReadonlyArray<CaseRun>, terms: Terms): boolean =>
  runs.some(({ trace }) => trace.attempts.some(({ exchange }) => read(exchange, terms) === "acknowledged"))

const whyIncomplete = (plan: Plan, done: number, runs: ReadonlyArray<CaseRun>, terms: Terms, ended: Ended): string => {
  const soFar = `${done} of ${plan.directed.length} cases done`
  switch (ended.how) {
    case "complete":
      return plan.requirement.presumesAcknowledgement && !acknowledgesAtAll(runs, terms)
        ? "not tested: the receiver acknowledged no ordinary event, so nothing more can be said (see R-ACK-01)"
        : soFar
    case "time_up":
      return `the time was up (--max-time) with ${soFar}`
    case "interrupted":
      return `interrupted with ${soFar}`
    case "target_unusable":
      return `the receiver could not be reached any more, with ${soFar}`
  }
}

const passedInWords = (plan: Plan, assessed: ReadonlyArray<Assessment>): string => {
  const judged = assessed.flatMap(({ finding, trace }) =>
    finding.verdict === "PASS" ? finding.attempts.flatMap((index) => trace.attempts[index] ?? []) : []
  )
  const slowest = Math.max(...judged.map(({ exchange }) => exchange.elapsed))
  const planned = new Set([...plan.directed, ...plan.sampled].map(keyOf)).size
  const left = planned - assessed.length
  const cut = left > 0 ? `; ${left} of ${planned} histories left out` : ""
  return `${judged.length} attempts, the slowest answered in ${millis(slowest)}${cut}`
}

/** What keeps a requirement from having passed: what breaks it, else what leaves it open. */
const obstacleIn = <A extends Assessment>(assessed: ReadonlyArray<A>): A | undefined => {
  const nothingPassed = assessed.every(({ finding }) => finding.verdict !== "PASS")
  return (
    assessed.find(({ finding, suspect }) => finding.verdict === "FAIL" && !suspect) ??
    // A trace in which there was nothing to judge says nothing beside others.
    assessed.find(({ finding }) => finding.verdict !== "PASS" && (finding.attempt !== null || nothingPassed))
  )
}

/** The verdict on a requirement, from everything that was executed. */
export const judge = (plan: Plan, runs: ReadonlyArray<CaseRun>, terms: Terms, ended: Ended): Outcome => {
  const { requirement } = plan
  const assessed = runs
    .filter((run) => concerns(plan, run))
    .map((run) => ({ ...assess(requirement, run, terms), case: run.case, whole: run.whole }))
    // Of a history that was broken off, only what it proves counts.
    .filter(({ finding, whole }) => whole || finding.verdict === "FAIL")
  const obstacle = obstacleIn(assessed)
  if (obstacle !== undefined && obstacle.finding.verdict !== "PASS") {
    const { finding, suspect, trace } = obstacle
    const proven = finding.verdict === "FAIL" && !suspect
    return {
      requirement,
      verdict: !proven ? "INCONCLUSIVE" : requirement.strength === "MUST" ? "FAIL" : "WARN",
      observed: suspect ? `${finding.observed}; not confirmed by a repeat` : finding.observed,
      evidence: { case: obstacle.case, trace, attempt: finding.attempt }
    }
  }
  const keys = new Set(assessed.map((one) => keyOf(one.case)))
  const done = plan.directed.filter((planned) => keys.has(keyOf(planned))).length
  return done < plan.directed.length
    ? {
        requirement,
        verdict: "INCONCLUSIVE",
        observed: whyIncomplete(plan, done, runs, terms, ended),
        evidence: null
      }
    : { requirement, verdict: "PASS", observed: passedInWords(plan, assessed), evidence: null }
}
