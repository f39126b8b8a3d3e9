/**
 * Everything that a run has executed, and which requirements are decided. A decided requirement gets no more cases, so
 * a hanging receiver costs a few deadlines instead of one for each case.
 */
import { keyOf } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { classify } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import type { CaseRun } from "../record/Evidence.ts"
import { acknowledgesAtAll, assess, concerns } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"

/** Number of inconclusive cases after which a requirement gets no more cases. */
const mostOpen = 2

/** Number of answer times after which recording stops. */
const mostTimes = 400

export interface Ledger {
  readonly runs: () => ReadonlyArray<CaseRun>
  readonly plans: () => ReadonlyArray<Plan>
  /** Replaces the plans, once it is clear which needs are met. */
  readonly plan: (plans: ReadonlyArray<Plan>) => void
  readonly add: (run: CaseRun) => void
  readonly replace: (place: number, run: CaseRun) => void
  /** Whether a case was executed. */
  readonly has: (one: Case) => boolean
  /** Whether a requirement still needs a case. */
  readonly isAskedFor: (one: Case) => boolean
  /** Whether repeating a run would help to decide a requirement. */
  readonly isWorthRepeating: (place: number) => boolean
  readonly acknowledges: () => boolean
  /**
   * The median time from a request to its acknowledgement in cases that ran alone, in milliseconds; 0 without such
   * acknowledgements.
   */
  readonly typical: () => number
}

/**
 * How far a requirement is decided. `all`: it needs no more cases. `some`: it needs only cases of the requirement's own
 * strength.
 */
type Decided = "all" | "some" | "nothing"

export const makeLedger = (terms: Terms): Ledger => {
  let plans: ReadonlyArray<Plan> = []
  const runs: Array<CaseRun> = []
  const executed = new Set<string>()
  const times: Array<number> = []
  let acknowledges = false
  let typical = 0
  // Cached results of `decide`. An execution that may change a result clears it.
  let known = new Map<Plan, Decided>()

  const concerned = (plan: Plan): ReadonlyArray<CaseRun> => runs.filter((run) => concerns(plan, run))

  const decide = (plan: Plan): Decided => {
    const own = concerned(plan)
    let open = 0
    let decided: Decided = "nothing"
    for (const run of own) {
      const { finding, suspect } = assess(plan, run, own, terms)
      if (finding.verdict === "ERROR") return "all"
      // A suspect failure is repeated before more cases are tried, because each of them may take a deadline.
      if (finding.verdict === "FAIL" && (suspect || finding.strength === plan.requirement.strength)) return "all"
      if (finding.verdict === "FAIL") decided = "some"
      // If the receiver acknowledges nothing, empty findings also count as open.
      if (finding.verdict === "INCONCLUSIVE" && (!finding.empty || !acknowledges)) open += 1
    }
    return open >= mostOpen ? "all" : decided
  }

  const decidedOf = (plan: Plan): Decided => {
    const decided = known.get(plan) ?? decide(plan)
    known.set(plan, decided)
    return decided
  }

  const recordTimes = ({ alone, trace }: CaseRun): void => {
    if (!alone || times.length > mostTimes) return
    for (const { exchange, kind } of trace.attempts) {
      if (kind === "delivery" && classify(exchange, terms) === "acknowledged") times.push(exchange.elapsed)
    }
    typical = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
  }

  const isProven = (plan: Plan): boolean => {
    const own = concerned(plan)
    return own.some((run) => {
      const { finding, suspect } = assess(plan, run, own, terms)
      return finding.verdict === "FAIL" && !suspect && finding.strength === plan.requirement.strength
    })
  }

  return {
    runs: () => runs,
    plans: () => plans,
    plan: (next) => {
      plans = next
      known = new Map()
    },
    add: (run) => {
      runs.push(run)
      executed.add(keyOf(run.trace.history))
      recordTimes(run)
      const before = acknowledges
      acknowledges ||= acknowledgesAtAll([run], terms)
      if (acknowledges !== before) known = new Map()
      for (const plan of plans) if (concerns(plan, run)) known.delete(plan)
    },
    replace: (place, run) => {
      runs[place] = run
      for (const plan of plans) if (concerns(plan, run)) known.delete(plan)
    },
    has: ({ history }) => executed.has(keyOf(history)),
    isAskedFor: ({ history }) =>
      plans.some((plan) => {
        const strength = plan.strengths.get(keyOf(history))
        if (strength === undefined || (plan.requirement.presumesAcknowledgement && !acknowledges)) return false
        const decided = decidedOf(plan)
        return decided === "nothing" || (decided === "some" && strength === plan.requirement.strength)
      }),
    isWorthRepeating: (place) => {
      const run = runs[place]
      if (run === undefined) return false
      return plans.some(
        (plan) => concerns(plan, run) && assess(plan, run, concerned(plan), terms).suspect && !isProven(plan)
      )
    },
    acknowledges: () => acknowledges,
    typical: () => typical
  }
}
