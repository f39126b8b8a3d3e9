/**
 * Everything that a run has executed, and which requirements are decided. A decided requirement gets no more cases, so
 * a hanging receiver costs a few deadlines instead of one for each case.
 */
import { keyOf } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import type { CaseRun } from "../record/Evidence.ts"
import { acknowledgesAtAll, assess, concerns } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"

/** Number of inconclusive cases after which a requirement gets no more cases. */
const mostOpen = 2

/** Number of answer times after which recording stops. */
const mostTimes = 400

/**
 * How far a requirement is decided. `all`: it needs no more cases. `some`: it needs only cases of the requirement's own
 * strength.
 */
type Decided = "all" | "some" | "nothing"

export class CaseLog {
  readonly #criteria: Criteria
  readonly #runs: Array<CaseRun> = []
  readonly #executed = new Set<string>()
  readonly #times: Array<number> = []
  #plans: ReadonlyArray<Plan> = []
  #acknowledges = false
  #typical = 0
  /** Cached results of `#decide`. An execution that may change a result clears it. */
  #decided = new Map<Plan, Decided>()

  constructor(criteria: Criteria) {
    this.#criteria = criteria
  }

  get runs(): ReadonlyArray<CaseRun> {
    return this.#runs
  }

  get plans(): ReadonlyArray<Plan> {
    return this.#plans
  }

  /** Replaces the plans, once it is clear which needs are met. */
  set plans(plans: ReadonlyArray<Plan>) {
    this.#plans = plans
    this.#decided = new Map()
  }

  /** Whether the receiver has acknowledged anything. */
  get acknowledges(): boolean {
    return this.#acknowledges
  }

  /**
   * The median time from a request to its acknowledgement in cases that ran alone, in milliseconds; 0 without such
   * acknowledgements.
   */
  get typical(): number {
    return this.#typical
  }

  add(run: CaseRun): void {
    this.#runs.push(run)
    this.#executed.add(keyOf(run.trace.history))
    this.#recordTimes(run)
    if (!this.#acknowledges && acknowledgesAtAll([run], this.#criteria)) {
      this.#acknowledges = true
      this.#decided = new Map()
    }
    this.#decideAgain(run)
  }

  replace(place: number, run: CaseRun): void {
    this.#runs[place] = run
    this.#decideAgain(run)
  }

  /** Whether a case was executed. */
  has({ history }: Case): boolean {
    return this.#executed.has(keyOf(history))
  }

  /** Whether a requirement still needs a case. */
  needs({ history }: Case): boolean {
    return this.#plans.some((plan) => {
      const strength = plan.strengths.get(keyOf(history))
      if (strength === undefined || (plan.requirement.presumesAcknowledgement && !this.#acknowledges)) return false
      const decided = this.#decided.get(plan) ?? this.#decide(plan)
      this.#decided.set(plan, decided)
      return decided === "nothing" || (decided === "some" && strength === plan.requirement.strength)
    })
  }

  /** Whether repeating a run would help to decide a requirement. */
  isWorthRepeating(place: number): boolean {
    const run = this.#runs[place]
    if (run === undefined) return false
    return this.#plans.some(
      (plan) =>
        concerns(plan, run) && assess(plan, run, this.concerned(plan), this.#criteria).suspect && !this.#isProven(plan)
    )
  }

  /** Returns the runs that concern a requirement. */
  concerned(plan: Plan): ReadonlyArray<CaseRun> {
    return this.#runs.filter((run) => concerns(plan, run))
  }

  #decideAgain(run: CaseRun): void {
    for (const plan of this.#plans) if (concerns(plan, run)) this.#decided.delete(plan)
  }

  #decide(plan: Plan): Decided {
    const own = this.concerned(plan)
    let open = 0
    let decided: Decided = "nothing"
    for (const run of own) {
      const { finding, suspect } = assess(plan, run, own, this.#criteria)
      if (finding.verdict === "ERROR") return "all"
      // A suspect failure is repeated before more cases are tried, because each of them may take a deadline.
      if (finding.verdict === "FAIL" && (suspect || finding.strength === plan.requirement.strength)) return "all"
      if (finding.verdict === "FAIL") decided = "some"
      // If the receiver acknowledges nothing, empty findings also count as open.
      if (finding.verdict === "INCONCLUSIVE" && (!finding.empty || !this.#acknowledges)) open += 1
    }
    return open >= mostOpen ? "all" : decided
  }

  #isProven(plan: Plan): boolean {
    const own = this.concerned(plan)
    return own.some((run) => {
      const { finding, suspect } = assess(plan, run, own, this.#criteria)
      return finding.verdict === "FAIL" && !suspect && finding.strength === plan.requirement.strength
    })
  }

  #recordTimes({ alone, trace }: CaseRun): void {
    if (!alone || this.#times.length > mostTimes) return
    for (const { exchange, kind } of trace.attempts) {
      if (kind === "delivery" && classify(exchange, this.#criteria) === "acknowledged")
        this.#times.push(exchange.elapsed)
    }
    this.#typical = this.#times.toSorted((a, b) => a - b)[this.#times.length >> 1] ?? 0
  }
}
