/**
 * Reads the flags of `simulate run`.
 */
import type { DeliverySettingsShape, ResourceTypeTable } from "@doorhook/core"
import {
  CommandFailure,
  defaultDeliverySettings,
  DurationText,
  longestAckTimeout,
  policiesOf,
  RetryPolicy,
  Signature,
  UrlPolicy
} from "@doorhook/core"
import { Config, Effect, Option, Redacted } from "effect"
import type { Stream } from "effect"
import { beginningOf, endlessPlan, endOf, longestDuration, plan } from "../plan/Plan.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { isWithin } from "../receivers/Receiver.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import { readReceiver, rulesFor } from "../receivers/ReceiverText.ts"
import { readSlos, unmeasurable } from "../results/Slo.ts"
import { counted } from "../results/Format.ts"
import type { Arrival, Load, Stage } from "../run/Load.ts"
import {
  atPlannedTimes,
  atRate,
  extentOf,
  mostArrivals,
  rateForms,
  readRate,
  readStages,
  shareOf,
  stageForms
} from "../run/Load.ts"
import { readEvents } from "../run/RecordedLoad.ts"
import type { PlannedIntegration } from "../run/Integrations.ts"
import { plannedIntegrations, premisesOf } from "../run/Integrations.ts"
import { timeZoneOf } from "../scenario/Scenario.ts"
import { momentAt } from "../world/LocalDay.ts"
import { dayMillis, minute } from "../world/LocalTime.ts"
import {
  checkSource,
  givenOf,
  positiveNumber,
  readEach,
  readLogFlags,
  readOr,
  readPlan,
  readText,
  readTypes,
  scenarioFile,
  usualPlan,
  wholeBetween,
  wholeNumber
} from "./Flags.ts"
import type { MetricsAddress } from "./LiveMetrics.ts"
import { checkReportFiles, readReportFiles } from "./ReportFiles.ts"
import type { RunTexts } from "./RunFlags.ts"
import { keyVariable, misplaced } from "./RunFlags.ts"

const usage = CommandFailure.usage

const durationIn = (flag: string, given: string, least = 0, most: number = DurationText.longest) =>
  readOr(
    Option.filter(DurationText.parse(given), (millis) => millis >= least && millis <= most),
    flag,
    given,
    least === 0 && most === DurationText.longest
      ? DurationText.expected
      : `${DurationText.expected}, ${least <= 1 ? "above 0" : `at least ${DurationText.format(least)}`}${most === DurationText.longest ? "" : ` and at most ${DurationText.format(most)}`}`
  )

/** Reads an optional flag; null when it is not given. */
const ifGiven = <A, E, R>(given: Option.Option<string>, read: (text: string) => Effect.Effect<A, E, R>) =>
  Option.match(given, {
    onNone: (): Effect.Effect<A | null, E, R> => Effect.succeed(null),
    onSome: (text): Effect.Effect<A | null, E, R> => read(text)
  })

/** Reads an http or https URL without a fragment. With `base`, refuses a query and removes trailing slashes. */
const readUrl = (flag: string, given: string, expected: string, base: boolean) => {
  const url = URL.parse(given)
  const isHttp = url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.username === ""
  const fits = isHttp && url.hash === "" && (!base || url.search === "")
  const value = fits ? Option.some(base ? url.href.replace(/\/+$/, "") : url.href) : Option.none()
  return readOr(value, flag, given, expected)
}

/** Checks that a header can carry the key unchanged: printable ASCII, without spaces at the ends. */
const checkedKey = (operatorKey: Redacted.Redacted, keyFrom: string) =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(Redacted.value(operatorKey))
    ? Effect.succeed({ operatorKey, keyFrom })
    : usage(`${keyFrom}: expected one key on one line, in printable ASCII`)

