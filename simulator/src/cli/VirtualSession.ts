/**
 * `simulate run --virtual`: one seed after the other.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit, FileSystem, Predicate, Record } from "effect"
import { beginningOf, endOf, plan, spanOf } from "../plan/Plan.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { counted } from "../results/Words.ts"
import { disturbed } from "../plan/Disorder.ts"
import { Equipment } from "../run/Equipment.ts"
import { makeReport } from "../results/MakeReport.ts"
import type { RunReport } from "../results/RunReport.ts"
import { progressLine, summaryLine, summaryText } from "../results/RunText.ts"
import { plannedIntegrations } from "../run/World.ts"
import { storesOf } from "../engine/world/Storage.ts"
import { makeIntegrations, memoryStores } from "../virtual/MemoryStores.ts"
import { RealWork } from "../virtual/RealWork.ts"
import { storageOf } from "../virtual/StorageProbe.ts"
import { virtualRun } from "../virtual/VirtualRun.ts"
import { VirtualWorld } from "../virtual/VirtualWorld.ts"
import { commandLine } from "./FlagPlaces.ts"
import { timeZoneOf, zonesOf } from "../scenario/Scenario.ts"
import { showProgress } from "./Progress.ts"
import type { RunSettings } from "./ReadRun.ts"
import { writeReports } from "./ReportFiles.ts"
import type { RunTexts } from "./RunFlags.ts"

/** The storage of a run: in memory, or on a SQLite file that is new. */
const storageFor = Effect.fnUntraced(function* (database: string) {
  if (database === "memory") return { stores: yield* memoryStores, realWork: null }
  const equipment = yield* Equipment
  if (equipment === null)
    return yield* CommandFailure.usage("--database: this program has no SQLite; only memory is accepted")
  const files = yield* FileSystem.FileSystem
  if (yield* Effect.orElseSucceed(files.exists(database), () => false))
    return yield* CommandFailure.usage(`--database ${database}: expected the name of a new file; this one exists`)
  const stores = yield* Effect.mapError(
    storesOf(equipment.sqlite(database)),
    ({ message }) => new CommandFailure({ message, exitCode: 1 })
  )
  const realWork = new RealWork()
  return { stores: realWork.over(stores), realWork }
})

/** Why storage could not be measured; null where it was, or somebody did not want to wait for it. */
const storageTrouble = (measured: Exit.Exit<unknown, unknown>): string | null => {
  if (Exit.isSuccess(measured) || Cause.hasInterruptsOnly(measured.cause)) return null
  const failure = Cause.squash(measured.cause)
  return Predicate.hasProperty(failure, "message") ? String(failure.message) : String(failure)
}

/**
 * Runs one seed and answers its report. Being told to stop ends what `restore` is around, the run, and not the report of
 * it: to be called where nothing is interruptible.
 */
const runSeed = Effect.fnUntraced(function* (
  settings: RunSettings,
  texts: RunTexts,
  seed: number,
  measureStorage: boolean,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) {
  const { ackTimeout, crashEvery, deleteEvery, disorder, drain, options, receivers, retry, scenario, workers } =
    settings
  const beginning = beginningOf(scenario, options.start)
  const integrations = plannedIntegrations(scenario, settings.tenantIntegrations, settings.buildingIntegrations)
  const own = { ...options, seed }
  const { realWork, stores } = yield* storageFor(settings.database)
  const storeFailed = ({ message }: { readonly message: string }) => new CommandFailure({ message, exitCode: 1 })
  const began = yield* Clock.currentTimeMillis
  const world = new VirtualWorld({
    seed,
    beginning,
    integrations: yield* Effect.mapError(makeIntegrations(stores, integrations, seed, beginning), storeFailed),
    realWork,
    receivers,
    retry,
    ackTimeout,
    workers,
    crashEvery,
    deleteEvery,
    stores
  })
  const { measurements, ledger } = world
  const span = spanOf(scenario, options)
  const sendings = disturbed(plan(scenario, own), disorder, new Rng(child(root(seed), "disorder")))
  const line = Effect.sync(() =>
    progressLine({
      share: (world.time.wall - beginning) / span,
      place: new Date(world.time.wall).toISOString().slice(0, 16).replace("T", " "),
      summary: null,
      measured: measurements,
      phase: settings.seeds > 1 ? `seed ${seed}` : null
    })
  )
  const exit = yield* virtualRun(sendings, world, {
    end: endOf(scenario, options),
    drain,
    stores,
    zoneOf: zonesOf(scenario)
  }).pipe(
    Effect.raceFirst(showProgress(line)),
    restore,
    Effect.catchTag("VirtualStopped", (stopped) => Effect.fail(storeFailed(stopped))),
    Effect.exit
  )
  const took = (yield* Clock.currentTimeMillis) - began
  const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  const equipment = yield* Equipment
  const attemptsEach = measurements.attempts / Math.max(1, measurements.deliveries)
  const measured =
    !measureStorage || equipment === null || Exit.isFailure(exit)
      ? Exit.succeed(null)
      : yield* Effect.exit(restore(storageOf(plan(scenario, own), integrations, attemptsEach, equipment)))
  const report = makeReport({
    facts: {
      kind: "virtual",
      target: `the real engine on virtual time, ${counted(workers, "process", "processes")} over ${settings.database === "memory" ? "a store in memory" : "SQLite"}`,
      scenario: scenario.name,
      description: scenario.description,
      seed,
      start: texts.start,
      time_zone: timeZoneOf(scenario),
      duration: options.duration,
      buildings: scenario.buildings.length,
      integrations: integrations.length,
      speed: 1,
      ack_timeout: ackTimeout,
      retry: Record.map(retry, ({ delays }) => delays),
      command: commandLine(texts, `${seed}`),
      began_at: new Date(beginning).toISOString()
    },
    measurements,
    slos: settings.slos,
    lost: ledger.brokenIn("nothing-lost"),
    broken: ledger.broken,
    violations: ledger.violations,
    crashes: world.crashes,
    storage: Exit.isSuccess(measured) ? measured.value : null,
    storageFailure: storageTrouble(measured),
    took,
    sending: null,
    interrupted,
    stopped: Exit.isFailure(exit) && !interrupted
  })
  return { report, exit }
}, Effect.scoped)

