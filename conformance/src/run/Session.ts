/**
 * A run against one receiver: calibrates, executes batch after batch, waits for effects and reads them, and repeats
 * failures that may have been accidents. A decided requirement gets no more cases. The run gathers evidence;
 * `record/Outcome.ts` judges it.
 *
 * Cases that wait for all other cases begin first and end last. Consecutive batches share one wait for effects. Effects
 * are read before a batch that may end the receiver, and before a batch of another group or step.
 */
import { isoOf } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Deferred, Effect, Fiber, Latch, Option } from "effect"
import { leastElapsed } from "../evidence/Exchange.ts"
import type { Trace } from "../evidence/Trace.ts"
import type { CaseContext, Setting } from "../execution/Execution.ts"
import { execute } from "../execution/Perform.ts"
import type { TargetUnusable } from "../execution/Send.ts"
import type { EventFactory } from "../history/Events.ts"
import type { Case, History } from "../history/History.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import type { ProbeUnusable } from "../probes/Probe.ts"
import { nextRepeated, suite, tracesOf } from "../record/Evidence.ts"
import type { CaseRun, Ended, Evidence, ProbeCalibration, Reproduction } from "../record/Evidence.ts"
import { shown } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { assess, easiestFirst, maxRepeats, plansOf, sightOf } from "../record/Outcome.ts"
import type { Assessment, Plan } from "../record/Outcome.ts"
import type { Need } from "../requirements/Requirement.ts"
import { CaseLog } from "./CaseLog.ts"
import { awaitEffects, lacksEffects, rereadEffects } from "./EffectReading.ts"
import type { Reader } from "./EffectReading.ts"
import {
  extension,
  fitting,
  lanesApart,
  lastUntil,
  leastTimes,
  longestFirst,
  reserveOf,
  scheduleOf,
  timeShares,
  waitGroups,
  widths
} from "./Schedule.ts"
import type { Batch } from "./Schedule.ts"
import {
  calibrateProbe,
  controlsOf,
  givenBy,
  paceOf,
  measureGuard,
  readerOf,
  settingOf,
  termsOf,
  upToNow
} from "./Setup.ts"
import type { Guard } from "./Setup.ts"
import { reproduce } from "./Shrink.ts"
import { reach } from "./Target.ts"

/** The guard for late answers (see `Setup.ts`), and the start of the run in milliseconds since the epoch. */
interface Measured extends Guard {
  readonly startedAt: number
}

type Done<A = void> = Effect.Effect<A, TargetUnusable | ProbeUnusable, EventFactory | Crypto>

/** Number of late answers to concurrent histories after which histories run one by one. */
const lateUntilAlone = 3

/** Maximum number of failures of a requirement that are repeated at a time, until one recurs every time. */
const mostRefined = 3

const { until } = timeShares

/** A proven failure of a requirement. */
interface Failure extends Pick<Assessment, "finding" | "trace"> {
  readonly run: CaseRun
}

/** When a batch ends in milliseconds since the epoch, and how much of that time is reserved for later batches. */
interface BatchTime {
  readonly end: number
  readonly reserved: number
}

export class Session {
  readonly #options: Options
  readonly #means: Means
  readonly #measured: Measured
  readonly #setting: Setting
  readonly #given: ReadonlyArray<Need>
  readonly #log: CaseLog
  /** The simplest cases. They run even if no requirement needs them, until one is acknowledged. */
  readonly #controls: ReadonlyArray<Case>
  readonly #reproductions: Array<Reproduction> = []
  #calibration: ProbeCalibration | null = null
  /** Current wait for effects, in milliseconds. */
  #patience: number
  /** Number of late answers to concurrent histories. */
  #late = 0

  private constructor(options: Options, means: Means, measured: Measured, setting: Setting, log: CaseLog) {
    this.#options = options
    this.#means = means
    this.#measured = measured
    this.#setting = setting
    this.#given = givenBy(options, means)
    this.#log = log
    this.#controls = controlsOf(options)
    this.#patience = options.settle
    this.#plan()
  }

