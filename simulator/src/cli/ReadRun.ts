/**
 * What the texts of the flags of `simulate run` say.
 */
import type { DeliverySettingsShape } from "@doorhook/core"
import {
  builtInTable,
  CommandFailure,
  defaultDeliverySettings,
  DurationText,
  fileTrouble,
  longestAckTimeout,
  RetryPolicy,
  Signature,
  UrlPolicy
} from "@doorhook/core"
import { Config, Effect, FileSystem, Option, Redacted } from "effect"
import { mostBuildings } from "../scenario/Scenario.ts"
import { readReceiver } from "../receivers/ReceiverText.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { DisorderRates } from "../plan/Disorder.ts"
import { manyBuildings } from "../run/ManyBuildings.ts"
import { parseShare } from "../receivers/ShareText.ts"
import { readSlos } from "../results/Slo.ts"
import { positiveNumber, readOr, readPlan, scenarioFile, wholeNumber } from "./Flags.ts"
import { misplaced } from "./FlagPlaces.ts"
import { plannedIntegrations } from "../run/World.ts"
import { checkReportFiles, readReportFiles } from "./ReportFiles.ts"
import type { RunTexts } from "./RunFlags.ts"
import { keyVariable } from "./RunFlags.ts"
import { unmetReceivers } from "./UnmetReceivers.ts"

const missing = (flag: string, expected: string) => CommandFailure.usage(`--${flag} is missing: give ${expected}`)

const duration = (flag: string, given: string) => readOr(DurationText.parse(given), flag, given, DurationText.expected)

const ackTimeoutOf = (given: string) =>
  readOr(
    Option.filter(DurationText.parse(given), (millis) => millis > 0 && millis <= longestAckTimeout),
    "ack-timeout",
    given,
    `${DurationText.expected}, above 0 and at most ${DurationText.format(longestAckTimeout)}`
  )

/** Below this, an engine does little else on virtual time. */
const shortestInterval = 1_000

/** How often something happens again and again. */
const interval = (flag: string, given: Option.Option<string>) =>
  Option.match(given, {
    onNone: () => Effect.succeed(null),
    onSome: (value) =>
      readOr(
        Option.filter(DurationText.parse(value), (millis) => millis >= shortestInterval),
        flag,
        value,
        `${DurationText.expected}, at least ${DurationText.format(shortestInterval)}`
      )
  })

const wholeWithin = (flag: string, given: string, least: number, most: number) =>
  readOr(
    Option.filter(wholeNumber(given), (count) => count >= least && count <= most),
    flag,
    given,
    `a whole number from ${least} to ${most}`
  )

const share = (flag: string, given: string) =>
  readOr(parseShare(given), flag, given, "a share from 0 to 1, like 0.02 or 2%")

/** An http or https URL; `base` is without query and fragment, and without a slash at its end. */
const readUrl = (flag: string, given: string, expected: string, base: boolean) => {
  const url = URL.parse(given)
  const isHttp = url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.username === ""
  const fits = isHttp && url.hash === "" && (!base || url.search === "")
  const value = fits ? Option.some(base ? url.href.replace(/\/+$/, "") : url.href) : Option.none()
  return readOr(value, flag, given, expected)
}

/** Visible characters of ASCII, with spaces between them: what a header carries unchanged. */
const isKey = (text: string): boolean => /^[!-~](?:[ -~]*[!-~])?$/.test(text)

/** A key and where it was, if it can be one. */
const checkedKey = (operatorKey: Redacted.Redacted, keyFrom: string) =>
  isKey(Redacted.value(operatorKey))
    ? Effect.succeed({ operatorKey, keyFrom })
    : CommandFailure.usage(`${keyFrom}: expected one key on one line, of letters, digits and signs of ASCII`)

