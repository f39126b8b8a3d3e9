/**
 * Flags of the commands that test a receiver. They are checked and converted to settings before anything is sent or
 * started.
 */
import { CommandFailure, DurationText, Signature } from "@doorhook/core"
import { Config, Effect, Option, Redacted, Result, Schema, Struct } from "effect"
import { Flag } from "effect/cli"
import type { Command } from "effect/cli"
import { templates } from "../history/Events.ts"
import { defaults, leastDeadline, levels, rows, secretVariable, seedLimit } from "../record/Options.ts"
import type { Options } from "../record/Options.ts"
import { allRequirements, entriesOf, find, ids, matches } from "../requirements/Catalogue.ts"
import { profiles } from "../requirements/Requirement.ts"
import type { Level, Profile } from "../requirements/Requirement.ts"
import * as Target from "../run/Target.ts"

type Name = keyof typeof rows

const about =
  (name: Name) =>
  <A>(flag: Flag.Flag<A>): Flag.Flag<A> => {
    const { help, metavar } = rows[name]
    const described = Flag.withDescription(flag, help)
    return metavar === undefined ? described : Flag.withMetavar(described, metavar)
  }

/** Makes a flag optional: null if it is left out. */
const orNull = <A>(flag: Flag.Flag<A>): Flag.Flag<A | null> => Flag.map(Flag.optional(flag), Option.getOrNull)

const text = (name: Name) => Flag.String(rows[name].flag).pipe(about(name), orNull)
const texts = (name: Name, least = 0) => Flag.String(rows[name].flag).pipe(about(name), Flag.atLeast(least))
const int = (name: Name) => Flag.Int(rows[name].flag).pipe(about(name), orNull)
const boolean = (name: Name) => Flag.Boolean(rows[name].flag).pipe(about(name), Flag.withDefault(false))
const duration = (name: Name) =>
  Flag.String(rows[name].flag).pipe(
    about(name),
    Flag.withMetavar("DURATION"),
    Flag.withSchema(DurationText.DurationText)
  )

/** The flags of `run`, in the order of `--help`. */
export const runFlags = {
  url: texts("url", 1),
  owned: boolean("owned"),
  binding: texts("binding"),
  secret: Flag.Redacted("secret").pipe(
    Flag.withDescription(
      `Signs the requests: the receiver's whsec_ secret, or a whsk_ private key if it verifies with the public key. It is safer to set ${secretVariable}`
    ),
    Flag.withFallbackConfig(Config.Redacted(secretVariable)),
    orNull
  ),
  secretFile: Flag.FileText("secret-file").pipe(
    Flag.withDescription("Reads the secret from a file"),
    Flag.withMetavar("FILE"),
    orNull
  ),
  ack: Flag.Literals(rows.ack.flag, ["200", "2xx"]).pipe(about("ack"), Flag.withDefault(defaults.ack)),
  dedupKey: Flag.Literals(rows.dedupKey.flag, ["both", "header", "body"]).pipe(
    about("dedupKey"),
    Flag.withDefault(defaults.dedupKey)
  ),
  peakRate: text("peakRate"),
  maxRate: text("maxRate"),
  probe: text("probe"),
  controlUrl: text("controlUrl"),
  spawn: text("spawn"),
  portEnv: text("portEnv"),
  restartCmd: text("restartCmd"),
  killCmd: text("killCmd"),
  readyUrl: text("readyUrl"),
  pauseCmd: text("pauseCmd"),
  resumeCmd: text("resumeCmd"),
  advanceCmd: text("advanceCmd"),
  level: int("level"),
  profile: texts("profile"),
  only: texts("only"),
  skip: texts("skip"),
  baseline: Flag.FileText(rows.baseline.flag).pipe(about("baseline"), orNull),
  strict: boolean("strict"),
  rules: text("rules"),
  seed: int("seed"),
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDescription("Prints what would be sent, case by case; sends and starts nothing"),
    Flag.withDefault(false)
  ),
  maxTime: Flag.map(Flag.optional(duration("maxTime")), Option.getOrNull),
  deadline: Flag.withDefault(duration("deadline"), defaults.deadline),
  settle: Flag.withDefault(duration("settle"), defaults.settle),
  tolerance: Flag.withDefault(duration("tolerance"), defaults.tolerance),
  report: Flag.String("report").pipe(
    Flag.withDescription("Writes reports to files: json=FILE,html=FILE,...; also junit and md"),
    Flag.withMetavar("KIND=FILE"),
    Flag.atLeast(0)
  ),
  cases: Flag.String(rows.cases.flag).pipe(about("cases"), Flag.withDefault(".conformance/cases")),
  trace: text("trace")
}
export type RunFlags = Command.Command.Config.Infer<typeof runFlags>

