/**
 * `simulate run` in real time: against a service, against a receiver, or against modelled receivers in this process.
 */
import { CommandFailure } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit, Record } from "effect"
import type { Scope } from "effect"
import { beginningOf, plan, spanOf } from "../plan/Plan.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { LocalClock } from "../receivers/LocalClock.ts"
import { duration as durationText } from "../results/Words.ts"
import { disturbed } from "../plan/Disorder.ts"
import type { RunKind } from "../results/RunKind.ts"
import { makeReport } from "../results/MakeReport.ts"
import { Measurements } from "../results/Measurements.ts"
import { run } from "../run/Run.ts"
import { clock, progressLine, summaryLine, summaryText } from "../results/RunText.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { plannedIntegrations } from "../run/World.ts"
import { commandLine } from "./FlagPlaces.ts"
import { timeZoneOf } from "../scenario/Scenario.ts"
import { showProgress } from "./Progress.ts"
import type { RunSettings } from "./ReadRun.ts"
import { prepareModelled } from "./real/AgainstModels.ts"
import { prepareReceiver } from "./real/AgainstReceiver.ts"
import { prepareService } from "./real/AgainstService.ts"
import { Course } from "./real/Course.ts"
import { failureOf } from "./real/Failing.ts"
import { measuring } from "./real/Measuring.ts"
import type { Prepared } from "./real/Prepared.ts"
import { writeReports } from "./ReportFiles.ts"
import type { RunTexts } from "./RunFlags.ts"
import { untilToldAgain } from "./SecondSignal.ts"

/** Beyond this it is worth saying how to have it sooner, in milliseconds. */
const patience = 60_000

const prepare = (
  settings: RunSettings,
  integrations: ReadonlyArray<PlannedIntegration>,
  measurements: Measurements,
  course: Course
): Effect.Effect<Prepared, CommandFailure, Scope.Scope> => {
  const { target } = settings
  switch (target.kind) {
    case "service":
      return Effect.succeed(prepareService(target.service, measurements, course))
    case "receiver":
      return prepareReceiver(settings, target, integrations, measurements, course)
    default:
      return prepareModelled(settings, integrations, measurements, course)
  }
}

/** The speed that is proposed, to whoever has a lower one. */
const hurry = 60

/** How long it will take, and what takes less where that is long: by flags that are not given yet, and fit where it goes. */
const lengthText = (millis: number, grace: number, speed: number, kind: RunKind): string => {
  const length = `it takes ${durationText(millis)}, and up to ${durationText(grace)} for what is open then`
  if (millis <= patience) return length
  const faster = `${speed < hurry ? `--speed ${hurry}x or ` : ""}--as-fast-as-possible is faster`
  // Virtual time has modelled receivers and an engine of its own.
  return `${length}; ${faster}${kind === "in-process" ? ", --virtual takes moments" : ""}`
}

export const realSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { disorder, grace, maxInFlight, options, reports, scenario, slos, speed } = settings
  const measurements = new Measurements()
  const span = spanOf(scenario, options)
  const course = new Course(beginningOf(scenario, options.start), speed)
  const integrations = plannedIntegrations(scenario, settings.tenantIntegrations, settings.buildingIntegrations)
  const prepared = yield* prepare(settings, integrations, measurements, course)
  const { accounts, kind, name, observer, target } = prepared
  // A service keeps to its own settings.
  const schedule =
    kind === "service"
      ? { ack_timeout: null, retry: null }
      : {
          ack_timeout: settings.ackTimeout,
          retry: Record.map(settings.retry, ({ delays }) => delays)
        }
  const clocks = new Map<number, LocalClock>(
    scenario.buildings.map(({ building }) => [building.id, new LocalClock(building.time_zone)])
  )
  const utc = new LocalClock("UTC")
  const measure = measuring(measurements, course, (building) => clocks.get(building) ?? utc)

  const pace = speed === null ? "as fast as possible" : `${speed}x`
  yield* Console.log(`${scenario.name} ${name}, ${texts.duration} from ${texts.start}, seed ${texts.seed}, ${pace}`)
  if (speed !== null) yield* Console.log(lengthText(span / speed, grace, speed, kind))

  const startedAt = yield* Clock.currentTimeMillis
  let phase: string | null = null
  const line = Effect.map(Clock.currentTimeMillis, (now) => {
    const elapsed = now - startedAt
    const share = speed === null ? null : (elapsed * speed) / span
    const place = speed === null ? clock(elapsed) : `${clock(Math.min(elapsed * speed, span))} of the plan`
    return progressLine({ share, place, summary: measurements.summary, measured: measurements, phase })
  })
  const sendings = disturbed(plan(scenario, options), disorder, new Rng(child(root(options.seed), "disorder")))
  const running = run(
    sendings,
    {
      target,
      beginning: course.beginning,
      speed,
      maxInFlight,
      observer: { ...measure, ...observer }
    },
    measurements
  )
  // The report is written however the run ends: at its end, at a failure, at Ctrl-C.
  yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(restore(Effect.raceFirst(running, showProgress(line))))
      const sent = yield* Clock.currentTimeMillis
      const isCutShort = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      const stopped = Exit.isFailure(exit) && !isCutShort
      if (isCutShort) yield* Console.log("\nstopping: what is open is waited for; Ctrl-C again ends that")
      phase = "waiting for what is open"
      const waited = yield* Effect.exit(
        untilToldAgain(Effect.raceFirst(accounts.settle(grace), Effect.ignore(showProgress(line))))
      )
      const isWaitCutShort = Exit.isSuccess(waited) && waited.value
      const took = (yield* Clock.currentTimeMillis) - startedAt
      const report = makeReport({
        facts: {
          kind,
          target: name,
          scenario: scenario.name,
          description: scenario.description,
          seed: options.seed,
          start: texts.start,
          time_zone: timeZoneOf(scenario),
          duration: options.duration,
          buildings: scenario.buildings.length,
          integrations: prepared.integrations === 0 ? measurements.integrations.size : prepared.integrations,
          speed,
          ...schedule,
          command: commandLine(texts),
          began_at: new Date(speed === null ? startedAt : course.beginning).toISOString()
        },
        measurements,
        slos,
        crashes: 0,
        storage: null,
        storageFailure: null,
        took,
        sending: course.began === null ? 0 : sent - course.began,
        interrupted: isCutShort || isWaitCutShort,
        stopped: stopped || Exit.isFailure(waited),
        ...accounts.judged()
      })
      // Where the run was not let in, zeros would say that nothing happens in its time.
      if (!stopped || course.began !== null) yield* Console.log(summaryText(report, measurements.summary))
      const silence = accounts.silence()
      if (silence !== null && measurements.summary.accepted > 0)
        yield* Console.log(summaryLine("not asked", `what became of the events: ${silence}`))
      yield* writeReports(reports, report)
      yield* Exit.asVoidAll([exit, waited])
      if (isWaitCutShort) return yield* Effect.interrupt
      const failure = failureOf(
        report,
        measurements.summary,
        silence,
        settings.target.kind === "receiver" && settings.target.secret !== null
      )
      if (failure !== null) return yield* failure
    })
  ).pipe(Effect.catchTag("RunStopped", ({ message }) => Effect.fail(new CommandFailure({ message, exitCode: 1 }))))
}, Effect.scoped)
