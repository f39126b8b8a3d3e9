/** `simulate run --virtual`: runs the seeds, one after the other. */
import { CommandFailure } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit } from "effect"
import { Measurements } from "../results/Measurements.ts"
import { makeReport } from "../results/RunReport.ts"
import { progressLine, summaryLine, summaryText } from "../results/RunText.ts"
import { counted, duration } from "../results/Format.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import { virtualRun, VirtualWorld } from "../virtual/VirtualRun.ts"
import { serveMetrics } from "./LiveMetrics.ts"
import { showProgress } from "./Progress.ts"
import type { RunSettings } from "./ReadRun.ts"
import { writeReports } from "./ReportFiles.ts"
import { factsOf, failureOf, firstMiss } from "./RunEnd.ts"
import type { RunTexts } from "./RunFlags.ts"

/** Formats an instant as local time of the buildings, or as UTC if they are in several zones. */
const localText = (instant: number, zone: string | null): string => {
  const wall = zone === null ? instant : instant + offsetAt(instant, zone)
  return `${new Date(wall).toISOString().slice(0, 16).replace("T", " ")}${zone === null ? " UTC" : ""}`
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Runs one seed. Only the run is inside `restore`, so an interrupt ends the run but not the writing of the report. */
const runSeed = Effect.fnUntraced(function* (
  settings: RunSettings,
  texts: RunTexts,
  seed: number,
  restore: Restore,
  began: (measurements: Measurements) => void
) {
  const {
    ackTimeout,
    cpu,
    crashEvery,
    deleteEvery,
    drain,
    integrations,
    load,
    receivers,
    retry,
    slos,
    types,
    warmUp,
    workers
  } = settings
  const { beginning, end } = load
  const startedAt = yield* Clock.currentTimeMillis
  const world = new VirtualWorld({
    seed,
    beginning,
    warmUp,
    integrations,
    receivers,
    retry,
    types,
    ackTimeout,
    workers,
    cpu,
    crashEvery,
    deleteEvery
  })
  const { ledger, measurements, time } = world
  began(measurements)
  const line = Effect.map(Clock.currentTimeMillis, (now) =>
    progressLine({
      share: (time.wall - beginning) / (end - beginning),
      elapsed: now - startedAt,
      place: `${settings.seeds > 1 ? `seed ${seed}  ` : ""}${localText(time.wall, load.time_zone)}`,
      measured: measurements,
      phase: null
    })
  )
  const running = virtualRun(load.arrivals(seed), world, { end, drain })
  const exit = yield* Effect.as(Effect.raceFirst(running, showProgress(line)), null).pipe(
    Effect.raceFirst(firstMiss(settings, measurements, () => ledger.broken)),
    restore,
    Effect.catchTag("VirtualStopped", ({ message }) => Effect.fail(new CommandFailure({ message, exitCode: 1 }))),
    Effect.exit
  )
  const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  const report = makeReport({
    facts: factsOf(settings, texts, {
      target: `the real engine on virtual time, ${counted(workers, "process", "processes")} over a store in memory`,
      seed,
      began_at: new Date(beginning).toISOString()
    }),
    measurements,
    slos,
    lost: ledger.brokenIn("nothing-lost"),
    broken: ledger.broken,
    violations: ledger.violations,
    crashes: world.crashes,
    took: (yield* Clock.currentTimeMillis) - startedAt,
    sending: null,
    interrupted,
    stopped_by: Exit.isSuccess(exit) ? exit.value : null,
    failed: Exit.isFailure(exit) && !interrupted
  })
  return { report, exit }
})

/** Describes which of the completed seeds have failed. */
const seedsText = (done: number, seeds: number, failed: ReadonlyArray<number>): string => {
  const count = done === seeds ? `${seeds} completed` : `${done} of ${seeds} completed`
  if (failed.length > 0) return `${count}, failed: ${failed.join(", ")}`
  return done === 0 ? count : `${count}, all passed`
}

export const virtualSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { load, metricsAddress, seeds } = settings
  const isOneOfMany = seeds > 1
  let measurements = new Measurements()
  if (metricsAddress !== null) yield* serveMetrics(metricsAddress, () => measurements)
  for (const note of load.notes) yield* Console.log(note)
  yield* Console.log(
    `${load.name} on virtual time, ${duration(load.duration)} from ${load.start}, seed ${settings.seed}${isOneOfMany ? ` and the ${seeds - 1} after it` : ""}`
  )
  const failures = new Map<number, CommandFailure>()
  let done = 0
  const reported = Effect.fnUntraced(function* (seed: number, restore: Restore) {
    const { exit, report } = yield* runSeed(settings, texts, seed, restore, (own) => {
      measurements = own
    })
    const isFirst = seed === settings.seed
    const isTelling = (report.totals.broken ?? 0) > 0 || (isOneOfMany && report.verdict === "fail")
    if (isFirst || isTelling || report.interrupted) yield* Console.log(summaryText(report))
    if (isTelling) yield* Console.log(summaryLine("again", report.command))
    if (isFirst) yield* writeReports(settings.reports, report)
    if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
    const failure = failureOf(report, { isOneOfMany })
    if (failure !== null) failures.set(seed, failure)
  })
  const all = Effect.gen(function* () {
    for (; done < seeds; done++) yield* Effect.uninterruptibleMask((restore) => reported(settings.seed + done, restore))
  })
  // Also printed after an interrupt or a failure, to show which seeds have failed so far.
  const ended = Effect.suspend(() => Console.log(summaryLine("seeds", seedsText(done, seeds, [...failures.keys()]))))
  yield* isOneOfMany ? Effect.ensuring(all, ended) : all
  const [first] = failures.values()
  if (first !== undefined) return yield* first
}, Effect.scoped)
