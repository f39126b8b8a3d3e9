/**
 * Everything that was executed in a run, and which requirements it has decided.
 */
import { read } from "../checks/Reading.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Case } from "../history/History.ts"
import type { CaseRun, Plan } from "./Judgement.ts"
import { acknowledgesAtAll, assess, concerns, keyOf, patience } from "./Judgement.ts"

export interface Ledger {
  readonly runs: () => ReadonlyArray<CaseRun>
  /** Adds a run; its place. */
  readonly add: (run: CaseRun) => number
  readonly replace: (place: number, run: CaseRun) => void
  /** Whether a case was executed. */
  readonly has: (one: Case) => boolean
  /** Whether some requirement still asks for a case. */
  readonly isAskedFor: (one: Case) => boolean
  /** Whether repeating a run would help to decide a requirement. */
  readonly isWorthRepeating: (place: number) => boolean
  readonly acknowledges: () => boolean
  /** The median time of an acknowledgement while nothing else was going on, in milliseconds; 0 when there was none. */
  readonly typical: () => number
}

export const makeLedger = (plans: ReadonlyArray<Plan>, terms: Terms): Ledger => {
  const runs: Array<CaseRun> = []
  const executed = new Set<string>()
  const decided = new Set<Plan>()
  let acknowledges = false
  const times: Array<number> = []
  let typical = 0

  /** Whether a failure is beyond doubt. */
  const isProven = (plan: Plan): boolean => {
    if (decided.has(plan)) return true
    const proven = runs.some((run) => {
      if (!concerns(plan, run)) return false
      const { finding, suspect } = assess(plan.requirement, run, terms)
      return finding.verdict === "FAIL" && !suspect
    })
    if (proven) decided.add(plan)
    return proven
  }

  const isDecided = (plan: Plan): boolean => {
    if (isProven(plan)) return true
    let open = 0
    for (const run of runs) {
      if (!concerns(plan, run)) continue
      const { finding } = assess(plan.requirement, run, terms)
      // What is only suspected is repeated first: more of the same may take a deadline each.
      if (finding.verdict === "FAIL" || finding.verdict === "ERROR") return true
      if (finding.verdict === "INCONCLUSIVE" && !finding.empty) open += 1
    }
    return open >= patience
  }
  // Whether a plan is decided changes only with what was executed.
  let known = new Map<Plan, boolean>()
  const isDecidedNow = (plan: Plan): boolean => {
    const before = known.get(plan)
    if (before !== undefined) return before
    const now = isDecided(plan)
    known.set(plan, now)
    return now
  }

  const noticeTimes = ({ alone, trace }: CaseRun): void => {
    if (!alone) return
    for (const { exchange, kind } of trace.attempts) {
      if (kind !== "delivery" || read(exchange, terms) !== "acknowledged" || times.length > 400) continue
      times.push(exchange.elapsed)
      typical = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
    }
  }

  const forget = ({ case: one }: CaseRun): void => {
    for (const plan of plans) {
      if (plan.requirement.examines === "all" || plan.keys.has(keyOf(one))) known.delete(plan)
    }
  }

  return {
    runs: () => runs,
    add: (run) => {
      runs.push(run)
      executed.add(keyOf(run.case))
      noticeTimes(run)
      acknowledges ||= acknowledgesAtAll([run], terms)
      forget(run)
      return runs.length - 1
    },
    replace: (place, run) => {
      runs[place] = run
      known = new Map()
      decided.clear()
    },
    has: (one) => executed.has(keyOf(one)),
    isAskedFor: (one) =>
      plans.some(
        (plan) =>
          plan.keys.has(keyOf(one)) &&
          (!plan.requirement.presumesAcknowledgement || acknowledges) &&
          !isDecidedNow(plan)
      ),
    isWorthRepeating: (place) => {
      const run = runs[place]
      if (run === undefined) return false
      return plans.some(
        (plan) => concerns(plan, run) && assess(plan.requirement, run, terms).suspect && !isProven(plan)
      )
    },
    acknowledges: () => acknowledges,
    typical: () => typical
  }
}
