/**
 * A run of the suite against one receiver: which cases are executed, in which order, and when to stop.
 *
 * First the probe is calibrated. Then lane after lane is executed: what must be timed alone, what may run side by side,
 * what disturbs the receiver, what may block it, what stops it, what ends it, and last what moves its clock; first the directed cases of every requirement,
 * then those drawn from the seed. After each lane, and before the receiver is ended, it settles, once for all events of the
 * lane, and their effects are read. A case that several requirements ask for is executed once. A requirement that is decided
 * asks for nothing more, so that a receiver that hangs costs a few deadlines and not one for each case. What may have been
 * an accident is repeated, alone.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Deferred, Effect, Fiber, Latch, Option } from "effect"
import type { Terms } from "../checks/Terms.ts"
import type { Case, Lane } from "../history/History.ts"
import type { Probe, ProbeUnusable } from "../probes/Probe.ts"
import { ordinaryCases } from "../requirements/Ordinary.ts"
import { budget } from "./Budget.ts"
import { execute } from "./Execute.ts"
import type { CaseRun, Ended, Plan } from "./Judgement.ts"
import { maxRepeats } from "./Judgement.ts"
import type { Ledger } from "./Ledger.ts"
import { makeLedger } from "./Ledger.ts"
import { Minting } from "./Minting.ts"
import { distinct } from "./Plans.ts"
import { calibrateProbe } from "./ProbeCalibration.ts"
import type { ProbeCalibration } from "./ProbeCalibration.ts"
import type { Setting } from "./Setting.ts"
import { urlsOf } from "./Setting.ts"
import { lacksEffects, patienceFor, readAgain, settle } from "./Settle.ts"
import { strangersAmong } from "./Strangers.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import type { Trace } from "../observed/Trace.ts"

export interface SessionOptions {
  readonly setting: Omit<Setting, "typical" | "allElseDone" | "startedAfter" | "clock">
  readonly terms: Terms
  /** How long the run may take, in milliseconds. */
  readonly maxTime: number
  /** How long effects are waited for, in milliseconds. */
  readonly settle: number
  readonly probe: Probe | null
  readonly plans: (digest: boolean) => ReadonlyArray<Plan>
  /** What must hold before anything is sent; its time counts. */
  readonly preflight: Effect.Effect<void, TargetUnusable>
  /** Told what is being done, for whoever watches. */
  readonly progress: (what: string) => Effect.Effect<void>
  /** Makes a failure that a random history brought out shorter; its time is limited. */
  readonly refine: (session: Session, setting: Setting, until: number) => Effect.Effect<void, never, Minting | Crypto>
}

export interface Session {
  /** Executes until everything is decided, the time is up or the receiver is gone. */
  readonly run: Effect.Effect<Ended, never, Minting | Crypto>
  readonly ledger: () => Ledger
  readonly plans: () => ReadonlyArray<Plan>
  readonly calibration: () => ProbeCalibration | null
  /** Ids of events that took effect meanwhile and were sent by somebody else, as far as the probe shows. */
  readonly strangers: () => ReadonlyArray<string>
  /** Reads the effects of traces; the same traces where there is no probe. */
  readonly observe: (
    traces: ReadonlyArray<Trace>,
    patience?: number
  ) => Effect.Effect<ReadonlyArray<Trace>, ProbeUnusable>
}

/** Histories at once, by lane. Doorhook itself sends ten requests at once to one integration, at most. */
const concurrencyOf: Readonly<Record<Lane, number>> = {
  timing: 1,
  state: 8,
  disturbed: 4,
  blocking: 1,
  load: 1,
  operated: 1,
  aged: 8
}

/** Cases of a lane that are executed together. */
interface Stage {
  readonly lane: Lane
  /** Whether the receiver may be ended: what it only has in memory is gone afterwards, whichever case it is from. */
  readonly mayEnd: boolean
  /** Whether its clock is moved: afterwards, all that it knew is days old, and a restart may take it back. */
  readonly movesClock: boolean
}

