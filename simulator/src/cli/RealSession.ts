/**
 * `simulate run` in real time.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit } from "effect"
import { Measurements } from "../results/Measurements.ts"
import type { RunKind } from "../results/Figures.ts"
import { makeReport } from "../results/RunReport.ts"
import { progressLine, summaryLine, summaryText } from "../results/RunText.ts"
import { duration } from "../results/Format.ts"
import { RunClock, run } from "../run/Run.ts"
import { destinationOf } from "./Destination.ts"
import { serveMetrics } from "./LiveMetrics.ts"
import { showProgress, untilSecondSignal } from "./Progress.ts"
import type { RunSettings } from "./ReadRun.ts"
import { writeReports } from "./ReportFiles.ts"
import { factsOf, failureOf, firstMiss } from "./RunEnd.ts"
import type { RunTexts } from "./RunFlags.ts"

/** Length of a run, in milliseconds, above which the command suggests faster settings. */
const patience = 60_000

/** Speed that the command suggests for slower runs. */
const hurry = 60

/** Describes how long the run takes and, for long runs, which flags would make it faster. */
const lengthText = (millis: number, grace: number, speed: number, kind: RunKind, isProfile: boolean): string => {
  const length = `it takes ${duration(millis)}, and up to ${duration(grace)} more for open deliveries`
  if (millis <= patience || isProfile) return length
  const faster = `${speed < hurry ? `--speed ${hurry}x or ` : ""}--as-fast-as-possible is faster`
  return `${length}; ${faster}${kind === "in-process" ? ", --virtual takes moments" : ""}`
}

export const realSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { grace, load, seed, slos, speed, target } = settings
  const { kind } = target
  const measurements = new Measurements(settings.warmUp)
  const span = load.end - load.beginning
  const clock = new RunClock(load.beginning, speed)
  const destination = yield* destinationOf(settings, measurements, clock)
  if (settings.metricsAddress !== null) yield* serveMetrics(settings.metricsAddress, () => measurements)
  const isProfile = texts.rate._tag === "Some" || texts.stages._tag === "Some"
  const pace = speed === null ? "as fast as possible" : isProfile ? "at its own rates" : `${speed}x`
  for (const note of load.notes) yield* Console.log(note)
  yield* Console.log(
    `${load.name} ${destination.name}, ${duration(load.duration)} from ${load.start}, seed ${seed}, ${pace}`
  )
  if (speed !== null) yield* Console.log(lengthText(span / speed, grace, speed, kind, isProfile))

  const startedAt = yield* Clock.currentTimeMillis
  let phase: string | null = null
  const line = Effect.map(Clock.currentTimeMillis, (now) => {
    const elapsed = now - startedAt
    const share = speed === null ? null : (elapsed * speed) / span
    const place = duration(speed === null ? elapsed : Math.min(elapsed * speed, span))
    return progressLine({ share, elapsed, place, measured: measurements, phase })
  })
  const { accepted } = destination
  const running = run(
    load.arrivals(seed),
    {
      target: destination.target,
      clock,
      maxInFlight: settings.maxInFlight,
      batch: settings.batch,
      ...(accepted === undefined ? {} : { accepted })
    },
    measurements
  )
  const watched = Effect.raceFirst(
    Effect.as(Effect.raceFirst(running, showProgress(line)), null),
    firstMiss(settings, measurements, () => destination.judged().broken)
  )
  // The report is always written: at the end of the run, after a failure and after Ctrl-C.
  yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(restore(watched))
      const sent = yield* Clock.currentTimeMillis
      measurements.isLoading = false
      const isCutShort = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      const hasFailed = Exit.isFailure(exit) && !isCutShort
      const stoppedBy = Exit.isSuccess(exit) ? exit.value : null
      if (isCutShort) yield* Console.log("\nstopping: waiting for open deliveries; Ctrl-C again ends the wait")
      if (stoppedBy !== null) yield* Console.log(`\nstopping: ${stoppedBy} is missed`)
      phase = "waiting for open deliveries"
      const waited = yield* Effect.exit(
        untilSecondSignal(Effect.raceFirst(destination.settle(grace), Effect.ignore(showProgress(line))))
      )
      const isWaitCutShort = Exit.isSuccess(waited) && waited.value
      const facts = factsOf(settings, texts, {
        target: destination.name,
        seed,
        began_at: new Date(speed === null ? startedAt : clock.beginning).toISOString()
      })
      const report = makeReport({
        facts: kind === "service" ? { ...facts, integrations: measurements.integrations.size } : facts,
        measurements,
        slos,
        crashes: 0,
        took: (yield* Clock.currentTimeMillis) - startedAt,
        sending: clock.began === null ? 0 : sent - clock.began,
        interrupted: isCutShort || isWaitCutShort,
        stopped_by: stoppedBy,
        failed: hasFailed || Exit.isFailure(waited),
        ...destination.judged()
      })
      const { lastFailure } = measurements
      // Prints no summary if the run failed before it began, because all its figures would be zero.
      if (!hasFailed || clock.began !== null) yield* Console.log(summaryText(report, lastFailure))
      const silence = destination.silence()
      if (silence !== null && report.totals.accepted > 0)
        yield* Console.log(summaryLine("unknown", `outcome of the events: ${silence}`))
      yield* writeReports(settings.reports, report)
      yield* Exit.asVoidAll([exit, waited])
      if (isWaitCutShort) return yield* Effect.interrupt
      const isSigned = target.kind === "receiver" && target.secret !== null
      const failure = failureOf(report, { lastFailure, silence, isSigned })
      if (failure !== null) return yield* failure
    })
  ).pipe(Effect.catchTag("RunStopped", ({ message }) => Effect.fail(new CommandFailure({ message, exitCode: 1 }))))
}, Effect.scoped)
