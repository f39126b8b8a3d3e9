/**
 * `simulate run --virtual`: one seed after the other.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit, FileSystem } from "effect"
import { beginningOf, plan } from "../plan/Plan.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { counted } from "../results/Words.ts"
import { disturbed } from "../plan/Disorder.ts"
import { Equipment } from "../run/Equipment.ts"
import { makeReport } from "../results/MakeReport.ts"
import type { RunReport } from "../results/RunReport.ts"
import { progressLine, summaryLine, summaryText } from "../results/RunText.ts"
import { plannedIntegrations } from "../run/World.ts"
import { makeIntegrations, memoryStores, storesOf } from "../virtual/MemoryStores.ts"
import { RealWork } from "../virtual/RealWork.ts"
import { storageOf } from "../virtual/StorageProbe.ts"
import { virtualRun } from "../virtual/VirtualRun.ts"
import { VirtualWorld } from "../virtual/VirtualWorld.ts"
import { commandLine } from "./FlagPlaces.ts"
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

/** Runs one seed and answers its report. */
const runSeed = Effect.fnUntraced(function* (
  settings: RunSettings,
  texts: RunTexts,
  seed: number,
  measureStorage: boolean
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
  const zones = new Map<number, string>(scenario.buildings.map(({ building }) => [building.id, building.time_zone]))
  const sendings = disturbed(plan(scenario, own), disorder, new Rng(child(root(seed), "disorder")))
  const line = Effect.sync(() =>
    progressLine({
      share: (world.time.wall - beginning) / options.duration,
      place: new Date(world.time.wall).toISOString().slice(0, 16).replace("T", " "),
      summary: null,
      measured: measurements,
      phase: settings.seeds > 1 ? `seed ${seed}` : null
    })
  )
  const exit = yield* virtualRun(sendings, world, {
    end: beginning + options.duration,
    drain,
    stores,
    zoneOf: (building) => zones.get(building) ?? "UTC"
  }).pipe(
    Effect.raceFirst(showProgress(line)),
    Effect.catchTag("VirtualStopped", (stopped) => Effect.fail(storeFailed(stopped))),
    Effect.exit
  )
  const took = (yield* Clock.currentTimeMillis) - began
  const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  const equipment = yield* Equipment
  const storage =
    !measureStorage || equipment === null || Exit.isFailure(exit)
      ? null
      : yield* storageOf(plan(scenario, own), integrations, equipment).pipe(Effect.orElseSucceed(() => null))
  const report = makeReport({
    facts: {
      kind: "virtual",
      target: `the real engine on virtual time, ${counted(workers, "process", "processes")} over ${settings.database === "memory" ? "a store in memory" : "SQLite"}`,
      scenario: scenario.name,
      description: scenario.description,
      seed,
      start: texts.start,
      duration: options.duration,
      buildings: scenario.buildings.length,
      integrations: integrations.length,
      speed: 1,
      ack_timeout: ackTimeout,
      retry: { access_log: retry.access_log.delays, call: retry.call.delays },
      command: commandLine(texts, `${seed}`),
      began_at: new Date(beginning).toISOString()
    },
    measurements,
    slos: settings.slos,
    lost: ledger.brokenIn("nothing-lost"),
    broken: ledger.broken,
    violations: ledger.violations,
    crashes: world.crashes,
    storage,
    took,
    sending: null,
    interrupted,
    stopped: Exit.isFailure(exit) && !interrupted
  })
  return { report, exit }
}, Effect.scoped)

const failureOf = (report: RunReport): CommandFailure | null => {
  const { slos, totals, verdict } = report
  if (verdict === "pass") return null
  const missed = slos.filter(({ met }) => !met).map(({ measured, slo }) => `${slo} (${measured})`)
  const broken = totals.broken ?? 0
  const message =
    broken > 0
      ? `Seed ${report.seed} breaks a rule of delivery in ${counted(broken, "place")}. Again: ${report.command}`
      : `Objectives missed: ${missed.join(", ")}`
  return new CommandFailure({ message, exitCode: 1 })
}

export const virtualSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { options, reports, scenario, seeds } = settings
  yield* Console.log(
    `${scenario.name} on virtual time, ${texts.duration} from ${texts.start}, seed ${texts.seed}${seeds > 1 ? ` and the ${seeds - 1} after it` : ""}`
  )
  let failure: CommandFailure | null = null
  for (let nth = 0; nth < seeds; nth++) {
    // Being told to stop ends the run, not the report of it.
    const { exit, report } = yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const done = yield* Effect.exit(restore(runSeed(settings, texts, options.seed + nth, nth === 0)))
        if (Exit.isFailure(done)) return yield* done
        const { report } = done.value
        const isBroken = (report.totals.broken ?? 0) > 0
        if (nth === 0 || isBroken) yield* Console.log(summaryText(report, null))
        if (isBroken) yield* Console.log(summaryLine("again", report.command))
        if (nth === 0) yield* writeReports(reports, report)
        return done.value
      })
    )
    if (Exit.isFailure(exit)) return yield* exit
    failure ??= failureOf(report)
  }
  if (seeds > 1) yield* Console.log(summaryLine("seeds", `${seeds} run${failure === null ? ", every rule kept" : ""}`))
  if (failure !== null) return yield* failure
})