/** Reads the key from its flag, its file or the environment, in this order. Returns the key and its source. */
const readKey = Effect.fnUntraced(function* ({ operatorKey: key, operatorKeyFile: file }: RunTexts) {
  if (Option.isSome(key)) return yield* checkedKey(key.value, "--operator-key")
  if (Option.isSome(file)) {
    const read = yield* readText("--operator-key-file", file.value)
    return yield* checkedKey(Redacted.make(read.trim()), `--operator-key-file ${file.value}`)
  }
  const operatorKey = yield* Effect.mapError(Config.Redacted(keyVariable), () =>
    usage(`--operator-key is missing: give it, or --operator-key-file, or set ${keyVariable}`)
  )
  return yield* checkedKey(operatorKey, keyVariable)
})

const readRetries = Effect.fnUntraced(function* (given: ReadonlyArray<string>, types: ResourceTypeTable) {
  let retry: DeliverySettingsShape["retry"] = { ...defaultDeliverySettings.retry, ...policiesOf(types) }
  for (const one of given) {
    const at = one.indexOf("=")
    const type = one.slice(0, Math.max(0, at))
    if (!types.has(type))
      return yield* usage(
        `--retry ${one}: expected RESOURCE=d1,d2,..., RESOURCE being one of ${[...types.keys()].join(", ")}`
      )
    const rest = one.slice(at + 1)
    const delays = yield* Effect.forEach(rest === "" ? [] : rest.split(","), (delay) => durationIn("retry", delay))
    const policy = { ...RetryPolicy.policyOf(retry, type), delays }
    const flaw = RetryPolicy.problemOf(policy)
    if (flaw !== null) return yield* usage(`--retry ${one}: delay ${flaw.at + 1} ${flaw.detail}`)
    retry = { ...retry, [type]: policy }
  }
  return retry
})

/** Reads the target of a run. */
const readTarget = Effect.fnUntraced(function* (texts: RunTexts) {
  const { to, toReceiver, virtual } = texts
  if ([Option.isSome(to), Option.isSome(toReceiver), virtual].filter(Boolean).length > 1)
    return yield* usage("--to, --to-receiver and --virtual can't be used together")
  if (Option.isSome(to)) {
    const url = yield* readUrl("to", to.value, "the base URL of a service, like http://127.0.0.1:4000", true)
    return { kind: "service", service: { url, ...(yield* readKey(texts)) } } as const
  }
  if (Option.isNone(toReceiver)) return { kind: virtual ? "virtual" : "in-process" } as const
  const flaw = UrlPolicy.hiddenQueryFlaw(toReceiver.value)
  if (flaw !== null) return yield* usage(`--to-receiver ${toReceiver.value}: ${flaw}`)
  const expected = "the URL of a receiver, like http://127.0.0.1:9000/hook"
  const url = yield* readUrl("to-receiver", toReceiver.value, expected, false)
  const variable = "DOORHOOK_RECEIVER_SECRET"
  const fromEnvironment = yield* Effect.orElseSucceed(Config.option(Config.Redacted(variable)), Option.none)
  const secret = Option.getOrNull(Option.orElse(texts.secret, () => fromEnvironment))
  if (secret !== null && Signature.keyOf(secret) === null)
    return yield* usage(
      `${Option.isSome(texts.secret) ? "--secret" : variable}: expected whsec_ and at least 24 bytes in base64`
    )
  return { kind: "receiver", url, secret } as const
})

/** Reads the rates that replace the times of the plan; null without `--rate` and `--stages`. */
const readProfile = Effect.fnUntraced(function* (texts: RunTexts) {
  const { duration, even, rate, stages } = texts
  if (Option.isNone(rate) && Option.isNone(stages)) {
    if (even) return yield* usage("--even needs --rate or --stages: the plan has its own times")
    return null
  }
  if (Option.isSome(rate) && Option.isSome(stages)) return yield* usage("--rate and --stages can't be used together")
  const clash = givenOf(texts, ["speed", "asFastAsPossible"])
  if (clash !== null)
    return yield* usage(
      `${clash} can't be combined with ${Option.isSome(rate) ? "--rate" : "--stages"}, which sets the times of the events`
    )
  if (Option.isSome(stages)) {
    if (Option.isSome(duration))
      return yield* usage("--duration and --stages can't be used together: each stage has its own length")
    return yield* readOr(readStages(stages.value), "stages", stages.value, `${stageForms}, each ${rateForms}`)
  }
  const steady = yield* ifGiven(rate, (text) =>
    readOr(
      Option.filter(readRate(text), (own) => own > 0),
      "rate",
      text,
      `${rateForms}, above 0`
    )
  )
  const length = yield* durationIn(
    "duration",
    Option.getOrElse(duration, () => "1m"),
    1
  )
  const only: Stage = { from: steady ?? 0, to: steady ?? 0, length }
  return [only]
})

