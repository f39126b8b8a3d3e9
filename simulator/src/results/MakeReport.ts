/**
 * Puts a report together from what was measured.
 */
import { answersOf } from "./Answers.ts"
import type { Violation } from "./Rules.ts"
import type { Measurements } from "./Measurements.ts"
import type { RunFacts, RunReport, Storage } from "./RunReport.ts"
import { schemaVersion } from "./RunReport.ts"
import { measuredParts, totalsOf } from "./MeasuredParts.ts"
import type { Slo } from "./Slo.ts"
import { judgeSlo } from "./Slo.ts"

export interface Findings {
  readonly facts: RunFacts
  readonly measurements: Measurements
  readonly slos: ReadonlyArray<Slo>
  /** Null where nobody could be asked. */
  readonly lost: number | null
  readonly broken: number
  readonly violations: ReadonlyArray<Violation>
  readonly crashes: number
  readonly storage: Storage | null
  readonly storageFailure: string | null
  readonly took: number
  /** How much of that was publishing; null on virtual time. */
  readonly sending: number | null
  readonly interrupted: boolean
  /** It could not go on: what was not played can't have gone well. */
  readonly stopped: boolean
}

/**
 * Whether a real receiver acknowledged nothing of what it was sent: it is not there, or not what it was taken for. Modelled
 * ones are as bad as they were asked to be.
 */
export const isUnreached = ({ kind, outcomes, totals }: Pick<RunReport, "kind" | "outcomes" | "totals">): boolean =>
  kind === "receiver" && totals.attempts > 0 && outcomes["acknowledged"] === undefined

/**
 * Whether a service did not say what became of what it took in, for as long as it was asked. Whoever interrupts a run wants
 * no answer.
 */
export const isUnaccounted = ({
  interrupted,
  kind,
  totals
}: Pick<RunReport, "interrupted" | "kind" | "totals">): boolean =>
  kind === "service" && !interrupted && totals.lost === null && totals.accepted > 0

export const makeReport = (findings: Findings): RunReport => {
  const { broken, crashes, facts, interrupted, lost, measurements, sending, slos, took, violations } = findings
  const totals = totalsOf(measurements, facts.kind, { lost, broken })
  const parts = measuredParts(measurements, facts.kind)
  const results = slos.map((slo) => judgeSlo({ ...parts, totals }, slo))
  const isBad =
    findings.stopped ||
    isUnreached({ kind: facts.kind, outcomes: parts.outcomes, totals }) ||
    isUnaccounted({ kind: facts.kind, interrupted, totals }) ||
    broken > 0 ||
    (lost ?? 0) > 0 ||
    totals.failed > 0 ||
    results.some(({ met }) => !met)
  const measured = {
    ...facts,
    schemaVersion,
    took,
    sending,
    interrupted,
    totals,
    ...parts,
    crashes,
    violations,
    storage: findings.storage,
    storage_failure: findings.storageFailure
  } as const
  return { ...measured, verdict: isBad ? "fail" : "pass", slos: results, answers: answersOf(measured) }
}