/** In which order histories are executed. */
const stages: ReadonlyArray<Stage> = [
  ...(["timing", "state", "disturbed", "blocking", "load", "operated"] as const).map((lane) => ({
    lane,
    mayEnd: false,
    movesClock: false
  })),
  { lane: "operated", mayEnd: true, movesClock: false }
]

/** What is executed when all else is done. */
const lastStage: Stage = { lane: "operated", mayEnd: false, movesClock: true }

const movesClockOf = ({ history }: Case): boolean => history.ops.some(({ k }) => k === "advance")

const endsReceiver = ({ history }: Case): boolean => history.ops.some(({ k }) => k === "restart" || k === "kill_amid")

/** All that was executed of a case: its repeats have effects like the first. */
const tracesOf = ({ repeats, trace }: CaseRun): ReadonlyArray<Trace> => [trace, ...repeats]

/** After so many answers that were late side by side, histories are executed one by one. */
const lateUntilAlone = 3

/** A settling time that was waited for in vain is not waited for again in full. */
const impatience = 0.3

/** Ordinary cases that are tried before a receiver counts as acknowledging nothing. */
const controls = ordinaryCases.slice(0, 2)

export const make = (options: SessionOptions): Session => {
  const { maxTime, preflight, probe, progress, terms } = options
  let plans = options.plans(false)
  let ledger = makeLedger(plans, terms)
  let calibration: ProbeCalibration | null = null
  let settleTime = options.settle
  let late = 0
  /** When what is always done was done, in milliseconds since the epoch: but for what waits itself, or ends the receiver. */
  let directedDone = 0
  const startedAfter: Setting["startedAfter"] = new Set()
  const clock: Setting["clock"] = { ahead: 0 }

  const setting = (allElseDone: Effect.Effect<void>): Setting => ({
    ...options.setting,
    allElseDone,
    startedAfter,
    clock,
    typical: () => ledger.typical()
  })
  const usual = setting(Effect.void)

  const endpoints = urlsOf(options.setting)

  const observe: Session["observe"] = Effect.fnUntraced(function* (traces, patience = settleTime) {
    if (probe === null || calibration === null || traces.length === 0) return traces
    const seen = yield* settle(
      traces,
      probe,
      terms,
      patienceFor(probe, calibration, Math.min(patience, options.settle)),
      endpoints
    )
    if (!seen.complete) settleTime = Math.min(settleTime, Math.max(2_000, options.settle * impatience))
    return seen.traces
  })

  /** Whose effects the probe showed before anything was sent. */
  let earlier: ReadonlySet<string> = new Set()
  let strangers: ReadonlyArray<string> = []

  const lookForStrangers = Effect.fnUntraced(function* () {
    if (probe?.seen === undefined) return
    const minting = yield* Minting
    const now = (yield* probe.seen).filter((id) => !earlier.has(id))
    strangers = strangersAmong(now, yield* minting.handedOut)
  })

  /** Puts what was read of some traces in their places. */
  const keep = (meant: ReadonlyArray<Trace>, seen: ReadonlyArray<Trace>): void => {
    const readOf = new Map(meant.map((trace, index) => [trace, seen[index] ?? trace]))
    for (const [place, run] of ledger.runs().entries()) {
      if (!tracesOf(run).some((one) => readOf.has(one))) continue
      const [trace = run.trace, ...repeats] = tracesOf(run).map((one) => readOf.get(one) ?? one)
      ledger.replace(place, { ...run, trace, repeats, settled: true })
    }
  }

  /** Reads the effects of some traces, and keeps what was read. */
  const observeRuns = Effect.fnUntraced(function* (isMeant: (run: CaseRun, trace: Trace) => boolean) {
    if (calibration === null) return
    const meant = ledger.runs().flatMap((run) => tracesOf(run).filter((trace) => isMeant(run, trace)))
    keep(meant, yield* observe(meant))
  })

  const settleAll = Effect.fnUntraced(function* () {
    yield* observeRuns(({ settled }) => !settled)
    yield* lookForStrangers()
  })

  /** What had not shown in its time may have by now: late is not lost. */
  const lookAgain = () => observeRuns(({ settled }, trace) => settled && lacksEffects(trace, terms))

  /**
   * Effects that come late, when an event has long had its one: looked for once, at the end, when the settling time has
   * passed since what is always done. Other cases usually take that long.
   */
  const lookForLate = Effect.fnUntraced(function* (until: number) {
    if (probe === null || calibration === null) return
    if (!plans.some(({ requirement }) => requirement.needs.includes("effects"))) return
    const meant = ledger.runs().flatMap((run) => (run.settled ? tracesOf(run) : []))
    const due = Math.min(directedDone + Math.min(options.settle, maxTime * budget.late), until)
    yield* progress("late effects")
    yield* Effect.sleep(Math.max(0, due - (yield* Clock.currentTimeMillis)))
    const seen = yield* readAgain(meant, probe, terms, patienceFor(probe, calibration, 0), endpoints).pipe(
      Effect.timeoutOption(Math.max(0, until - (yield* Clock.currentTimeMillis)))
    )
    if (Option.isSome(seen)) keep(meant, seen.value)
  })

  const isNeededControl = (one: Case): boolean =>
    controls.includes(one) &&
    !ledger.acknowledges() &&
    plans.some(({ requirement }) => requirement.presumesAcknowledgement)

  const record = (one: Case, alone: boolean, trace: Trace, whole: boolean): CaseRun => ({
    case: one,
    alone,
    trace,
    whole,
    settled: probe === null,
    repeats: []
  })

  const runCase = Effect.fnUntraced(function* (one: Case, alone: boolean, where = usual) {
    if (ledger.has(one) || (!isNeededControl(one) && !ledger.isAskedFor(one))) return
    yield* progress(one.title)
    const { broke, trace } = yield* execute(one.history, where)
    ledger.add(record(one, alone, trace, broke === null))
    if (!alone)
      late += trace.attempts.filter(
        ({ exchange, kind }) => kind === "delivery" && exchange.elapsed > terms.deadline
      ).length
    if (broke !== null) return yield* broke
  })

  const confirm = Effect.fnUntraced(function* (place: number) {
    for (let tries = 0; tries < maxRepeats; tries++) {
      const run = ledger.runs()[place]
      if (run === undefined || !ledger.isWorthRepeating(place)) return
      yield* progress(`${run.case.title}, again`)
      const { broke, trace } = yield* execute(run.case.history, usual)
      const [seen = trace] = run.settled && probe !== null ? yield* observe([trace]) : [trace]
      ledger.replace(place, { ...run, repeats: [...run.repeats, seen] })
      if (broke !== null) return yield* broke
    }
  })

  const runOnce = Effect.fnUntraced(function* (lane: Lane, cases: ReadonlyArray<Case>, until: number) {
    const first = ledger.runs().length
    const width = concurrencyOf[lane]
    const queue = [...cases]
    // Taken one by one, so that a lane can be narrowed while it runs.
    const worker = (index: number): Effect.Effect<void, TargetUnusable, Minting | Crypto> =>
      Effect.gen(function* () {
        while (queue.length > 0) {
          if ((yield* Clock.currentTimeMillis) > until) return
          if (index > 0 && late >= lateUntilAlone) return
          const one = queue.shift()
          if (one !== undefined) yield* runCase(one, width === 1)
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

  /** Executes a stage. What was not asked for while something was suspected is, once that has come to nothing. */
  const runStage = Effect.fnUntraced(function* (stage: Stage, cases: ReadonlyArray<Case>, until: number) {
    const { lane, mayEnd, movesClock } = stage
    const ofStage = cases.filter(
      (one) => one.lane === lane && (mayEnd || !endsReceiver(one)) && movesClockOf(one) === movesClock
    )
    let more = true
    while (more) more = yield* runOnce(lane, ofStage, until)
  })

  const calibrate = Effect.fnUntraced(function* () {
    if (probe === null) return
    yield* progress("the probe")
    if (probe.seen !== undefined) earlier = new Set(yield* probe.seen)
    calibration = yield* calibrateProbe(probe, usual, options.settle)
    plans = options.plans(calibration?.digest ?? false)
    ledger = makeLedger(plans, terms)
  })

  /** Begins what is to be ended last. */
  const beginAged = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>, done: Deferred.Deferred<void>) {
    const aged = cases.filter(({ lane }) => lane === "aged")
    const waiting = yield* Latch.make()
    const busy = new Set(aged)
    // Some are not asked for, or end before they wait.
    const waitsOrEnded = (one: Case) =>
      Effect.suspend(() => {
        busy.delete(one)
        return busy.size === 0 ? waiting.open : Effect.void
      })
    const run = (one: Case) =>
      runCase(one, true, setting(Effect.andThen(waitsOrEnded(one), Deferred.await(done)))).pipe(
        Effect.ensuring(waitsOrEnded(one))
      )
    const fiber = yield* Effect.forkChild(Effect.forEach(aged, run, { concurrency: "unbounded", discard: true }))
    yield* Effect.race(waiting.await, Fiber.await(fiber))
    return fiber
  })

  const runAll = Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    yield* calibrate()
    const directed = distinct([...controls, ...plans.flatMap((plan) => plan.directed)])
    const known = new Set(directed)
    const sampled = distinct([...directed, ...plans.flatMap((plan) => plan.sampled)]).filter((one) => !known.has(one))
    const lastBegin = begun + maxTime * budget.beginUntil
    yield* Effect.forEach(controls, (one) => runCase(one, true), { discard: true })
    const allElseDone = yield* Deferred.make<void>()
    const fiber = yield* beginAged(directed, allElseDone)
    const others = directed.filter((one) => !controls.includes(one))
    for (const stage of stages) {
      yield* runStage(stage, others, lastBegin)
      if (!stage.mayEnd) directedDone = yield* Clock.currentTimeMillis
      yield* settleAll()
    }
    // What is drawn comes after all that is always done. More of the same says nothing more of a receiver that
    // acknowledges nothing, and may take a deadline each.
    const drawUntil = begun + maxTime * budget.randomUntil
    for (const stage of stages) {
      if (stage.mayEnd) yield* settleAll()
      if (ledger.acknowledges()) yield* runStage(stage, sampled, drawUntil)
    }
    yield* settleAll()
    yield* Deferred.succeed(allElseDone, undefined)
    yield* Fiber.join(fiber)
    for (const [place] of ledger.runs().entries()) yield* confirm(place)
    yield* settleAll()
    const end = begun + maxTime * budget.endUntil
    yield* lookForLate(end)
    yield* runStage(lastStage, others, end)
    yield* settleAll()
    yield* lookAgain()
    const until = Math.min((yield* Clock.currentTimeMillis) + maxTime * budget.refine, end)
    yield* options.refine(session, usual, until)
  })

  const ended = (how: Ended["how"], message = ""): Ended => ({ how, message })

  const session: Session = {
    run: preflight.pipe(
      Effect.andThen(runAll),
      Effect.as(ended("complete")),
      Effect.timeoutOrElse({ duration: maxTime, orElse: () => Effect.succeed(ended("time_up")) }),
      Effect.catchTags({
        ProbeUnusable: ({ message }) => Effect.succeed(ended("probe_unusable", message)),
        TargetUnusable: ({ message, stayedDown }) =>
          Effect.succeed(ended(stayedDown === true ? "stayed_down" : "target_unusable", message))
      })
    ),
    ledger: () => ledger,
    plans: () => plans,
    calibration: () => calibration,
    strangers: () => strangers,
    observe
  }
  return session
}