/** The flags that `run` shares with `doctor` and `replay`. */
export const targetFlags = Struct.omit(runFlags, ["only", "skip", "baseline", "strict", "dryRun", "trace"])
export type TargetFlags = Command.Command.Config.Infer<typeof targetFlags>

/** The headings of the flags in `--help`, each with the first flag under it. */
export const flagGroups = {
  url: "Target",
  probe: "Probe and control",
  spawn: "Hooks",
  level: "What is tested",
  "max-time": "Time",
  report: "Reports"
} as const

/** Settings taken unchanged from their flags. */
const plain = [
  ...(["owned", "probe", "spawn", "portEnv", "restartCmd", "killCmd", "readyUrl", "pauseCmd", "resumeCmd"] as const),
  ...(["advanceCmd", "controlUrl", "ack", "dedupKey", "rules", "deadline", "settle", "tolerance", "cases"] as const)
] as const

type Reading<A> = Effect.Effect<A, CommandFailure>

const refuse = (message: string): Effect.Effect<never, CommandFailure> => Effect.fail(CommandFailure.usage(message))

const isProfile = (name: string): name is Profile => Object.hasOwn(profiles, name)

const readProfiles = (given: ReadonlyArray<string>): Reading<ReadonlyArray<Profile>> => {
  const words = entriesOf(given)
  const unknown = words.find((word) => !isProfile(word))
  return unknown === undefined
    ? Effect.succeed([...new Set(words.filter(isProfile))])
    : refuse(`--profile ${unknown}: no such profile; use ${Object.keys(profiles).join(", ")}`)
}

const readBindings = (given: ReadonlyArray<string>): Reading<ReadonlyArray<string> | null> => {
  const words = entriesOf(given)
  const known = Object.keys(templates)
  const unknown = words.find((word) => !known.includes(word))
  if (unknown !== undefined) {
    return refuse(`--binding ${unknown}: no such binding; use ${known.join(" or ")}`)
  }
  return Effect.succeed(words.length === 0 ? null : known.filter((binding) => words.includes(binding)))
}

const readLevel = ({ controlUrl, killCmd, level: asked, probe, restartCmd, spawn }: TargetFlags): Reading<Level> => {
  const hasHook = [killCmd, restartCmd, spawn].some((command) => command !== null)
  if (asked === null) return Effect.succeed(probe === null ? 1 : hasHook ? 3 : 2)
  const level = levels.find((one) => one === asked)
  if (level === undefined) return refuse(`--level ${asked}: no such level; use 1, 2 or 3`)
  if (level >= 2 && probe === null) {
    return refuse(`--level ${level} needs a probe: --probe http:URL, exec:CMD or log:FILE:REGEX`)
  }
  return level === 3 && !hasHook && controlUrl === null
    ? refuse("--level 3 needs a way to stop the receiver: --restart-cmd, --kill-cmd or --spawn")
    : Effect.succeed(level)
}

