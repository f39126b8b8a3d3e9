/**
 * The flags of `simulate run`, and what their texts say.
 */
import type { DeliverySettingsShape } from "@doorhook/core"
import {
  CommandFailure,
  defaultDeliverySettings,
  DurationText,
  ResourceType,
  fileTrouble,
  resourceTypeNames,
  Signature
} from "@doorhook/core"
import { Config, Effect, FileSystem, Option, Redacted, Schema } from "effect"
import { Flag } from "effect/cli"
import { readReceiver, receiverForms } from "../receivers/ReceiverText.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { DisorderRates } from "../run/Disorder.ts"
import { manyBuildings, mostBuildings } from "../run/ManyBuildings.ts"
import { readSlos } from "../run/Slo.ts"
import { planFlags, positiveNumber, readOr, readPlan, wholeNumber } from "./Flags.ts"
import { checkReportFiles, readReportFiles } from "./ReportFiles.ts"

const keyVariable = "DOORHOOK_OPERATOR_KEY"

const text = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))
const optional = (name: string, description: string) => Flag.optional(text(name, description))
const usually = (name: string, value: string, description: string) =>
  Flag.withDefault(text(name, `${description} (default ${value})`), value)
const repeated = (name: string, description: string) => Flag.atLeast(text(name, description), 0)

export const runFlags = {
  ...planFlags,
  buildings: usually("buildings", "1", "How many times over the scenario's buildings exist"),
  buildingIntegrations: usually("building-integrations", "1", "Integrations of each building"),
  tenantIntegrations: usually(
    "tenant-integrations",
    "2",
    "Tenants of each building that have an integration of their own"
  ),
  to: optional("to", "Publish to this doorhook service, and ask it what became of each event"),
  toReceiver: optional("to-receiver", "Deliver to this URL with doorhook's own sender: signed, retried"),
  virtual: Flag.Boolean("virtual").pipe(
    Flag.withDescription("On virtual time: traffic, the real engine and modelled receivers, as fast as they compute"),
    Flag.withDefault(false)
  ),
  speed: optional("speed", "How many times faster than the plan, like 60x (default 1x)"),
  asFastAsPossible: Flag.Boolean("as-fast-as-possible").pipe(
    Flag.withDescription("Keep no schedule: publish as fast as it is taken"),
    Flag.withDefault(false)
  ),
  maxInFlight: usually(
    "max-inflight",
    "1",
    "Requests to publish open at once; with more than 1, batches may overtake each other"
  ),
  dupRate: usually("dup-rate", "0", "Share of events that are published twice, like 0.02 or 2%"),
  reorder: usually("reorder", "0", "Share of events that come out of order, by up to half a minute"),
  late: usually("late", "0", "Share of events that come minutes or hours late, as from a controller that was offline"),
  receiver: repeated(
    "receiver",
    `How a modelled receiver behaves, repeatable: ${receiverForms.join(" / ")}; before it 2= or 10%= for some`
  ),
  retry: repeated("retry", "Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
  ackTimeout: usually("ack-timeout", "5s", "How long a receiver has to acknowledge"),
  crashEvery: optional("crash-every", "Virtual: kill the engine this often, in the middle of something"),
  deleteEvery: optional("delete-every", "Virtual: delete an integration this often, and make another one"),
  workers: usually("workers", "1", "Virtual: processes that deliver over one store"),
  database: usually("database", "memory", "Virtual: memory, or a new SQLite file"),
  seeds: usually("seeds", "1", "Virtual: run this many seeds, one after the other; reports are of the first"),
  drain: usually("drain", "4d", "Virtual: how long what is open at the end of the plan may go on"),
  grace: usually("grace", "30s", "How long to wait for what is open at the end, or after Ctrl-C"),
  slo: repeated("slo", "Objectives, like ack_p99<5s,lost=0,rate>=95%; missed ones make the exit code 1"),
  report: repeated("report", "Files to write: html=FILE,json=FILE,csv=FILE"),
  secret: Flag.Redacted("secret").pipe(
    Flag.withDescription("The receiver's signing secret (whsec_...); also from DOORHOOK_RECEIVER_SECRET"),
    Flag.optional
  ),
  operatorKey: Flag.Redacted("operator-key").pipe(
    Flag.withDescription(`The service's operator key; also from ${keyVariable} or --operator-key-file`),
    Flag.optional
  ),
  operatorKeyFile: optional("operator-key-file", "A file that holds the operator key")
}

export type RunTexts = {
  readonly [Name in keyof typeof runFlags]: (typeof runFlags)[Name] extends Flag.Flag<infer A> ? A : never
}

const missing = (flag: string, expected: string) => CommandFailure.usage(`--${flag} is missing: give ${expected}`)

const duration = (flag: string, given: string) => readOr(DurationText.parse(given), flag, given, DurationText.expected)

const positiveDuration = (flag: string, given: Option.Option<string>) =>
  Option.match(given, {
    onNone: () => Effect.succeed(null),
    onSome: (value) =>
      readOr(
        Option.filter(DurationText.parse(value), (millis) => millis > 0),
        flag,
        value,
        `${DurationText.expected}, above 0`
      )
  })

const wholeWithin = (flag: string, given: string, least: number, most: number) =>
  readOr(
    Option.filter(wholeNumber(given), (count) => count >= least && count <= most),
    flag,
    given,
    `a whole number from ${least} to ${most}`
  )

const share = (flag: string, given: string) => {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(given)
  const value = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1)
  return readOr(value <= 1 ? Option.some(value) : Option.none(), flag, given, "a share from 0 to 1, like 0.02 or 2%")
}