const readLoad = Effect.fnUntraced(function* (texts: RunTexts, types: ResourceTypeTable | null) {
  const profile = yield* readProfile(texts)
  const [nth = 1, generators = 1] =
    (yield* ifGiven(texts.generator, (text) => {
      const match = /^([1-9]\d{0,2})\/([1-9]\d{0,2})$/.exec(text)
      const [own, all] = [Number(match?.[1]), Number(match?.[2])]
      return readOr(
        own >= 1 && own <= all ? Option.some([own, all]) : Option.none(),
        "generator",
        text,
        "NUMBER/GENERATORS, like 1/3"
      )
    })) ?? []
  const mostOf = (events: number): number =>
    Math.ceil(Math.min(events, profile === null ? Infinity : mostArrivals(profile, texts.even)) / generators)
  const withProfile = (
    events: Stream.Stream<Arrival, CommandFailure>,
    beginning: number,
    seed: number
  ): Stream.Stream<Arrival, CommandFailure> => {
    const rng = texts.even ? null : new Rng(child(root(seed), "arrivals"))
    const timed = profile === null ? events : atRate(events, profile, rng, beginning)
    return shareOf(nth, generators)(timed)
  }
  yield* checkSource(texts, Option.getOrNull(texts.events), ["preset", "scenario", "start", "rateScale", "buildings"])
  if (Option.isSome(texts.events)) {
    const path = texts.events.value
    const length =
      Option.isSome(texts.duration) && profile === null
        ? yield* durationIn("duration", texts.duration.value, 1)
        : Infinity
    const log = yield* readLogFlags(texts)
    const { arrivals, beginning, counts, events, premises, span } = yield* readEvents(path, log, types, length)
    const duration = profile === null ? span : Math.ceil(extentOf(profile, events).length)
    const load: Load = {
      name: path.split("/").at(-1) ?? path,
      description: `${events} recorded events`,
      notes: counts.lines(),
      start: new Date(beginning).toISOString().slice(0, 16),
      time_zone: "UTC",
      duration,
      mostEvents: mostOf(events),
      premises,
      beginning,
      end: beginning + duration,
      arrivals: (seed) => withProfile(arrivals, beginning, seed)
    }
    return load
  }
  const duration =
    profile === null ? Option.getOrElse(texts.duration, () => usualPlan.duration) : DurationText.format(longestDuration)
  const { options, scenario } = yield* readPlan({ ...texts, duration })
  const beginning = beginningOf(scenario, options.start)
  const extent = profile === null ? null : extentOf(profile)
  const eventsOf = profile === null ? plan : endlessPlan
  const load: Load = {
    name: scenario.name,
    description: scenario.description,
    notes: [],
    start: texts.start,
    time_zone: timeZoneOf(scenario),
    duration: extent?.length ?? options.duration,
    mostEvents: mostOf(Infinity),
    premises: premisesOf(scenario),
    beginning,
    end: extent === null ? endOf(scenario, options) : beginning + extent.length,
    arrivals: (seed) => withProfile(atPlannedTimes(eventsOf(scenario, { ...options, seed })), beginning, seed)
  }
  return load
})

