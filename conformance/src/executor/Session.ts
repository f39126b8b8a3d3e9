/**
 * A run of the suite against one receiver: which cases are executed, in which order, and when to stop.
 *
 * First the timing lane, case by case; then the state lane; both with the directed cases of every requirement before
 * those drawn from the seed. A case that several requirements ask for is executed once. A requirement that is decided
 * asks for nothing more, so that a receiver that hangs costs a few deadlines and not one for each case. What may have
 * been an accident is repeated, alone, before it counts.
 */
import type { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import { read } from "../checks/Reading.ts"
import type { Terms } from "../checks/Terms.ts"
import type { Case } from "../history/History.ts"
import { draw } from "../history/Samples.ts"
import { ordinaryCases } from "../requirements/Ordinary.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import type { Setting } from "./Execute.ts"
import { execute } from "./Execute.ts"
import type { CaseRun, Ended, Outcome, Plan } from "./Judgement.ts"
import { acknowledgesAtAll, isOpen, isWorthRepeating, judge, keyOf, maxRepeats } from "./Judgement.ts"
import type { Minting } from "./Minting.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"

export interface SessionOptions {
  readonly setting: Setting
  readonly terms: Terms
  readonly seed: number
  /** How long the run may take, in milliseconds. */
  readonly maxTime: number
  readonly requirements: ReadonlyArray<Requirement>
  /** What must hold before anything is sent; its time counts. */
  readonly preflight: Effect.Effect<void, TargetUnusable>
  /** Told what is being done, for whoever watches. */
  readonly progress: (what: string) => Effect.Effect<void>
}

export interface Session {
  /** Executes until everything is decided, the time is up or the receiver is gone. */
  readonly run: Effect.Effect<Ended, never, Minting | Crypto>
  /** The verdicts by what has been executed so far; good at any time. */
  readonly outcomes: (ended: Ended) => ReadonlyArray<Outcome>
  /** How many attempts were made so far. */
  readonly attempts: () => number
}

/** What a receiver that is slow but in time may take of the run's time in sequence. Beyond, histories run side by side. */
const sequentialShare = 0.25
const sideBySide = 4

/** Ordinary cases that are tried before a receiver counts as acknowledging nothing. */
const controls = ordinaryCases.slice(0, 2)

const distinct = (cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  Array.from(new Map(cases.map((one) => [keyOf(one), one])).values())

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

export const make = (options: SessionOptions): Session => {
  const { maxTime, preflight, progress, seed, setting, terms } = options
  const plans: ReadonlyArray<Plan> = options.requirements.map((requirement) => ({
    requirement,
    directed: requirement.directed,
    sampled: draw(requirement.sampled, seed)
  }))
  const runs: Array<CaseRun> = []

  const isAsking = (plan: Plan, one: Case): boolean =>
    [...plan.directed, ...plan.sampled].some((planned) => keyOf(planned) === keyOf(one)) &&
    isOpen(plan, runs, terms) &&
    (!plan.requirement.presumesAcknowledgement || acknowledgesAtAll(runs, terms))

  const isNeededControl = (one: Case): boolean =>
    controls.includes(one) &&
    !acknowledgesAtAll(runs, terms) &&
    plans.some(({ requirement }) => requirement.presumesAcknowledgement)

  const runCase = Effect.fnUntraced(function* (one: Case, alone: boolean) {
    if (!isNeededControl(one) && !plans.some((plan) => isAsking(plan, one))) return
    yield* progress(one.title)
    const { broke, trace } = yield* execute(one.history, setting)
    runs.push({ case: one, alone, trace, whole: broke === null, repeats: [] })
    if (broke !== null) return yield* broke
  })

  const confirm = Effect.fnUntraced(function* (place: number) {
    for (let tries = 0; tries < maxRepeats; tries++) {
      const run = runs[place]
      if (run === undefined || !plans.some((plan) => isWorthRepeating(plan, run, runs, terms))) return
      yield* progress(`${run.case.title}, again`)
      const { broke, trace } = yield* execute(run.case.history, setting)
      runs[place] = { ...run, repeats: [...run.repeats, trace] }
      if (broke !== null) return yield* broke
    }
  })

  const runLane = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>, concurrency: number) {
    const first = runs.length
    yield* Effect.forEach(cases, (one) => runCase(one, concurrency === 1), { concurrency, discard: true })
    for (let place = first; place < runs.length; place++) yield* confirm(place)
  })

  /** How many histories run at once in the state lane: one, unless that would take too long. */
  const stateConcurrency = (cases: ReadonlyArray<Case>): number => {
    const answered = runs
      .flatMap(({ trace }) => trace.attempts)
      .filter(({ exchange }) => read(exchange, terms) === "acknowledged")
    const expected =
      median(answered.map(({ exchange }) => exchange.elapsed)) *
      cases.reduce((total, { history }) => total + history.ops.length, 0)
    return expected > maxTime * sequentialShare ? sideBySide : 1
  }

  const runAll = Effect.gen(function* () {
    const directed = distinct([...controls, ...plans.flatMap((plan) => plan.directed)])
    const sampled = distinct(plans.flatMap((plan) => plan.sampled))
    for (const cases of [directed, sampled]) {
      // More of the same says nothing more of a receiver that acknowledges nothing, and may take a deadline each.
      if (cases === sampled && !acknowledgesAtAll(runs, terms)) return
      yield* runLane(
        cases.filter(({ lane }) => lane === "timing"),
        1
      )
      const state = cases.filter(({ lane }) => lane === "state")
      yield* runLane(state, stateConcurrency(state))
    }
  })

  const ended = (how: Ended["how"], message = ""): Ended => ({ how, message })

  return {
    run: preflight.pipe(
      Effect.andThen(runAll),
      Effect.as(ended("complete")),
      Effect.timeoutOrElse({ duration: maxTime, orElse: () => Effect.succeed(ended("time_up")) }),
      Effect.catchTag("TargetUnusable", (error: TargetUnusable) =>
        Effect.succeed(ended("target_unusable", error.message))
      )
    ),
    outcomes: (how) => plans.map((plan) => judge(plan, runs, terms, how)),
    attempts: () =>
      runs.reduce(
        (total, { repeats, trace }) =>
          total + trace.attempts.length + repeats.reduce((sum, { attempts }) => sum + attempts.length, 0),
        0
      )
  }
}