/** An http or https URL; `base` is without query and fragment, and without a slash at its end. */
const readUrl = (flag: string, given: string, expected: string, base: boolean) => {
  const url = URL.parse(given)
  const isHttp = url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.username === ""
  const fits = isHttp && url.hash === "" && (!base || url.search === "")
  const value = fits ? Option.some(base ? url.href.replace(/\/+$/, "") : url.href) : Option.none()
  return readOr(value, flag, given, expected)
}

/** The key from its flag, its file or the environment, in this order. */
const readKey = Effect.fnUntraced(function* ({ operatorKey: key, operatorKeyFile: file }: RunTexts) {
  if (Option.isSome(key)) return key.value
  if (Option.isSome(file)) {
    const files = yield* FileSystem.FileSystem
    const read = yield* Effect.mapError(files.readFileString(file.value), (error) =>
      CommandFailure.usage(`--operator-key-file ${file.value}: expected a file that can be read; ${fileTrouble(error)}`)
    )
    return Redacted.make(read.trim())
  }
  return yield* Effect.mapError(Config.Redacted(keyVariable), () =>
    missing("operator-key", `it, or --operator-key-file, or set ${keyVariable}`)
  )
})

/** Times faster than the plan; null for no schedule. */
const readSpeed = Effect.fnUntraced(function* ({ asFastAsPossible, speed }: RunTexts) {
  if (Option.isNone(speed)) return asFastAsPossible ? null : 1
  if (asFastAsPossible) return yield* CommandFailure.usage("--speed and --as-fast-as-possible exclude each other")
  const number = positiveNumber(speed.value.replace(/x$/, ""))
  return yield* readOr(number, "speed", speed.value, "a number of times above 0, like 60x or 0.5x")
})

const readRetries = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  let retry: DeliverySettingsShape["retry"] = defaultDeliverySettings.retry
  for (const one of given) {
    const at = one.indexOf("=")
    const type = one.slice(0, at)
    if (at < 0 || !Schema.is(ResourceType)(type))
      return yield* CommandFailure.usage(
        `--retry ${one}: expected RESOURCE=d1,d2,..., RESOURCE being one of ${resourceTypeNames.join(", ")}`
      )
    const rest = one.slice(at + 1)
    const delays = yield* Effect.forEach(rest === "" ? [] : rest.split(","), (delay) => duration("retry", delay))
    retry = { ...retry, [type]: { ...retry[type], delays } }
  }
  return retry
})