/** The key from its flag, its file or the environment, in this order, and where it was. */
const readKey = Effect.fnUntraced(function* ({ operatorKey: key, operatorKeyFile: file }: RunTexts) {
  if (Option.isSome(key)) return yield* checkedKey(key.value, "--operator-key")
  if (Option.isSome(file)) {
    const files = yield* FileSystem.FileSystem
    const read = yield* Effect.mapError(files.readFileString(file.value), (error) =>
      CommandFailure.usage(`--operator-key-file ${file.value}: expected a file that can be read; ${fileTrouble(error)}`)
    )
    return yield* checkedKey(Redacted.make(read.trim()), `--operator-key-file ${file.value}`)
  }
  const operatorKey = yield* Effect.mapError(Config.Redacted(keyVariable), () =>
    missing("operator-key", `it, or --operator-key-file, or set ${keyVariable}`)
  )
  return yield* checkedKey(operatorKey, keyVariable)
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
    if (at < 0 || !builtInTable.has(type))
      return yield* CommandFailure.usage(
        `--retry ${one}: expected RESOURCE=d1,d2,..., RESOURCE being one of ${[...builtInTable.keys()].join(", ")}`
      )
    const rest = one.slice(at + 1)
    const delays = yield* Effect.forEach(rest === "" ? [] : rest.split(","), (delay) => duration("retry", delay))
    const policy = { ...RetryPolicy.policyOf(retry, type), delays }
    const flaw = RetryPolicy.flawOf(policy)
    if (flaw !== null) return yield* CommandFailure.usage(`--retry ${one}: delay ${flaw.at + 1} ${flaw.detail}`)
    retry = { ...retry, [type]: policy }
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
    return { kind: "service", service: { url, ...(yield* readKey(texts)) } } as const
  }
  if (Option.isSome(toReceiver)) {
    const expected = "the URL of a receiver, like http://127.0.0.1:9000/hook"
    const flaw = UrlPolicy.hiddenQueryFlaw(toReceiver.value)
    if (flaw !== null) return yield* CommandFailure.usage(`--to-receiver ${toReceiver.value}: ${flaw}`)
    const url = yield* readUrl("to-receiver", toReceiver.value, expected, false)
    const variable = "DOORHOOK_RECEIVER_SECRET"
    const fromEnvironment = yield* Effect.orElseSucceed(Config.option(Config.Redacted(variable)), Option.none)
    const secret = Option.getOrNull(Option.orElse(texts.secret, () => fromEnvironment))
    const source = Option.isSome(texts.secret) ? "--secret" : variable
    if (secret !== null && Signature.keyOf(secret) === null)
      return yield* CommandFailure.usage(`${source}: expected whsec_ and at least 24 bytes in base64`)
    return { kind: "receiver", url, secret } as const
  }
  return { kind: virtual ? "virtual" : "in-process" } as const
})

/** Everything the flags say. */
export const readRun = Effect.fnUntraced(function* (texts: RunTexts) {
  const { options, scenario } = yield* readPlan(texts)
  const speed = yield* readSpeed(texts)
  const maxInFlight = yield* wholeWithin("max-inflight", texts.maxInFlight, 1, 1_000)
  const target = yield* readTarget(texts)
  const wrong = misplaced(texts, target.kind)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const seeds = yield* wholeWithin("seeds", texts.seeds, 1, 1_000_000)
  if (seeds > 1 && texts.database !== "memory")
    return yield* CommandFailure.usage(
      `--seeds ${texts.seeds} --database ${texts.database}: expected one seed, as a file holds one run; give each --seed a run and a file of its own, or leave out --database`
    )
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
  yield* checkReportFiles(reports, [
    ...scenarioFile(texts),
    ...Option.toArray(Option.map(texts.operatorKeyFile, (file) => ({ said: `--operator-key-file ${file}`, file }))),
    ...(texts.database === "memory" ? [] : [{ said: `--database ${texts.database}`, file: texts.database }])
  ])
  const receivers = yield* readReceivers(texts.receiver)
  const buildingIntegrations = yield* wholeWithin("building-integrations", texts.buildingIntegrations, 0, 100)
  const tenantIntegrations = yield* wholeWithin("tenant-integrations", texts.tenantIntegrations, 0, 1_000)
  const drain = yield* duration("drain", texts.drain)
  const grace = yield* duration("grace", texts.grace)
  const allBuildings = manyBuildings(scenario, buildings)
  const isVirtual = target.kind === "virtual"
  const notes = yield* Effect.mapError(
    Effect.fromResult(
      unmetReceivers(receivers, {
        integrations: plannedIntegrations(allBuildings, tenantIntegrations, buildingIntegrations),
        start: options.start,
        duration: options.duration,
        after: isVirtual ? drain : Math.round(grace * (speed ?? 1)),
        keepsSchedule: isVirtual || speed !== null
      })
    ),
    CommandFailure.usage
  )
  return {
    options,
    scenario: allBuildings,
    speed: isVirtual ? 1 : speed,
    maxInFlight,
    target,
    disorder,
    slos: slos.flat(),
    reports,
    receivers,
    /** What is worth saying before the run. */
    notes,
    retry: yield* readRetries(texts.retry),
    ackTimeout: yield* ackTimeoutOf(texts.ackTimeout),
    buildingIntegrations,
    tenantIntegrations,
    crashEvery: yield* interval("crash-every", texts.crashEvery),
    deleteEvery: yield* interval("delete-every", texts.deleteEvery),
    workers: yield* wholeWithin("workers", texts.workers, 1, 10),
    database: texts.database,
    seeds,
    drain,
    grace,
    start: texts.start
  }
})
export type RunSettings = Effect.Success<ReturnType<typeof readRun>>