/** Reads the speed of the run relative to the plan; null for a run without a schedule. */
const readSpeed = Effect.fnUntraced(function* ({ asFastAsPossible, speed }: RunTexts) {
  if (Option.isNone(speed)) return asFastAsPossible ? null : 1
  if (asFastAsPossible) return yield* usage("--speed and --as-fast-as-possible can't be used together")
  const number = positiveNumber(speed.value.replace(/x$/, ""))
  return yield* readOr(number, "speed", speed.value, "a factor above 0, like 60x or 0.5x")
})

const usualInFlight = { paced: 1_000, unpaced: 16 } as const

/**
 * Integrations of a run, and its time span in milliseconds since the epoch. `end` includes the time for deliveries that
 * are still open after the plan.
 */
interface RunBounds {
  readonly integrations: ReadonlyArray<PlannedIntegration>
  readonly beginning: number
  readonly end: number
}

/** Maximum number of integrations to list by name. */
const mostNamed = 10

const namesOf = (integrations: ReadonlyArray<PlannedIntegration>): string => {
  if (integrations.length === 0) return "the run has no integrations; add some with --building-integrations"
  const named = integrations.slice(0, mostNamed).map(({ name, place }) => `${place} = ${name}`)
  const more = integrations.length - named.length
  return `there ${integrations.length === 1 ? "is" : "are"} ${counted(integrations.length, "integration")}: ${named.join("; ")}${more === 0 ? "" : `; and ${more} more`}`
}

/** Whether a rule takes effect during a run. Times of day in the rule are local to `zone`. */
const isMet = ({ down, goneAfter }: ReceiverRule, zone: string, { beginning, end }: RunBounds): boolean => {
  if (goneAfter !== null) return beginning + goneAfter < end
  if (down === null) return true
  // Searches two days for a daily time. For a date, searches the days around it, which is enough in every time zone.
  const from = down.on === null ? beginning : Math.max(beginning, Date.parse(down.on) - dayMillis)
  const until = Math.min(end, down.on === null ? beginning + 2 * dayMillis : Date.parse(down.on) + 3 * dayMillis)
  for (let at = from; at < until; at += minute) if (isWithin(down, momentAt(at, zone))) return true
  return false
}

/**
 * Describes the first `--receiver` rule that would have no effect, because its integration or its time doesn't occur in
 * the run; null if there is none.
 */
const unmetReceiver = (receivers: ReadonlyArray<ReceiverRule>, bounds: RunBounds): string | null => {
  for (const rule of receivers) {
    const own = bounds.integrations.filter(({ place }) => rulesFor([rule], place).length > 0)
    if (own.length === 0) return `--receiver ${rule.text}: no such integration; ${namesOf(bounds.integrations)}`
    if (own.some(({ zone }) => isMet(rule, zone, bounds))) continue
    const [from, to] = [bounds.beginning, bounds.end].map((at) => new Date(at).toISOString().slice(0, 16))
    return `--receiver ${rule.text}: that time is outside the run, which lasts from ${from} to ${to} UTC including the time for open deliveries; expected a time within it, or another --start or --duration`
  }
  return null
}

const readAddress = (text: string): Option.Option<MetricsAddress> => {
  const match = /^(?:([\w.-]+|\[[\da-fA-F:.]+\]):)?(\d{1,5})$/.exec(text.trim())
  const port = Number(match?.[2])
  const host = (match?.[1] ?? "127.0.0.1").replaceAll(/[[\]]/g, "")
  return port >= 1 && port <= 65_535 ? Option.some({ host, port }) : Option.none()
}

/** Reads milliseconds with a fraction, for times that are too short for whole milliseconds. */
const readCpu = (text: string): Option.Option<number> => {
  const match = /^(\d{1,4}(?:\.\d{1,3})?)ms$/.exec(text.trim())
  return match === null ? Option.none() : Option.some(Number(match[1]))
}

