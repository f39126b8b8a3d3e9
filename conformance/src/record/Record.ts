/**
 * Everything that came of a run, and what follows from it: outcomes and a report, by pure functions. A run that has just
 * ended and one that was read from a stored trace are judged by the same ones.
 */
import type { Terms } from "../checks/Terms.ts"
import type { CaseRun, Ended, Outcome, Plan, Refinement } from "../executor/Judgement.ts"
import { judge } from "../executor/Judgement.ts"
import { planOf } from "../executor/Plans.ts"
import type { ProbeCalibration } from "../executor/ProbeCalibration.ts"
import { doubted } from "../executor/Strangers.ts"
import { select } from "../requirements/Selection.ts"
import type { Facts } from "./Facts.ts"
import { sightOf } from "./Seeing.ts"

export interface Record {
  /** The suite that made the run. */
  readonly suite: string
  readonly facts: Facts
  readonly terms: Terms
  /** What an exchange with an echo in the suite's own process took, in milliseconds. */
  readonly echo: number
  /** ISO 8601, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  readonly calibration: ProbeCalibration | null
  readonly ended: Ended
  readonly runs: ReadonlyArray<CaseRun>
  readonly refinements: ReadonlyArray<Refinement>
  /** Ids of events that took effect during the run and were none of its own. */
  readonly strangers: ReadonlyArray<string>
}

/** What is to be done for each of them, whether the probe gives a digest being known. */
export const plansOf = (facts: Facts, digest: boolean): ReadonlyArray<Plan> =>
  select(facts).selected.map((requirement) =>
    planOf(requirement, facts.seed, facts.dedupKey, facts.level, sightOf(facts, digest))
  )

/** The runs, the failure that decides a requirement being as short as was found. */
const refined = (runs: ReadonlyArray<CaseRun>, refinement: Refinement | undefined): ReadonlyArray<CaseRun> => {
  const shortened = refinement?.shortened ?? null
  if (shortened === null) return runs
  return runs.map((run, place) => (place === shortened.place ? { ...run, trace: shortened.trace } : run))
}

/** The verdict on each requirement. */
export const outcomesOf = (record: Record): ReadonlyArray<Outcome> => {
  const { calibration, ended, facts, refinements, runs, strangers, terms } = record
  return plansOf(facts, calibration?.digest ?? false).map((plan) => {
    const refinement = refinements.find((one) => one.requirement === plan.requirement.id)
    const outcome = judge(plan, refined(runs, refinement), terms, ended, refinement?.confirmed ?? null)
    return doubted(outcome, strangers)
  })
}
