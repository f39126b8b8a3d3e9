/**
 * `simulate run` in real time: against a service, against a receiver, or against modelled receivers in this process.
 */
import { CommandFailure, Crypto, Transport } from "@doorhook/core"
import { Cause, Clock, Console, Effect, Exit, Schedule } from "effect"
import type { Scope } from "effect"
import type { HttpClient } from "effect/http"
import { IpNetwork } from "effect/net"
import { beginningOf, plan } from "../plan/Plan.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { LocalClock } from "../receivers/LocalClock.ts"
import { modelFor } from "../receivers/ReceiverText.ts"
import { Receiver } from "../receivers/Receiver.ts"
import { duration as durationText } from "../report/Words.ts"
import { Accounting } from "../run/Accounting.ts"
import { disturbed } from "../run/Disorder.ts"
import type { Sending } from "../run/Disorder.ts"
import { Equipment } from "../run/Equipment.ts"
import { makeReport } from "../run/MakeReport.ts"
import { Measurements } from "../run/Measurements.ts"
import { serviceTarget } from "../run/OperatorApi.ts"
import { ownEngine } from "../run/OwnEngine.ts"
import type { OwnEngineOptions } from "../run/OwnEngine.ts"
import { run } from "../run/Run.ts"
import type { RunObserver } from "../run/Run.ts"
import type { RunReport } from "../run/RunReport.ts"
import { clock, progressLine, summaryText } from "../run/RunText.ts"
import type { RunSummary } from "../run/Tally.ts"
import { Tally } from "../run/Tally.ts"
import type { Target } from "../run/Target.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { plannedIntegrations } from "../run/World.ts"
import { showProgress } from "./Progress.ts"
import { writeReports } from "./ReportFiles.ts"
import type { RunSettings, RunTexts } from "./RunFlags.ts"
import { commandLine } from "./RunFlags.ts"
import { untilToldAgain } from "./SecondSignal.ts"

/** Whoever names a receiver on the command line may reach it, wherever it is. */
const anywhere = ["0.0.0.0/0", "::/0"].map(IpNetwork.fromStringUnsafe)

/** How a run knows what became of its events. */
interface Accounts {
  /** Waits until all has ended, or as long as told. */
  readonly settle: (grace: number) => Effect.Effect<void, never, HttpClient.HttpClient>
  readonly judged: () => Pick<Parameters<typeof makeReport>[0], "lost" | "broken" | "violations">
  /** Why nothing is known; null when something is. */
  readonly silence: () => string | null
}

interface Prepared {
  readonly target: Target<HttpClient.HttpClient>
  readonly observer: Pick<RunObserver, "accepted">
  readonly accounts: Accounts
  readonly kind: RunReport["kind"]
  readonly name: string
  readonly integrations: number
}

/** Where a run is: real time, and the time of the plan that goes with it. */
class Course {
  began = 0
  readonly beginning: number
  readonly speed: number | null

  constructor(beginning: number, speed: number | null) {
    this.beginning = beginning
    this.speed = speed
  }

  /** Milliseconds since the beginning, on the axis of the report. */
  readonly timeOf = (instant: number): number => Math.max(0, (instant - this.began) * (this.speed ?? 1))
}

const prepareService = (
  service: Parameters<typeof serviceTarget>[0],
  measurements: Measurements,
  course: Course
): Prepared => {
  const accounting = new Accounting(service, measurements, course.timeOf)
  let lost: number | null = null
  let silence: string | null = "it was not asked"
  return {
    kind: "service",
    name: `against ${service.url}`,
    integrations: 0,
    target: serviceTarget(service),
    observer: { accepted: (_, events) => accounting.accepted(events) },
    accounts: {
      settle: (grace) =>
        Effect.map(accounting.settle(grace), ({ missing, why }) => {
          lost = why === null ? missing : null
          silence = why
        }),
      judged: () => ({ lost, broken: 0, violations: [] }),
      silence: () => silence
    }
  }
}

const prepareOwn = Effect.fnUntraced(function* (
  settings: RunSettings,
  options: Pick<
    OwnEngineOptions,
    "measurements" | "integrations" | "urlOf" | "receiverOf" | "send" | "secret" | "crypto"
  >,
  course: Course,
  kind: "receiver" | "in-process",
  name: string
): Effect.fn.Return<Prepared, never, Scope.Scope> {
  const { ackTimeout, retry } = settings
  const { finish, ledger, target } = yield* ownEngine({
    ...options,
    settings: { ackTimeout, retry, allow: anywhere },
    seed: child(root(settings.options.seed), "run"),
    timeOf: course.timeOf
  })
  const isOver = Effect.sync(() => ledger.open === 0)
  return {
    kind,
    name,
    integrations: options.integrations.length,
    target,
    observer: { accepted: () => {} },
    accounts: {
      settle: (grace) =>
        isOver.pipe(
          Effect.repeat({ until: (over) => over, schedule: Schedule.spaced("20 millis") }),
          Effect.timeoutOption(grace),
          Effect.andThen(finish)
        ),
      judged: () => ({
        lost: ledger.violations.filter(({ rule }) => rule === "nothing-lost").length,
        broken: ledger.broken,
        violations: ledger.violations
      }),
      silence: () => null
    }
  }
})

