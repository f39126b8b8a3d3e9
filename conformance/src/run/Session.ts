/**
 * A run against one receiver: calibrates, executes batch after batch, waits for effects and reads them, and repeats
 * failures that may have been accidents. A decided requirement gets no more cases. The run gathers evidence;
 * `record/Outcome.ts` judges it.
 *
 * Cases that wait for all other cases begin first and end last. Consecutive batches share one wait for effects. Effects
 * are read before a batch that may end the receiver, and before a batch with another `settling` number or step.
 */
import { isoOf } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Deferred, Effect, Fiber, Latch, Option } from "effect"
import { leastElapsed } from "../evidence/Exchange.ts"
import type { Trace } from "../evidence/Trace.ts"
import type { CaseContext, Slots } from "../execution/Execution.ts"
import { execute } from "../execution/Perform.ts"
import type { TargetUnusable } from "../execution/Send.ts"
import { EventFactory } from "../history/Events.ts"
import { keyOf } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import type { ProbeUnusable } from "../probes/Probe.ts"
import { nextRepeated, strangersAmong, suite } from "../record/Evidence.ts"
import type { CaseRun, Ended, Evidence, ProbeCalibration, Refinement } from "../record/Evidence.ts"
import { shown } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { assess, concerns, easiestFirst, maxRepeats, plansOf } from "../record/Outcome.ts"
import type { Plan } from "../record/Outcome.ts"
import type { Need } from "../requirements/Requirement.ts"
import { makeLedger } from "./Ledger.ts"
import { refine } from "./Refine.ts"
import { fitting, lanesApart, lastUntil, longestFirst, reserveOf, scheduleOf, until, widths } from "./Schedule.ts"
import type { Batch } from "./Schedule.ts"
import { lacksEffects, readAgain, settle } from "./Settle.ts"
import {
  calibrateProbe,
  controlsOf,
  fillerShare,
  fillerShareAlone,
  givenBy,
  paceOf,
  readerOf,
  settingOf,
  termsOf,
  tryOutWith,
  upToNow
} from "./Setup.ts"
import type { Guard } from "./Setup.ts"
import { reach } from "./Target.ts"

export interface Session {
  /** Executes until everything is decided, the time is up or the receiver is gone. */
  readonly run: Effect.Effect<Ended, never, EventFactory | Crypto | Slots>
  /** Returns the evidence gathered so far. `ended` says how the run ended. */
  readonly evidence: (ended: Ended, durationMs: number) => Evidence
}

/** The guard for late answers (see `Setup.ts`), and the start of the run in milliseconds since the epoch. */
export interface Measured extends Guard {
  readonly startedAt: number
}

type Done<A = void> = Effect.Effect<A, TargetUnusable | ProbeUnusable, EventFactory | Crypto | Slots>

/** Number of late answers to concurrent histories after which histories run one by one. */
const lateUntilAlone = 3

/**
 * If effects are missing after a full settling time, later waits last only this share of that time, but at least
 * `leastSettle` milliseconds.
 */
const impatience = 0.3
const leastSettle = 2_000

/** Maximum shares of the run's time for waiting for late effects, for reading them, and for refining failures. */
const lateShare = 0.1
const rereadShare = 0.04
const refineShare = 0.2
/**
 * Shares of the time left for refining after which a failure is no longer shrunk, and its shortest history no longer
 * repeated. The rest is left for other failures.
 */
const shrinkShare = 0.5
const confirmShare = 0.75

/** Lanes with the same number share a wait for effects. */
const settling: Readonly<Record<Lane, number>> = {
  timing: 0,
  state: 0,
  disturbed: 1,
  blocking: 1,
  load: 1,
  operated: 2,
  last: 3,
  quiet: 3,
  aged: 4
}

/** Maximum number of failures of a requirement that are repeated at a time, until one recurs every time. */
const mostRefined = 3

/** Returns the traces of a case: of its first execution and of its repeats. */
const tracesOf = ({ repeats, trace }: CaseRun): ReadonlyArray<Trace> => [trace, ...repeats]