/** Reads all settings of a run. */
export const readRun = Effect.fnUntraced(function* (texts: RunTexts) {
  const seed = yield* readOr(wholeNumber(texts.seed), "seed", texts.seed, "a whole number up to 2^53 - 1")
  const speed = yield* readSpeed(texts)
  const maxInFlight =
    (yield* ifGiven(texts.maxInflight, (text) => wholeBetween("max-inflight", text, 1, 10_000))) ??
    usualInFlight[speed === null ? "unpaced" : "paced"]
  const batch = yield* wholeBetween("batch", texts.batch, 1, 1_000)
  const target = yield* readTarget(texts)
  const { kind } = target
  const wrong = misplaced(texts, kind)
  if (wrong !== null) return yield* usage(wrong)
  const seeds = yield* wholeBetween("seeds", texts.seeds, 1, 1_000_000)
  const slos = (yield* readEach("slo", texts.slo, readSlos)).flat()
  for (const slo of slos) {
    const why = unmeasurable(slo, kind, speed !== null)
    if (why !== null) return yield* usage(`--slo ${slo.text}: this run can't measure it: ${why}`)
  }
  if (texts.stopOnMiss && slos.length === 0) return yield* usage("--stop-on-miss needs at least one --slo")
  const reports = (yield* Effect.forEach(texts.report, readReportFiles)).flat()
  yield* checkReportFiles(reports, [
    ...scenarioFile(texts),
    ...Option.toArray(Option.map(texts.operatorKeyFile, (file) => ({ said: `--operator-key-file ${file}`, file }))),
    ...Option.toArray(Option.map(texts.events, (file) => ({ said: `--events ${file}`, file })))
  ])
  const metricsAddress = yield* ifGiven(texts.metrics, (text) =>
    readOr(readAddress(text), "metrics", text, "a port from 1 to 65535, or an address like 0.0.0.0:9464 or [::]:9464")
  )
  const receivers = yield* readEach("receiver", texts.receiver, readReceiver)
  const buildingIntegrations = yield* wholeBetween("building-integrations", texts.buildingIntegrations, 0, 100)
  const tenantIntegrations = yield* wholeBetween("tenant-integrations", texts.tenantIntegrations, 0, 1_000)
  const drain = yield* durationIn("drain", texts.drain)
  const grace = yield* durationIn("grace", texts.grace)
  const types = yield* readTypes(texts.callEnd, Option.getOrNull(texts.events))
  const retry = yield* readRetries(texts.retry, types)
  const ackTimeout = yield* durationIn("ack-timeout", texts.ackTimeout, 1, longestAckTimeout)
  const load = yield* readLoad(texts, kind === "service" ? null : types)
  const integrations =
    kind === "service" ? [] : plannedIntegrations(load.premises, tenantIntegrations, buildingIntegrations)
  const end = load.end + (kind === "virtual" ? drain : Math.round(grace * (speed ?? 1)))
  const unmet = unmetReceiver(receivers, { integrations, beginning: load.beginning, end })
  if (unmet !== null) return yield* usage(unmet)
  const warmUp = (yield* durationIn("warm-up", texts.warmUp)) * (speed ?? 1)
  if (speed !== null && warmUp >= load.end - load.beginning)
    return yield* usage(
      `--warm-up ${texts.warmUp}: expected less than the length of the run, or nothing would be measured`
    )
  return {
    seed,
    seeds,
    load,
    speed,
    maxInFlight,
    batch,
    target,
    slos,
    stopOnMiss: texts.stopOnMiss,
    reports,
    metricsAddress,
    receivers,
    integrations,
    retry,
    types,
    ackTimeout,
    warmUp,
    crashEvery: yield* ifGiven(texts.crashEvery, (text) => durationIn("crash-every", text, 1_000)),
    deleteEvery: yield* ifGiven(texts.deleteEvery, (text) => durationIn("delete-every", text, 1_000)),
    workers: yield* wholeBetween("workers", texts.workers, 1, 100),
    cpu: yield* readOr(readCpu(texts.cpu), "cpu", texts.cpu, "milliseconds like 0.7ms, or 0ms for none"),
    drain,
    grace
  }
})
export type RunSettings = Effect.Success<ReturnType<typeof readRun>>