/** Events a second from `50/s` or `3000/m`. */
const readRate = (name: "peakRate" | "maxRate", given: string | null): Reading<number | null> => {
  if (given === null) return Effect.succeed(null)
  const match = /^(\d+(?:\.\d+)?)(?:\/(s|m))?$/.exec(given.trim())
  const rate = match === null ? 0 : Number(match[1]) / (match[2] === "m" ? 60 : 1)
  return rate > 0 && rate <= 10_000
    ? Effect.succeed(rate)
    : refuse(`--${rows[name].flag} ${given}: write events a second like 50/s, or a minute like 3000/m; at most 10000/s`)
}

const readSecret = ({ secret, secretFile }: TargetFlags): Reading<Redacted.Redacted<string> | null> => {
  if (secret !== null && secretFile !== null) {
    return refuse(`give --secret or --secret-file, not both (${secretVariable} counts as --secret)`)
  }
  const given = secretFile === null ? secret : Redacted.make(secretFile.trim())
  return given === null || Signature.keyOf(given) !== null
    ? Effect.succeed(given)
    : refuse(
        `--secret (or ${secretVariable}) must be a Standard Webhooks secret, whsec_ and base64, or an Ed25519 private key, whsk_ and base64 of 32 bytes`
      )
}

/** Parses the URL of a flag other than `--url`. */
const readUrl = (flag: string, given: string | null): Reading<URL | null> =>
  given === null
    ? Effect.succeed(null)
    : Effect.fromResult(
        Result.mapError(Target.parse(given), ({ message }) => CommandFailure.usage(message.replace("--url", flag)))
      )

const readUrls = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const [url, ...others] = yield* Effect.fromResult(Result.all(given.map(Target.parse)))
  if (url === undefined) return yield* CommandFailure.usage("--url is missing: the URL that events are posted to")
  if (others.length > 1) {
    return yield* CommandFailure.usage(
      `--url was given ${given.length} times: the tenant profile compares exactly two; test others in another run`
    )
  }
  if (others.some(({ href }) => href === url.href)) {
    return yield* CommandFailure.usage(
      "--url was given twice with the same URL: the tenant profile needs the receiver's URL for another integration"
    )
  }
  const urls: Checked["urls"] = [url, ...others]
  return urls
})

const commands = ["restartCmd", "killCmd", "pauseCmd", "resumeCmd", "advanceCmd", "spawn"] as const

/** Returns the first problem with the flags; null if there is none. */
const flawOf = (flags: TargetFlags): string | null => {
  const { killCmd, pauseCmd, portEnv, restartCmd, resumeCmd, seed, spawn } = flags
  // A command can be empty because a shell variable is unset.
  const empty = commands.find((name) => flags[name]?.trim() === "")
  if (empty !== undefined) return `--${rows[empty].flag}: the command is missing`
  if ((pauseCmd === null) !== (resumeCmd === null)) return "--pause-cmd and --resume-cmd go together: give both"
  if (portEnv !== null && spawn === null) return "--port-env is for --spawn: give both"
  if (spawn !== null && [restartCmd, killCmd, pauseCmd].some((command) => command !== null)) {
    return "--spawn starts and stops the receiver itself: leave out --restart-cmd, --kill-cmd, --pause-cmd and --resume-cmd"
  }
  if (flags.deadline < leastDeadline)
    return `--deadline must be at least ${leastDeadline}ms: shorter deadlines can't be measured`
  const none = (["maxTime", "settle", "tolerance"] as const).find((name) => (flags[name] ?? 1) <= 0)
  if (none !== undefined) return `--${rows[none].flag} must be more than 0s`
  return seed !== null && (seed < 0 || seed >= seedLimit)
    ? `--seed must be a whole number from 0 to ${seedLimit - 1}`
    : null
}