const readReceivers = (given: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ReceiverRule>, CommandFailure> =>
  Effect.forEach(given, (one) =>
    Effect.mapError(Effect.fromResult(readReceiver(one)), (why) => CommandFailure.usage(`--receiver ${one}: ${why}`))
  )

/** Where a run's events go. */
const readTarget = Effect.fnUntraced(function* (texts: RunTexts) {
  const { to, toReceiver, virtual } = texts
  const given = [Option.isSome(to), Option.isSome(toReceiver), virtual].filter(Boolean).length
  if (given > 1) return yield* CommandFailure.usage("--to, --to-receiver and --virtual exclude each other")
  if (Option.isSome(to)) {
    const url = yield* readUrl("to", to.value, "the base URL of a service, like http://127.0.0.1:4000", true)
    return { kind: "service", service: { url, operatorKey: yield* readKey(texts) } } as const
  }
  if (Option.isSome(toReceiver)) {
    const expected = "the URL of a receiver, like http://127.0.0.1:9000/hook"
    const url = yield* readUrl("to-receiver", toReceiver.value, expected, false)
    const secret = yield* Config.Redacted("DOORHOOK_RECEIVER_SECRET").pipe(
      Config.option,
      Effect.map((fromEnvironment) => Option.getOrNull(Option.orElse(texts.secret, () => fromEnvironment))),
      Effect.orElseSucceed(() => Option.getOrNull(texts.secret))
    )
    if (secret !== null && Signature.keyOf(secret) === null)
      return yield* CommandFailure.usage("--secret: expected whsec_ and at least 24 bytes in base64")
    return { kind: "receiver", url, secret } as const
  }
  return { kind: virtual ? "virtual" : "in-process" } as const
})

const isDefault = (given: string | Option.Option<string> | ReadonlyArray<string>, usual = ""): boolean =>
  typeof given === "string" ? given === usual : "length" in given ? given.length === 0 : Option.isNone(given)

/** Flags that mean nothing where the run goes. */
const misplaced = (texts: RunTexts, kind: "service" | "receiver" | "virtual" | "in-process"): string | null => {
  const onVirtual = [
    ["crash-every", isDefault(texts.crashEvery)],
    ["delete-every", isDefault(texts.deleteEvery)],
    ["workers", isDefault(texts.workers, "1")],
    ["database", isDefault(texts.database, "memory")],
    ["seeds", isDefault(texts.seeds, "1")]
  ] as const
  const first = (flags: ReadonlyArray<readonly [string, boolean]>) => flags.find(([, unused]) => !unused)?.[0]
  if (kind !== "service" && Option.isSome(texts.operatorKey))
    return "--operator-key needs --to: the service whose key it is"
  if (kind !== "service" && Option.isSome(texts.operatorKeyFile))
    return "--operator-key-file needs --to: the service whose key it holds"
  if (kind !== "receiver" && Option.isSome(texts.secret))
    return "--secret needs --to-receiver: the receiver whose secret it is"
  const virtualOnly = kind === "virtual" ? undefined : first(onVirtual)
  if (virtualOnly !== undefined) return `--${virtualOnly} needs --virtual`
  if (kind === "virtual" && (Option.isSome(texts.speed) || texts.asFastAsPossible))
    return "--virtual runs as fast as it computes: --speed and --as-fast-as-possible do not go with it"
  if ((kind === "service" || kind === "receiver") && texts.receiver.length > 0)
    return "--receiver models receivers, and this run goes to a real one: leave out --to and --to-receiver, or --receiver"
  if (kind === "service" && texts.retry.length > 0)
    return "--retry is a setting of the service that --to names: give it to doorhook serve"
  return null
}

/** Everything the flags say. */
export const readRun = Effect.fnUntraced(function* (texts: RunTexts) {
  const { options, scenario } = yield* readPlan(texts)
  const speed = yield* readSpeed(texts)
  const maxInFlight = yield* wholeWithin("max-inflight", texts.maxInFlight, 1, 1_000)
  const target = yield* readTarget(texts)
  const wrong = misplaced(texts, target.kind)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const most = Math.floor(mostBuildings / scenario.buildings.length)
  const buildings = yield* wholeWithin("buildings", texts.buildings, 1, most)
  const disorder: DisorderRates = {
    repeated: yield* share("dup-rate", texts.dupRate),
    reordered: yield* share("reorder", texts.reorder),
    delayed: yield* share("late", texts.late)
  }
  const slos = yield* Effect.forEach(texts.slo, (one) =>
    Effect.mapError(Effect.fromResult(readSlos(one)), (why) => CommandFailure.usage(`--slo ${one}: ${why}`))
  )
  const reports = (yield* Effect.forEach(texts.report, readReportFiles)).flat()
  yield* checkReportFiles(reports)
  return {
    options,
    scenario: manyBuildings(scenario, buildings),
    speed: target.kind === "virtual" ? 1 : speed,
    maxInFlight,
    target,
    disorder,
    slos: slos.flat(),
    reports,
    receivers: yield* readReceivers(texts.receiver),
    retry: yield* readRetries(texts.retry),
    ackTimeout:
      (yield* positiveDuration("ack-timeout", Option.some(texts.ackTimeout))) ?? defaultDeliverySettings.ackTimeout,
    buildingIntegrations: yield* wholeWithin("building-integrations", texts.buildingIntegrations, 0, 100),
    tenantIntegrations: yield* wholeWithin("tenant-integrations", texts.tenantIntegrations, 0, 1_000),
    crashEvery: yield* positiveDuration("crash-every", texts.crashEvery),
    deleteEvery: yield* positiveDuration("delete-every", texts.deleteEvery),
    workers: yield* wholeWithin("workers", texts.workers, 1, 10),
    database: texts.database,
    seeds: yield* wholeWithin("seeds", texts.seeds, 1, 1_000_000),
    drain: yield* duration("drain", texts.drain),
    grace: yield* duration("grace", texts.grace),
    start: texts.start
  }
})
export type RunSettings = Effect.Success<ReturnType<typeof readRun>>

/** The command line that says the same, in one line, with another seed where one is given. */
export const commandLine = (texts: RunTexts, seed = texts.seed): string => {
  const words: Array<string> = ["npx doorhook simulate run"]
  const quoted = (value: string) => (/^[\w.,:/=@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`)
  const add = (flag: string, value: string) => words.push(`--${flag}`, quoted(value))
  const some = (flag: string, value: Option.Option<string>) => (Option.isSome(value) ? add(flag, value.value) : 0)
  const unless = (flag: string, value: string, usual: string) => (value === usual ? 0 : add(flag, value))
  if (texts.virtual) words.push("--virtual")
  some("to", texts.to)
  some("to-receiver", texts.toReceiver)
  some("preset", texts.preset)
  some("scenario", texts.scenario)
  add("seed", seed)
  add("start", texts.start)
  add("duration", texts.duration)
  unless("rate-scale", texts.rateScale, "1")
  unless("buildings", texts.buildings, "1")
  unless("building-integrations", texts.buildingIntegrations, "1")
  unless("tenant-integrations", texts.tenantIntegrations, "2")
  some("speed", texts.speed)
  if (texts.asFastAsPossible) words.push("--as-fast-as-possible")
  unless("max-inflight", texts.maxInFlight, "1")
  unless("dup-rate", texts.dupRate, "0")
  unless("reorder", texts.reorder, "0")
  unless("late", texts.late, "0")
  for (const receiver of texts.receiver) add("receiver", receiver)
  for (const retry of texts.retry) add("retry", retry)
  unless("ack-timeout", texts.ackTimeout, "5s")
  some("crash-every", texts.crashEvery)
  some("delete-every", texts.deleteEvery)
  unless("workers", texts.workers, "1")
  unless("database", texts.database, "memory")
  unless("drain", texts.drain, "4d")
  for (const slo of texts.slo) add("slo", slo)
  return words.join(" ")
}