/** Receivers that are modelled: they answer by their rules, after as long as these say. */
const modelled = (
  { options: { seed }, receivers }: RunSettings,
  integrations: ReadonlyArray<PlannedIntegration>,
  course: Course
): OwnEngineOptions["send"] => {
  const stream = child(root(seed), "receivers")
  const all = new Map(
    integrations.map(({ place, zone }) => [
      place,
      { receiver: new Receiver(modelFor(receivers, place), new Rng(child(stream, place))), clock: new LocalClock(zone) }
    ])
  )
  return Effect.fnUntraced(function* ({ deadline }, { place }) {
    const known = all.get(place)
    if (known === undefined) return yield* Effect.die(new Error(`integration ${place} has no receiver`))
    const now = yield* Clock.currentTimeMillis
    const sinceStart = course.timeOf(now)
    const local = known.clock.at(course.beginning + sinceStart)
    const reception = known.receiver.receive({ now, sinceStart, deadline, local })
    yield* Effect.sleep(reception.result.elapsed)
    return reception
  })
}

const prepareModelled = (
  settings: RunSettings,
  integrations: ReadonlyArray<PlannedIntegration>,
  measurements: Measurements,
  course: Course
) =>
  prepareOwn(
    settings,
    {
      measurements,
      integrations,
      urlOf: ({ place }) => `https://receiver${place}.example/hook`,
      receiverOf: ({ place }) =>
        settings.receivers.flatMap(({ appliesTo, text }) => (appliesTo(place) ? [text] : [])).join(" "),
      send: modelled(settings, integrations, course),
      secret: null,
      crypto: Crypto.layerWebCrypto
    },
    course,
    "in-process",
    "against modelled receivers, the engine in this process"
  )