/** Returns the message about a selected profile that lacks a flag; null if no flag is missing. */
const lackingFor = ({ options, secret, urls }: Checked): string | null => {
  const { advanceCmd, controlUrl, level, peakRate, profile: chosen } = options
  const probe = (profile: Profile): string | null =>
    level === 1 ? `--profile ${profile} needs a probe: --level 2 --probe ...` : null
  const lacks: Readonly<Record<Profile, string | null>> = {
    signed:
      secret === null ? `--profile signed needs the receiver's secret: --secret SECRET, or ${secretVariable}` : null,
    tenant:
      urls.length < 2
        ? "--profile tenant needs a second --url: the receiver's URL for another integration"
        : probe("tenant"),
    clock:
      advanceCmd === null && controlUrl === null
        ? "--profile clock needs --advance-cmd: a command that moves the receiver's clock"
        : probe("clock"),
    load:
      peakRate === null ? "--profile load needs --peak-rate: the load that the receiver is made for, like 50/s" : null
  }
  return chosen.map((profile) => lacks[profile]).find((lack) => lack !== null) ?? null
}

/** The checked flags: settings (with a seed only if one was given), URLs and the secret. */
export interface Checked {
  readonly options: Omit<Options, "seed"> & Partial<Pick<Options, "seed">>
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly secret: Redacted.Redacted<string> | null
  readonly readyUrl: URL | null
  readonly controlUrl: URL | null
}

/** Checks the flags and converts them to settings. */
export const checkFlags = Effect.fnUntraced(function* (flags: TargetFlags): Effect.fn.Return<Checked, CommandFailure> {
  const urls = yield* readUrls(flags.url)
  const flaw = flawOf(flags)
  if (flaw !== null) return yield* CommandFailure.usage(flaw)
  const level = yield* readLevel(flags)
  const profile = yield* readProfiles(flags.profile)
  const binding = yield* readBindings(flags.binding)
  const peakRate = yield* readRate("peakRate", flags.peakRate)
  const maxRate = yield* readRate("maxRate", flags.maxRate)
  const secret = yield* readSecret(flags)
  const checked: Checked = {
    urls,
    secret,
    readyUrl: yield* readUrl("--ready-url", flags.readyUrl),
    controlUrl: yield* readUrl("--control-url", flags.controlUrl),
    options: {
      ...defaults,
      url: urls.map(({ href }) => href),
      ...Struct.pick(flags, plain),
      maxTime: flags.maxTime ?? defaults.maxTime,
      binding,
      signed: secret !== null,
      level,
      profile,
      peakRate,
      maxRate,
      ...(flags.seed !== null && { seed: flags.seed })
    }
  }
  const lacking = lackingFor(checked)
  return lacking === null ? checked : yield* CommandFailure.usage(lacking)
})

/** A baseline as JSON: a list of ids, or the report of an earlier run. */
const JsonBaseline = Schema.fromJsonString(
  Schema.Union([
    Schema.Array(Schema.String),
    Schema.Struct({ requirements: Schema.Array(Schema.Struct({ id: Schema.String, verdict: Schema.String })) })
  ])
)

/**
 * Reads the entries of a baseline file: a JSON list of ids, the failures in a report, or lines of ids with `#`
 * comments.
 */
const wordsOf = (content: string): ReadonlyArray<string> => {
  const json = Option.getOrNull(Schema.decodeOption(JsonBaseline)(content))
  if (json === null) return content.split("\n").flatMap((line) => (line.split("#")[0] ?? "").split(/[\s,]+/))
  return "requirements" in json
    ? json.requirements.flatMap(({ id, verdict }) => (verdict === "FAIL" ? [id] : []))
    : json
}

/** Reads the requirement ids in a baseline file; null without a file. */
export const readBaseline = (content: string | null): Reading<ReadonlyArray<string> | null> => {
  if (content === null) return Effect.succeed(null)
  const words = wordsOf(content).filter((word) => word !== "")
  const known = words.flatMap((word) =>
    word.includes("*")
      ? allRequirements()
          .filter(({ id }) => matches(id, word))
          .map(({ id }) => id)
      : (find(word)?.id ?? [])
  )
  const unknown = words.find((word) => !word.includes("*") && find(word) === undefined)
  return unknown === undefined
    ? Effect.succeed([...new Set(known)])
    : refuse(
        `--baseline: ${unknown} is no requirement. The file must list ids, on lines or as a JSON list, or be the JSON report of an earlier run; the ids are ${ids()}`
      )
}
