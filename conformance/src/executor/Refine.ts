/**
 * Looks at failures again: how often they come back, and with how little.
 *
 * A wrong answer or effect seen once is proof and stays a failure even if it never comes back; how often it does tells
 * how often a shortened history must be tried before it counts as passing.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { execute } from "./Execute.ts"
import type { CaseRun, Confirmed, Plan, Refinement } from "./Judgement.ts"
import { assess, checked, concerns, keyOf } from "./Judgement.ts"
import type { Minting } from "./Minting.ts"
import type { Session } from "./Session.ts"
import type { Setting } from "./Setting.ts"
import type { Trace } from "../observed/Trace.ts"
import type { History, Lane } from "../history/History.ts"
import { shrink } from "../random/Shrink.ts"

/** How often a failure is looked for again, all at once. */
export const confirmations = 5
/** From this share on, once is enough. */
const steady = 0.9
/** The most tries of one history. */
const mostRepeats = 10
const lanesToRepeat: ReadonlySet<Lane> = new Set<Lane>(["timing", "state", "disturbed"])

/** How often a history is tried before it counts as passing: so that a failure is missed one time in twenty. */
export const repeatsFor = ({ failed, tried }: Confirmed): number => {
  const share = tried === 0 ? 1 : failed / tried
  if (share >= steady) return 1
  if (share === 0) return mostRepeats
  return Math.min(mostRepeats, Math.ceil(Math.log(0.05) / Math.log(1 - share)))
}

export interface Refinery {
  readonly refine: (session: Session, setting: Setting, until: number) => Effect.Effect<void, never, Minting | Crypto>
  /** What came of it so far. */
  readonly refinements: () => ReadonlyArray<Refinement>
}

export const makeRefinery = (terms: Terms): Refinery => {
  const refinements = new Map<string, Refinement>()

  const brokenOf = (plan: Plan, runs: ReadonlyArray<CaseRun>): CaseRun | undefined =>
    runs
      .filter((run) => concerns(plan, run) && lanesToRepeat.has(run.case.lane))
      .filter((run) => {
        const { finding, suspect } = assess(plan.requirement, run, terms)
        return finding.verdict === "FAIL" && !suspect && !finding.timing
      })
      .toSorted((a, b) => a.case.history.ops.length - b.case.history.ops.length)[0]

  const refineOne = Effect.fnUntraced(function* (
    plan: Plan,
    run: CaseRun,
    session: Session,
    setting: Setting,
    until: number
  ) {
    const patience = Math.max(1_000, 5 * (session.calibration()?.lag ?? 0))
    const tryOut = (history: History) =>
      execute(history, setting).pipe(
        Effect.flatMap(({ trace }) => session.observe([trace], patience)),
        Effect.map(([trace]) => trace ?? null),
        // Without a probe nothing can be said of what was tried.
        Effect.orElseSucceed(() => null)
      )
    const breaks = (trace: Trace | null): trace is Trace =>
      trace !== null && checked(plan.requirement, trace, terms).verdict === "FAIL"
    const again = yield* Effect.forEach(
      Array.from({ length: confirmations }, () => run.case.history),
      tryOut,
      { concurrency: confirmations }
    )
    const verdict: Confirmed = { tried: confirmations, failed: again.filter(breaks).length }
    const refinement: Refinement = { requirement: plan.requirement.id, confirmed: verdict, shortened: null }
    refinements.set(plan.requirement.id, refinement)
    if (verdict.failed === 0 || !plan.sampled.some((one) => keyOf(one) === keyOf(run.case))) return
    const repeats = repeatsFor(verdict)
    let best: Trace = again.find(breaks) ?? run.trace
    const fails = Effect.fnUntraced(function* (history: History) {
      for (let tries = 0; tries < repeats; tries++) {
        if ((yield* Clock.currentTimeMillis) >= until) return false
        const trace = yield* tryOut(history)
        if (!breaks(trace)) continue
        if (trace.history.ops.length <= best.history.ops.length) best = trace
        return true
      }
      return false
    })
    const shortest = yield* shrink(run.case.history, fails, until)
    const place = session.ledger().runs().indexOf(run)
    if (keyOf({ history: shortest }) === keyOf({ history: best.history }))
      refinements.set(plan.requirement.id, { ...refinement, shortened: { place, trace: best } })
  })

  return {
    refine: Effect.fnUntraced(function* (session, setting, until) {
      for (const plan of session.plans()) {
        const left = until - (yield* Clock.currentTimeMillis)
        const run = brokenOf(plan, session.ledger().runs())
        if (run === undefined) continue
        if (left <= 0) return
        yield* refineOne(plan, run, session, setting, (yield* Clock.currentTimeMillis) + left / 2).pipe(
          Effect.timeoutOption(left),
          Effect.asVoid
        )
      }
    }),
    refinements: () => Array.from(refinements.values())
  }
}