export const makeSession = Effect.fnUntraced(function* (
  options: Options,
  means: Means,
  measured: Measured
): Effect.fn.Return<Session> {
  const { maxTime } = options
  const probe = options.level >= 2 ? means.probe : null
  const own: Means = { ...means, probe }
  const terms = termsOf(options, measured)
  const given = givenBy(options, own)
  const ledger = makeLedger(terms)
  const setting = yield* settingOf(options, own, terms, {
    pace: means.pace ?? paceOf(maxTime),
    typical: ledger.typical
  })
  const { pace } = setting
  let calibration: ProbeCalibration | null = null
  let settleTime = options.settle
  let late = 0
  /** The ids of events that had effects before the run. */
  let earlier: ReadonlySet<string> = new Set()
  let strangers: ReadonlyArray<string> = []
  const refinements: Array<Refinement> = []

  const plan = (): void => {
    const sight = new Set<Need>([...given, ...(calibration?.digest === true ? (["digest"] as const) : [])])
    ledger.plan(plansOf(options, sight))
  }
  plan()
  const controls = controlsOf(options)
  const begun = measured.startedAt
  const at = (share: number): number => begun + maxTime * share
  const left = (share: number) => Effect.map(Clock.currentTimeMillis, (now) => Math.max(0, at(share) - now))
  const occasionOf = (
    title: string,
    allElseDone: Effect.Effect<void> = Effect.void,
    fillerTime = maxTime * fillerShare
  ): CaseContext => ({ title, allElseDone, fillerTime })

  const reader = () => readerOf(options, own, terms, calibration)

  const observe = Effect.fnUntraced(function* (
    traces: ReadonlyArray<Trace>
  ): Effect.fn.Return<ReadonlyArray<Trace>, ProbeUnusable> {
    const reading = reader()
    if (reading === null || traces.length === 0) return traces
    const seen = yield* settle(traces, reading, Math.min(settleTime, options.settle))
    if (!seen.complete) settleTime = Math.min(settleTime, Math.max(leastSettle, options.settle * impatience))
    return seen.traces.map((trace) => upToNow(trace, setting))
  })

  const lookForStrangers = Effect.fnUntraced(function* () {
    if (probe?.seen === undefined) return
    const factory = yield* EventFactory
    const now = (yield* probe.seen).filter((id) => !earlier.has(id))
    strangers = strangersAmong(now, yield* factory.handedOut)
  })

  /** Replaces traces by the same traces with effects. */
  const keep = (meant: ReadonlyArray<Trace>, seen: ReadonlyArray<Trace>): void => {
    const readOf = new Map(meant.map((trace, index) => [trace, seen[index] ?? trace]))
    for (const [place, run] of ledger.runs().entries()) {
      if (!tracesOf(run).some((one) => readOf.has(one))) continue
      const [trace = run.trace, ...repeats] = tracesOf(run).map((one) => readOf.get(one) ?? one)
      ledger.replace(place, { ...run, trace, repeats, settled: true })
    }
  }

  const observeRuns = Effect.fnUntraced(function* (isMeant: (run: CaseRun, trace: Trace) => boolean) {
    if (calibration === null) return
    const meant = ledger.runs().flatMap((run) => tracesOf(run).filter((trace) => isMeant(run, trace)))
    keep(meant, yield* observe(meant))
  })

  const settleAll = Effect.fnUntraced(function* () {
    yield* observeRuns(({ settled }) => !settled)
    yield* lookForStrangers()
  })

  /** Reads missing effects once more, because they may just have been late. */
  const lookAgain = () => observeRuns(({ settled }, trace) => settled && lacksEffects(trace, terms))

  /**
   * Looks once for late second effects at the end of the run, when the settling time has passed since the last given
   * case. Other cases usually fill that time.
   */
  const lookForLate = Effect.fnUntraced(function* (since: number, end: number) {
    const reading = reader()
    if (reading === null) return
    if (!ledger.plans().some(({ requirement }) => requirement.needs.includes("effects"))) return
    yield* means.progress("late effects")
    const due = Math.min(since + Math.min(options.settle, maxTime * lateShare), at(end))
    yield* Effect.sleep(Math.max(0, due - (yield* Clock.currentTimeMillis)))
    const meant = ledger.runs().flatMap((run) => (run.settled ? tracesOf(run) : []))
    const seen = yield* Effect.timeoutOption(readAgain(meant, reading, maxTime * rereadShare), yield* left(end))
    if (Option.isNone(seen)) return
    const changed = meant.flatMap((trace, place) => {
      const now = seen.value[place]
      return now === undefined || now === trace ? [] : [[trace, upToNow(now, setting)] as const]
    })
    keep(
      changed.map(([before]) => before),
      changed.map(([, now]) => now)
    )
  })

  const isNeededControl = (one: Case): boolean =>
    controls.includes(one) &&
    !ledger.acknowledges() &&
    ledger.plans().some(({ requirement }) => requirement.presumesAcknowledgement)

  const runCase = Effect.fnUntraced(function* (one: Case, alone: boolean, where = occasionOf(one.title)) {
    if (ledger.has(one) || (!isNeededControl(one) && !ledger.isAskedFor(one))) return
    yield* means.progress(one.title)
    const { broke, trace } = yield* execute(one.history, setting, where)
    const { lane, title } = one
    ledger.add({ title, lane, alone, trace, whole: broke === null, settled: probe === null, repeats: [] })
    if (!alone) {
      late += trace.attempts.filter(
        ({ exchange, kind }) => kind === "delivery" && leastElapsed(exchange) > terms.deadline
      ).length
    }
    if (broke !== null) return yield* broke
  })

  const confirm = Effect.fnUntraced(function* (place: number) {
    for (let tries = 0; tries < maxRepeats; tries++) {
      const run = ledger.runs()[place]
      if (run === undefined || !ledger.isWorthRepeating(place)) return
      yield* means.progress(`${run.title}, again`)
      const { broke, trace } = yield* execute(run.trace.history, setting, occasionOf(run.title))
      const [seen = trace] = run.settled && probe !== null ? yield* observe([trace]) : [trace]
      ledger.replace(place, { ...run, repeats: [...run.repeats, seen] })
      if (broke !== null) return yield* broke
    }
  })

  const runOnce = Effect.fnUntraced(function* (
    batch: Batch,
    cases: ReadonlyArray<Case>,
    { end, reserved }: { readonly end: number; readonly reserved: number }
  ) {
    const first = ledger.runs().length
    const firsts = new Set(batch.cases.slice(0, batch.firsts))
    const width = widths[batch.lane]
    const queue = [...cases]
    // Workers take one case at a time, so late answers can reduce a lane's concurrency while it runs.
    const worker = (index: number): Done =>
      Effect.gen(function* () {
        while (queue.length > 0) {
          const now = yield* Clock.currentTimeMillis
          if (now > end || (index > 0 && late >= lateUntilAlone)) return
          const one = queue.shift()
          // A requirement's second case must leave time for the first cases of other requirements.
          if (one !== undefined && !firsts.has(one) && now > end - reserved) continue
          const fillerTime =
            batch.lane === "last" ? Math.max(0, end - now) : maxTime * (width === 1 ? fillerShareAlone : fillerShare)
          if (one !== undefined) yield* runCase(one, width === 1, occasionOf(one.title, Effect.void, fillerTime))
        }
      })
    yield* Effect.forEach(
      Array.from({ length: width }, (_, index) => index),
      worker,
      { concurrency: "unbounded", discard: true }
    )
    for (let place = first; place < ledger.runs().length; place++) yield* confirm(place)
    return ledger.runs().length > first
  })

  const calibrate = Effect.fnUntraced(function* () {
    if (probe === null || calibration !== null || !ledger.acknowledges()) return
    yield* means.progress("the probe")
    calibration = yield* calibrateProbe(probe, setting, occasionOf("the probe"), {
      bindings: options.binding,
      settle: options.settle
    })
    plan()
  })

  const isOpen = (one: Case): boolean => !ledger.has(one) && ledger.isAskedFor(one)
  const lacksFirst = ({ cases, firsts }: Batch): boolean => cases.slice(0, firsts).some(isOpen)

  /**
   * Executes a batch. Repeats it for cases that were skipped while an unconfirmed failure seemed to decide their
   * requirement.
   */
  const runBatch = Effect.fnUntraced(function* (batch: Batch, later: ReadonlyArray<Batch>) {
    const { lane, movesClock, step } = batch
    // If the receiver acknowledges nothing, more cases show nothing, and each may take a deadline.
    if (step !== "given" && !ledger.acknowledges()) return
    const now = yield* Clock.currentTimeMillis
    const isLast = lane === "last"
    const apart = movesClock || isLast
    const end = isLast
      ? begun + lastUntil(now - begun, maxTime)
      : at(movesClock || lane === "quiet" ? until.end : until[step])
    const reserved = apart ? 0 : reserveOf(later.filter(lacksFirst), step, ledger.typical(), pace)
    const asked = batch.cases.filter(isOpen)
    const time = end - reserved - now
    const fitted = apart ? asked : fitting({ ...batch, cases: asked }, time, ledger.typical(), pace)
    const cases = longestFirst(lane, fitted)
    let more = true
    while (more) more = yield* runOnce(batch, cases, { end, reserved })
  })

  /** Begins the cases of the lane `aged`, which end last. */
  const beginAged = Effect.fnUntraced(function* (aged: ReadonlyArray<Case>, done: Deferred.Deferred<void>) {
    const waiting = yield* Latch.make()
    const busy = new Set(aged)
    // Called when a case waits and when it ends. A case that is not needed, or fails early, ends without a wait.
    const waitsOrEnded = (one: Case) =>
      Effect.suspend(() => {
        busy.delete(one)
        return busy.size === 0 ? waiting.open : Effect.void
      })
    const run = (one: Case) =>
      runCase(one, true, occasionOf(one.title, Effect.andThen(waitsOrEnded(one), Deferred.await(done)))).pipe(
        Effect.ensuring(waitsOrEnded(one))
      )
    const fiber = yield* Effect.forkChild(Effect.forEach(aged, run, { concurrency: "unbounded", discard: true }))
    yield* Effect.race(waiting.await, Fiber.await(fiber))
    return fiber
  })

  /**
   * Returns the proven failures of a requirement, the easiest to explain first. Ignores failures that depend on a
   * measured time.
   */
  const failuresOf = (one: Plan) => {
    const concerned = ledger.runs().filter((run) => concerns(one, run))
    const broken = concerned
      .filter(({ lane }) => lane !== "load" && lane !== "last" && lane !== "blocking")
      .flatMap((run) => {
        const { finding, suspect, trace } = assess(one, run, concerned, terms)
        return finding.verdict === "FAIL" && !suspect && !finding.timing ? [{ finding, run, trace }] : []
      })
    const strong = broken.filter(({ finding }) => finding.strength === one.requirement.strength)
    return easiestFirst(strong.length > 0 ? strong : broken)
  }

  const refineAll = Effect.fnUntraced(function* (share: number) {
    const end = Math.min((yield* Clock.currentTimeMillis) + maxTime * refineShare, at(share))
    const patience = Math.max(1_000, 5 * (calibration?.lag ?? 0))
    const tryOut = tryOutWith(setting, occasionOf("a failure, again"), reader, patience)
    /** Returns false if no more failures can be repeated: the time is up, or the receiver can't be used. */
    const refineNext = Effect.fnUntraced(function* (one: Plan, { run, trace }: ReturnType<typeof failuresOf>[number]) {
      const now = yield* Clock.currentTimeMillis
      if (now >= end) return false
      yield* means.progress(`${run.title}, again`)
      const path = one.sampled.find(({ history }) => keyOf(history) === keyOf(trace.history))?.path
      const refined = yield* refine(
        {
          requirement: one.requirement.id,
          trace,
          drawn: path === undefined ? null : { samples: one.requirement.sampled, seed: options.seed, path },
          bindings: options.binding,
          fails: (again) => assess(one, { ...run, trace: again, repeats: [] }, [], terms).finding.verdict === "FAIL"
        },
        tryOut,
        { shrink: now + (end - now) * shrinkShare, confirm: now + (end - now) * confirmShare }
      ).pipe(Effect.timeoutOption(end - now))
      if (Option.isNone(refined) || refined.value.confirmed.tried === 0) return false
      refinements.push(refined.value)
      return true
    })
    const broken = ledger.plans().map((one) => ({ one, failures: failuresOf(one) }))
    for (let round = 0; round < mostRefined; round++) {
      for (const { failures, one } of broken) {
        const next = nextRepeated(failures, refinements, one.requirement.id)
        if (next !== undefined && !(yield* refineNext(one, next))) return
      }
    }
  })

  const runAll: Done = Effect.gen(function* () {
    if (probe?.seen !== undefined) earlier = new Set(yield* probe.seen)
    yield* Effect.forEach(controls, (one) => runCase(one, true), { discard: true })
    yield* calibrate()
    const batches = scheduleOf(ledger.plans())
    const once = batches.filter(({ lane }) => lane !== "aged")
    // Given batches run twice: the second time for cases that had to leave time for others.
    const directed = once.filter(
      ({ lane, movesClock, step }) => step === "given" && !lanesApart.has(lane) && !movesClock
    )
    const others = [...directed, ...once]
    const allElseDone = yield* Deferred.make<void>()
    const fiber = yield* beginAged(
      batches.flatMap(({ cases, lane }) => (lane === "aged" ? cases : [])),
      allElseDone
    )
    let givenDone = yield* Clock.currentTimeMillis
    let before: Batch | null = null
    const clock = others.filter(({ movesClock }) => movesClock)
    for (const [place, batch] of others.entries()) {
      yield* calibrate()
      if (batch.movesClock || !batch.cases.some(isOpen)) continue
      const isOther = before !== null && (settling[before.lane] !== settling[batch.lane] || before.step !== batch.step)
      if (isOther || batch.endsReceiver) yield* settleAll()
      // The last lanes take long, so failures are refined before them.
      if (lanesApart.has(batch.lane) && before !== null && !lanesApart.has(before.lane)) yield* refineAll(until.given)
      if (batch.step === "given" && !lanesApart.has(batch.lane) && !batch.endsReceiver)
        givenDone = yield* Clock.currentTimeMillis
      yield* runBatch(batch, others.slice(place + 1))
      before = batch
    }
    yield* settleAll()
    // The `aged` cases are still waiting, and cases that move the clock also need time.
    yield* lookForLate(givenDone, clock.length > 0 ? until.beforeClock : until.end)
    yield* Deferred.succeed(allElseDone, undefined)
    yield* Fiber.join(fiber)
    for (const [place] of ledger.runs().entries()) yield* confirm(place)
    yield* settleAll()
    for (const batch of clock) yield* runBatch(batch, [])
    yield* settleAll()
    yield* lookAgain()
    yield* refineAll(until.end)
  })

  const ended = (how: Ended["how"], message = ""): Ended => ({ how, message })

  return {
    run: reach(means.urls[0], options.deadline).pipe(
      Effect.andThen(runAll),
      Effect.as(ended("complete")),
      Effect.timeoutOrElse({
        duration: Math.max(1, at(1) - begun),
        orElse: () => Effect.succeed(ended("time_up"))
      }),
      Effect.catchTags({
        ProbeUnusable: ({ message }) => Effect.succeed(ended("probe_unusable", message)),
        TargetUnusable: ({ message, stayedDown }) =>
          Effect.succeed(ended(stayedDown === true ? "stayed_down" : "target_unusable", message))
      })
    ),
    evidence: (how, durationMs) => ({
      suite,
      options: shown(options),
      terms,
      given,
      hooks: means.hooks.names,
      repeatable: means.repeatable,
      echo: measured.echo,
      startedAt: isoOf(measured.startedAt),
      durationMs,
      calibration,
      ended: how,
      runs: ledger.runs(),
      interventions: setting.interventions,
      refinements,
      strangers
    })
  }
})