/** Why a seed has failed, if it has; of several seeds, which. */
const failureOf = (report: RunReport, isOneOfMany: boolean): CommandFailure | null => {
  const { command, seed, slos, totals, verdict } = report
  if (verdict === "pass") return null
  const missed = slos.filter(({ met }) => !met).map(({ measured, slo }) => `${slo} (${measured})`)
  const broken = totals.broken ?? 0
  const message =
    broken > 0
      ? `Seed ${seed} breaks a rule of delivery in ${counted(broken, "place")}. Again: ${command}`
      : `Objectives missed${isOneOfMany ? ` by seed ${seed}` : ""}: ${missed.join(", ")}${isOneOfMany ? `. Again: ${command}` : ""}`
  return new CommandFailure({ message, exitCode: 1 })
}

/** Runs one seed, and says and writes what is to be said of it, also where it was told to stop. */
const reportedSeed = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts, nth: number) {
  const { options, seeds } = settings
  const { exit, report } = yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const done = yield* runSeed(settings, texts, options.seed + nth, nth === 0, restore)
      const { report } = done
      const isWorthRepeating = (report.totals.broken ?? 0) > 0 || (seeds > 1 && report.verdict === "fail")
      if (nth === 0 || isWorthRepeating || report.interrupted) yield* Console.log(summaryText(report, null))
      if (isWorthRepeating) yield* Console.log(summaryLine("again", report.command))
      if (nth === 0) yield* writeReports(settings.reports, report)
      return done
    })
  )
  if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  return failureOf(report, seeds > 1)
})

/** How many seeds were run to their end, and which have failed. */
const seedsText = (done: number, seeds: number, failed: ReadonlyArray<number>): string => {
  const count = done === seeds ? `${seeds} run` : `${done} of ${seeds} run to their end`
  if (failed.length > 0) return `${count}, failed: ${failed.join(", ")}`
  return done === 0 ? count : `${count}, all of them passed`
}

export const virtualSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { options, scenario, seeds } = settings
  yield* Console.log(
    `${scenario.name} on virtual time, ${texts.duration} from ${texts.start}, seed ${texts.seed}${seeds > 1 ? ` and the ${seeds - 1} after it` : ""}`
  )
  const failures = new Map<number, CommandFailure>()
  let done = 0
  const all = Effect.gen(function* () {
    for (; done < seeds; done++) {
      const failure = yield* reportedSeed(settings, texts, done)
      if (failure !== null) failures.set(options.seed + done, failure)
    }
  })
  // Also where it is interrupted or can't go on: which have failed by then is worth knowing.
  const told = Effect.suspend(() => Console.log(summaryLine("seeds", seedsText(done, seeds, [...failures.keys()]))))
  yield* seeds > 1 ? Effect.ensuring(all, told) : all
  const [first] = failures.values()
  if (first !== undefined) return yield* first
})