  /** Measures how accurately this machine can time an answer. Sends nothing yet. */
  static readonly make = Effect.fnUntraced(function* (options: Options, given: Means): Effect.fn.Return<Session> {
    const startedAt = yield* Clock.currentTimeMillis
    const measured = { ...(yield* measureGuard), startedAt }
    const means: Means = { ...given, probe: options.level >= 2 ? given.probe : null }
    const criteria = termsOf(options, measured)
    const log = new CaseLog(criteria)
    const setting = yield* settingOf(options, means, criteria, {
      pace: means.pace ?? paceOf(options.maxTime),
      typical: () => log.typical
    })
    return new Session(options, means, measured, setting, log)
  })

  get guard(): Guard {
    return this.#measured
  }

  get criteria(): Criteria {
    return this.#setting.criteria
  }

  /** Null without a probe, and until the receiver has acknowledged an event. */
  get calibration(): ProbeCalibration | null {
    return this.#calibration
  }

  get acknowledges(): boolean {
    return this.#log.acknowledges
  }

  /** What the run can see and do. */
  get sight(): ReadonlySet<Need> {
    return sightOf({ given: this.#given, calibration: this.#calibration })
  }

  /** Reaches the receiver, sends the simplest events until one is acknowledged, and calibrates the probe. */
  get prepare(): Done {
    return Effect.gen({ self: this }, function* () {
      yield* reach(this.#means.urls[0], this.#options.deadline)
      yield* Effect.forEach(this.#controls, (one) => this.#runCase(one, true), { discard: true })
      yield* this.#calibrate()
    })
  }

  /** Executes a history alone and reads its effects, for up to `patience` milliseconds. */
  tryOut(history: History, context: CaseContext, patience: number): Done<Trace> {
    return Effect.gen({ self: this }, function* () {
      const { broke, trace } = yield* execute(history, this.#setting, context)
      // A receiver that did not start again has no effects to read.
      if (broke?.stayedDown === true) return trace
      if (broke !== null) return yield* broke
      const reader = this.#reader()
      if (reader === null) return trace
      const [seen = trace] = (yield* awaitEffects([trace], reader, patience)).traces
      return upToNow(seen, this.#setting)
    })
  }

  /** Executes until everything is decided, the time is up or the receiver is gone. */
  get run(): Effect.Effect<Ended, never, EventFactory | Crypto> {
    const ended = (how: Ended["how"], message = ""): Ended => ({ how, message })
    return this.prepare.pipe(
      Effect.andThen(this.#runAll()),
      Effect.as(ended("complete")),
      Effect.raceFirst(Effect.as(this.#timeIsUp(), ended("time_up"))),
      Effect.catchTags({
        ProbeUnusable: ({ message }) => Effect.succeed(ended("probe_unusable", message)),
        TargetUnusable: ({ message, stayedDown }) =>
          Effect.succeed(ended(stayedDown === true ? "stayed_down" : "target_unusable", message))
      })
    )
  }

  /** Returns the evidence gathered so far. `ended` says how the run ended. */
  evidence(ended: Ended): Effect.Effect<Evidence> {
    return Effect.map(Clock.currentTimeMillis, (now) => ({
      suite,
      options: shown(this.#options),
      criteria: this.criteria,
      given: this.#given,
      hooks: this.#means.hooks.names,
      repeatable: this.#means.repeatable,
      echo: this.#measured.echo,
      startedAt: isoOf(this.#measured.startedAt),
      durationMs: now - this.#measured.startedAt,
      calibration: this.#calibration,
      ended,
      runs: this.#log.runs,
      interventions: this.#setting.interventions,
      reproductions: this.#reproductions
    }))
  }

  #runAll(): Done {
    return Effect.gen({ self: this }, function* () {
      const batches = scheduleOf(this.#log.plans)
      const aged = batches.flatMap(({ cases, lane }) => (lane === "aged" ? cases : []))
      const once = batches.filter(({ lane }) => lane !== "aged")
      const clock = once.filter(({ movesClock }) => movesClock)
      // Given batches run twice: the second time for cases that had to leave time for others.
      const directed = once.filter(
        ({ lane, movesClock, step }) => step === "given" && !lanesApart.has(lane) && !movesClock
      )
      const allElseDone = yield* Deferred.make<void>()
      const fiber = yield* this.#beginAged(aged, allElseDone)
      const givenDone = yield* this.#runBatches([...directed, ...once])
      yield* this.#readAll()
      // The `aged` cases are still waiting, and cases that move the clock also need time.
      yield* this.#readLate(givenDone, clock.length > 0 ? until.beforeClock : until.end)
      yield* Deferred.succeed(allElseDone, undefined)
      yield* Fiber.join(fiber)
      for (const [place] of this.#log.runs.entries()) yield* this.#confirm(place)
      yield* this.#readAll()
      for (const batch of clock) yield* this.#runBatch(batch, [])
      yield* this.#readAll()
      yield* this.#readMissing()
      yield* this.#reproduceAll(until.end)
    })
  }

  /** Executes the batches that don't move the clock. Returns when the last given case ended. */
  #runBatches(batches: ReadonlyArray<Batch>): Done<number> {
    return Effect.gen({ self: this }, function* () {
      let givenDone = yield* Clock.currentTimeMillis
      let before: Batch | null = null
      for (const [place, batch] of batches.entries()) {
        yield* this.#calibrate()
        if (batch.movesClock || !batch.cases.some((one) => this.#isOpen(one))) continue
        const isOther =
          before !== null && (waitGroups[before.lane] !== waitGroups[batch.lane] || before.step !== batch.step)
        if (isOther || batch.endsReceiver) yield* this.#readAll()
        const isApart = lanesApart.has(batch.lane)
        // The last lanes take long, so failures are reproduced before them.
        if (isApart && before !== null && !lanesApart.has(before.lane)) yield* this.#reproduceAll(until.given)
        if (batch.step === "given" && !isApart && !batch.endsReceiver) givenDone = yield* Clock.currentTimeMillis
        yield* this.#runBatch(batch, batches.slice(place + 1))
        before = batch
      }
      return givenDone
    })
  }

  /**
   * Executes a batch. Repeats it for cases that were skipped while an unconfirmed failure seemed to decide their
   * requirement.
   */
  #runBatch(batch: Batch, later: ReadonlyArray<Batch>): Done {
    return Effect.gen({ self: this }, function* () {
      const { lane, movesClock, step } = batch
      // If the receiver acknowledges nothing, more cases show nothing, and each may take a deadline.
      if (step !== "given" && !this.#log.acknowledges) return
      const now = yield* Clock.currentTimeMillis
      const isLast = lane === "last"
      const end = isLast
        ? this.#measured.startedAt + lastUntil(now - this.#measured.startedAt, this.#options.maxTime, this.#time)
        : this.#at(movesClock || lane === "quiet" ? until.end : until[step])
      const asked = batch.cases.filter((one) => this.#isOpen(one))
      const { pace, slots } = this.#setting
      const speed = { answer: this.#log.typical, interval: slots.interval, pace }
      const lacksFirst = ({ cases, firsts }: Batch): boolean => cases.slice(0, firsts).some((one) => this.#isOpen(one))
      const isApart = movesClock || isLast
      const reserved = isApart ? 0 : reserveOf(later.filter(lacksFirst), step, speed)
      const fitted = isApart ? asked : fitting({ ...batch, cases: asked }, end - reserved - now, speed)
      const cases = longestFirst(lane, fitted)
      let more = true
      while (more) more = yield* this.#runOnce(batch, cases, { end, reserved })
    })
  }

  /** Executes the cases of a batch that are still needed. Returns whether there were any. */
  #runOnce(batch: Batch, cases: ReadonlyArray<Case>, time: BatchTime): Done<boolean> {
    return Effect.gen({ self: this }, function* () {
      const first = this.#log.runs.length
      const queue = [...cases]
      yield* Effect.forEach(
        Array.from({ length: widths[batch.lane] }, (_, index) => index),
        (index) => this.#work(batch, queue, time, index > 0),
        { concurrency: "unbounded", discard: true }
      )
      for (let place = first; place < this.#log.runs.length; place++) yield* this.#confirm(place)
      return this.#log.runs.length > first
    })
  }

  /**
   * Takes cases from a queue and executes them, one at a time. An additional worker stops when late answers show that
   * the receiver can't keep up.
   */
  #work({ cases, firsts, lane }: Batch, queue: Array<Case>, { end, reserved }: BatchTime, isAdditional: boolean): Done {
    return Effect.gen({ self: this }, function* () {
      const first = new Set(cases.slice(0, firsts))
      const isAlone = widths[lane] === 1
      for (let one = queue[0]; one !== undefined; one = queue[0]) {
        const now = yield* Clock.currentTimeMillis
        if (now > end || (isAdditional && this.#late >= lateUntilAlone)) return
        queue.shift()
        // A requirement's second case must leave time for the first cases of other requirements.
        if (!first.has(one) && now > end - reserved) continue
        const fillerTime =
          lane === "last"
            ? Math.max(0, end - now)
            : this.#options.maxTime * (isAlone ? timeShares.fillerAlone : timeShares.filler)
        yield* this.#runCase(one, isAlone, this.#contextOf(one.title, { fillerTime }))
      }
    })
  }

  #runCase(one: Case, alone: boolean, context = this.#contextOf(one.title)): Done {
    return Effect.gen({ self: this }, function* () {
      if (this.#log.has(one) || (!this.#isNeededControl(one) && !this.#log.needs(one))) return
      yield* this.#means.progress(one.title)
      const { broke, trace } = yield* execute(one.history, this.#setting, context)
      const { lane, title } = one
      const settled = this.#means.probe === null
      this.#log.add({ title, lane, alone, trace, whole: broke === null, settled, repeats: [] })
      if (!alone) {
        this.#late += trace.attempts.filter(
          ({ exchange, kind }) => kind === "delivery" && leastElapsed(exchange) > this.#setting.criteria.deadline
        ).length
      }
      if (broke !== null) return yield* broke
    })
  }

  /** Begins the cases of the lane `aged`, which end last. */
  #beginAged(aged: ReadonlyArray<Case>, done: Deferred.Deferred<void>) {
    return Effect.gen({ self: this }, function* () {
      const waiting = yield* Latch.make()
      const busy = new Set(aged)
      // Called when a case waits and when it ends. A case that is not needed, or fails early, ends without a wait.
      const waitsOrEnded = (one: Case) =>
        Effect.suspend(() => {
          busy.delete(one)
          return busy.size === 0 ? waiting.open : Effect.void
        })
      const run = (one: Case) => {
        const allElseDone = Effect.andThen(waitsOrEnded(one), Deferred.await(done))
        const context = this.#contextOf(one.title, { allElseDone })
        return Effect.ensuring(this.#runCase(one, true, context), waitsOrEnded(one))
      }
      const fiber = yield* Effect.forkChild(Effect.forEach(aged, run, { concurrency: "unbounded", discard: true }))
      yield* Effect.race(waiting.await, Fiber.await(fiber))
      return fiber
    })
  }

  /** Repeats the case of a failure that may be an accident. */
  #confirm(place: number): Done {
    return Effect.gen({ self: this }, function* () {
      for (let tries = 0; tries < maxRepeats; tries++) {
        const run = this.#log.runs[place]
        if (run === undefined || !this.#log.isWorthRepeating(place)) return
        yield* this.#means.progress(`${run.title}, again`)
        const { broke, trace } = yield* execute(run.trace.history, this.#setting, this.#contextOf(run.title))
        const [seen = trace] = run.settled && this.#means.probe !== null ? yield* this.#observe([trace]) : [trace]
        this.#log.replace(place, { ...run, repeats: [...run.repeats, seen] })
        if (broke !== null) return yield* broke
      }
    })
  }

  /** Calibrates the probe once the receiver has acknowledged an event. */
  #calibrate(): Done {
    return Effect.gen({ self: this }, function* () {
      const { probe, progress } = this.#means
      if (probe === null || this.#calibration !== null || !this.#log.acknowledges) return
      yield* progress("the probe")
      this.#calibration = yield* calibrateProbe(probe, this.#setting, this.#contextOf("the probe"), {
        bindings: this.#options.binding,
        settle: this.#options.settle
      })
      this.#plan()
    })
  }

  /** Waits for the effects of all cases whose effects were not read yet. */
  #readAll(): Effect.Effect<void, ProbeUnusable> {
    return this.#readRuns(({ settled }) => !settled)
  }

  /** Reads missing effects once more, because they may just have been late. */
  #readMissing(): Effect.Effect<void, ProbeUnusable> {
    return this.#readRuns(({ settled }, trace) => settled && lacksEffects(trace, this.#setting.criteria))
  }

  #readRuns(isMeant: (run: CaseRun, trace: Trace) => boolean): Effect.Effect<void, ProbeUnusable> {
    return Effect.gen({ self: this }, function* () {
      if (this.#calibration === null) return
      const meant = this.#log.runs.flatMap((run) => tracesOf(run).filter((trace) => isMeant(run, trace)))
      this.#keep(meant, yield* this.#observe(meant))
    })
  }

  /**
   * Reads all effects once more at the end of the run, to find late second effects, when the settling time has passed
   * since the last given case. Other cases usually fill that time.
   */
  #readLate(since: number, end: number): Effect.Effect<void, ProbeUnusable> {
    return Effect.gen({ self: this }, function* () {
      const reader = this.#reader()
      const { maxTime, settle } = this.#options
      if (reader === null) return
      if (!this.#log.plans.some(({ requirement }) => requirement.needs.includes("effects"))) return
      yield* this.#means.progress("late effects")
      const due = Math.min(since + Math.min(settle, maxTime * timeShares.lateEffects), this.#at(end))
      yield* Effect.sleep(Math.max(0, due - (yield* Clock.currentTimeMillis)))
      const meant = this.#log.runs.flatMap((run) => (run.settled ? tracesOf(run) : []))
      const left = Math.max(0, this.#at(end) - (yield* Clock.currentTimeMillis))
      const reading = rereadEffects(meant, reader, maxTime * timeShares.rereading)
      const seen = Option.getOrElse(yield* Effect.timeoutOption(reading, left), () => meant)
      this.#keep(
        meant,
        seen.map((trace, place) => (trace === meant[place] ? trace : upToNow(trace, this.#setting)))
      )
    })
  }

  /** Waits for the effects of traces. Later waits are shorter once effects were missing after a full wait. */
  #observe(traces: ReadonlyArray<Trace>): Effect.Effect<ReadonlyArray<Trace>, ProbeUnusable> {
    return Effect.gen({ self: this }, function* () {
      const reader = this.#reader()
      if (reader === null || traces.length === 0) return traces
      const seen = yield* awaitEffects(traces, reader, this.#patience)
      if (!seen.complete) {
        const shorter = Math.max(leastTimes.settle, this.#options.settle * timeShares.impatience)
        this.#patience = Math.min(this.#patience, shorter)
      }
      return seen.traces.map((trace) => upToNow(trace, this.#setting))
    })
  }

  /** Replaces traces by the same traces with effects. */
  #keep(meant: ReadonlyArray<Trace>, seen: ReadonlyArray<Trace>): void {
    const readOf = new Map(meant.map((trace, index) => [trace, seen[index] ?? trace]))
    for (const [place, run] of this.#log.runs.entries()) {
      if (!tracesOf(run).some((one) => readOf.has(one))) continue
      const [trace = run.trace, ...repeats] = tracesOf(run).map((one) => readOf.get(one) ?? one)
      this.#log.replace(place, { ...run, trace, repeats, settled: true })
    }
  }

  /** Repeats and shortens the failures of all requirements, in turns, until `share` of the run's time. */
  #reproduceAll(share: number): Done {
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const end = Math.min(now + this.#options.maxTime * timeShares.refining, this.#at(share))
      const broken = this.#log.plans.map((plan) => ({ plan, failures: this.#failuresOf(plan) }))
      for (let round = 0; round < mostRefined; round++) {
        for (const { failures, plan } of broken) {
          const next = nextRepeated(failures, this.#reproductions, plan.requirement.id)
          if (next !== undefined && !(yield* this.#reproduce(plan, next, end))) return
        }
      }
    })
  }

  /** Returns false if no more failures can be repeated: the time is up, or the receiver can't be used. */
  #reproduce(plan: Plan, { run, trace }: Failure, end: number): Done<boolean> {
    return Effect.gen({ self: this }, function* () {
      const { criteria } = this.#setting
      const now = yield* Clock.currentTimeMillis
      if (now >= end) return false
      yield* this.#means.progress(`${run.title}, again`)
      const patience = Math.max(1_000, 5 * (this.#calibration?.lag ?? 0))
      const context = this.#contextOf("a failure, again")
      const tried = yield* reproduce(
        {
          requirement: plan.requirement.id,
          trace,
          bindings: this.#options.binding,
          fails: (again) => assess(plan, { ...run, trace: again, repeats: [] }, [], criteria).finding.verdict === "FAIL"
        },
        (history) => this.tryOut(history, context, patience),
        {
          shrink: now + (end - now) * timeShares.shortening,
          confirm: now + (end - now) * timeShares.confirming
        }
      ).pipe(Effect.timeoutOption(end - now))
      if (Option.isNone(tried) || tried.value.confirmed.tried === 0) return false
      this.#reproductions.push(tried.value)
      return true
    })
  }

  /**
   * Returns the proven failures of a requirement, the easiest to explain first. Ignores failures that depend on a
   * measured time.
   */
  #failuresOf(plan: Plan): ReadonlyArray<Failure> {
    const concerned = this.#log.concerned(plan)
    const broken = concerned
      .filter(({ lane }) => lane !== "load" && lane !== "last" && lane !== "blocking")
      .flatMap((run): ReadonlyArray<Failure> => {
        const { finding, suspect, trace } = assess(plan, run, concerned, this.#setting.criteria)
        return finding.verdict === "FAIL" && !suspect && !finding.timing ? [{ finding, run, trace }] : []
      })
    const strong = broken.filter(
      ({ finding }) => finding.verdict === "FAIL" && finding.strength === plan.requirement.strength
    )
    return easiestFirst(strong.length > 0 ? strong : broken)
  }

  /** Plans the requirements for what the run can see. */
  #plan(): void {
    this.#log.plans = plansOf(this.#options, this.sight)
  }

  #reader(): Reader | null {
    return readerOf(this.#options, this.#means, this.#setting.criteria, this.#calibration)
  }

  #contextOf(title: string, more: Partial<CaseContext> = {}): CaseContext {
    const fillerTime = this.#options.maxTime * timeShares.filler
    return { title, allElseDone: Effect.void, fillerTime, ...more }
  }

  /** How long the run may take, in milliseconds. A run whose time was not set takes longer if requests are limited. */
  get #time(): number {
    const { maxTime } = this.#options
    const factor = this.#setting.slots.interval / extension.usualInterval
    return this.#means.mayExtend ? maxTime * Math.min(extension.most, Math.max(1, factor)) : maxTime
  }

  #timeIsUp(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (let left = this.#time; left > 0; left = this.#at(1) - (yield* Clock.currentTimeMillis)) {
        yield* Effect.sleep(left)
      }
    })
  }

  /** Returns the time after a share of the run, in milliseconds since the epoch. */
  #at(share: number): number {
    return this.#measured.startedAt + this.#time * share
  }

  #isOpen(one: Case): boolean {
    return !this.#log.has(one) && this.#log.needs(one)
  }

  #isNeededControl(one: Case): boolean {
    return this.#controls.includes(one) && !this.#log.acknowledges
  }
}