const prepareReceiver = Effect.fnUntraced(function* (
  settings: RunSettings,
  { secret, url }: Extract<RunSettings["target"], { readonly kind: "receiver" }>,
  integrations: ReadonlyArray<PlannedIntegration>,
  measurements: Measurements,
  course: Course
) {
  const equipment = yield* Equipment
  if (equipment === null)
    return yield* CommandFailure.usage("--to-receiver: this program has no way out to the network")
  const transport = yield* Effect.provide(Transport, equipment.transport)
  // Each integration is known by its URL; what comes after # never leaves this process.
  const bare = (address: string) => address.replace(/#.*$/, "")
  return yield* prepareOwn(
    settings,
    {
      measurements,
      integrations,
      urlOf: ({ place }) => `${url}#${place}`,
      receiverOf: () => "",
      send: (request) =>
        Effect.map(transport.post({ ...request, url: bare(request.url) }), (result) => ({ result, processed: null })),
      secret,
      crypto: equipment.crypto
    },
    course,
    "receiver",
    `against ${url}`
  )
})

/** Whoever measures: each event at its place in the plan, and how late and how long. */
const measuring = (
  measurements: Measurements,
  course: Course,
  zoneOf: (building: number) => LocalClock
): RunObserver => ({
  began: (now) => {
    course.began = now
  },
  started: ({ at, event, kind }: Sending, due, now) => {
    const intended = due === null ? course.timeOf(now) : at - course.beginning
    measurements.plan(intended, at, zoneOf(event.building_id))
    measurements.start(course.timeOf(now), due === null ? 0 : now - due)
    if (kind === "repeated") measurements.repeated++
    else if (kind === "reordered") measurements.reordered++
    else if (kind === "delayed") measurements.delayed++
  },
  accepted: (batch, _, began, now) => {
    for (const { due } of batch) measurements.accept(now - (due ?? began), now - began)
  },
  refused: (events) => {
    measurements.refused += events
  }
})

const failureOf = (report: RunReport, summary: RunSummary, silence: string | null): CommandFailure | null => {
  const { slos, totals, verdict } = report
  if (summary.failed > 0)
    return new CommandFailure({
      message: `The service did not take ${summary.failed} events; the last answer was: ${summary.last_failure ?? "none"}`,
      exitCode: 1
    })
  if (totals.broken > 0 || (totals.lost ?? 0) > 0)
    return new CommandFailure({
      message: `${totals.lost ?? totals.broken} deliveries of accepted events are not accounted for, or break a rule; the summary says which`,
      exitCode: 1
    })
  if (verdict === "pass") return null
  const missed = slos.filter(({ met }) => !met).map(({ measured, slo }) => `${slo} (${measured})`)
  const why = silence === null ? "" : `; the service could not be asked: ${silence}`
  return new CommandFailure({ message: `Objectives missed: ${missed.join(", ")}${why}`, exitCode: 1 })
}

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

export const realSession = Effect.fnUntraced(function* (settings: RunSettings, texts: RunTexts) {
  const { disorder, grace, maxInFlight, options, reports, scenario, slos, speed } = settings
  const measurements = new Measurements()
  const course = new Course(beginningOf(scenario, options.start), speed)
  const integrations = plannedIntegrations(scenario, settings.tenantIntegrations, settings.buildingIntegrations)
  const prepared = yield* prepare(settings, integrations, measurements, course)
  const { accounts, kind, name, observer, target } = prepared
  const clocks = new Map<number, LocalClock>(
    scenario.buildings.map(({ building }) => [building.id, new LocalClock(building.time_zone)])
  )
  const utc = new LocalClock("UTC")
  const measure = measuring(measurements, course, (building) => clocks.get(building) ?? utc)

  const pace = speed === null ? "as fast as possible" : `${speed}x`
  yield* Console.log(`${scenario.name} ${name}, ${texts.duration} from ${texts.start}, seed ${texts.seed}, ${pace}`)
  if (speed !== null && options.duration / speed > 3_600_000)
    yield* Console.log(
      `It takes ${durationText(options.duration / speed)}; --speed 60x is faster, --virtual takes moments`
    )

  const tally = new Tally()
  const startedAt = yield* Clock.currentTimeMillis
  let phase: string | null = null
  const line = Effect.map(Clock.currentTimeMillis, (now) => {
    const elapsed = now - startedAt
    const share = speed === null ? null : (elapsed * speed) / options.duration
    const place = speed === null ? clock(elapsed) : `${clock(Math.min(elapsed * speed, options.duration))} of the plan`
    return progressLine({ share, place, summary: tally.summary, measured: measurements, speed, phase })
  })
  const sendings = disturbed(plan(scenario, options), disorder, new Rng(child(root(options.seed), "disorder")))
  const running = run(
    sendings,
    {
      target,
      beginning: course.beginning,
      speed,
      maxInFlight,
      observer: {
        ...measure,
        accepted: (batch, events, began, now) => {
          measure.accepted(batch, events, began, now)
          observer.accepted(batch, events, began, now)
        }
      }
    },
    tally
  )
  // The report is written however the run ends: at its end, at a failure, at Ctrl-C.
  yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(restore(Effect.raceFirst(running, showProgress(line))))
      const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      if (interrupted) yield* Console.log("\nstopping: what is open is waited for; Ctrl-C again ends that")
      phase = "waiting for what is open"
      yield* untilToldAgain(Effect.raceFirst(accounts.settle(grace), Effect.ignore(showProgress(line))))
      const took = (yield* Clock.currentTimeMillis) - startedAt
      const report = makeReport({
        facts: {
          kind,
          target: name,
          scenario: scenario.name,
          description: scenario.description,
          seed: options.seed,
          start: texts.start,
          duration: options.duration,
          buildings: scenario.buildings.length,
          integrations: prepared.integrations === 0 ? measurements.integrations.size : prepared.integrations,
          speed,
          ack_timeout: settings.ackTimeout,
          retry: { access_log: settings.retry.access_log.delays, call: settings.retry.call.delays },
          command: commandLine(texts),
          began_at: new Date(speed === null ? startedAt : course.beginning).toISOString()
        },
        measurements,
        slos,
        crashes: 0,
        storage: null,
        took,
        interrupted,
        ownReceivers: kind === "in-process",
        ...accounts.judged()
      })
      yield* Console.log(summaryText(report, tally.summary))
      const silence = accounts.silence()
      if (silence !== null && tally.summary.accepted > 0)
        yield* Console.log(`not asked    what became of the events: ${silence}`)
      yield* writeReports(reports, report)
      if (Exit.isFailure(exit)) return yield* exit
      const failure = failureOf(report, tally.summary, silence)
      if (failure !== null) return yield* failure
    })
  ).pipe(Effect.catchTag("RunStopped", ({ message }) => Effect.fail(new CommandFailure({ message, exitCode: 1 }))))
}, Effect.scoped)
