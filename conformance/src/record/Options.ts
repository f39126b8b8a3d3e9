/**
 * The settings of a run, one row for each. The rows determine the schema and the defaults of the settings, the flags of
 * the commands, and the command that repeats a run.
 *
 * Settings are plain data without secrets. `Means` contains the probe, the hooks and the secret that are made from
 * them.
 */
import { Acknowledgement, DurationText, Shell, UrlPolicy } from "@doorhook/core"
import { Effect, Schema, Struct } from "effect"
import type { Redacted } from "effect"
import { program } from "../Program.ts"
import { noHooks } from "../hooks/Hooks.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { DedupKey, defaultTolerance } from "../judgement/Criteria.ts"
import type { Probe } from "../probes/Probe.ts"
import { profiles } from "../requirements/Requirement.ts"

export const levels = [1, 2, 3] as const

/** Default time of a run, in milliseconds. In a shorter run, waits are shorter. */
export const defaultMaxTime = 120_000
export const defaultSettle = 10_000
/** Shortest deadline that the suite can measure, in milliseconds. */
export const leastDeadline = 200
/** Seeds have up to 31 bits. */
export const seedLimit = 2 ** 31

/** A setting and its flag (`command/Flags.ts`). */
interface Setting<S extends Schema.Top> {
  /** Name without the two dashes. */
  readonly flag: string
  readonly help: string
  readonly schema: S
  /** The default. */
  readonly usual: S["Type"]
  readonly metavar: string | undefined
  /** Form of the value in the flag, if it differs from the form in the settings. */
  readonly unit: "duration" | "rate" | null
  /** Whether the command that repeats a history needs the flag. */
  readonly repeats: boolean
}

const setting = <S extends Schema.Top>(
  flag: string,
  schema: S,
  usual: S["Type"],
  help: string,
  { metavar, repeats = true, unit = null }: Partial<Pick<Setting<S>, "metavar" | "repeats" | "unit">> = {}
): Setting<S> => ({ flag, help, schema, usual, metavar, unit, repeats })

const Texts = Schema.Array(Schema.String)
const Text = Schema.NullOr(Schema.String)

const text = (flag: string, metavar: string, help: string) => setting(flag, Text, null, help, { metavar })
const texts = (flag: string, metavar: string, help: string, repeats = true) =>
  setting(flag, Texts, [], help, { metavar, repeats })
/** Makes a setting in milliseconds. */
const duration = (flag: string, usual: number, help: string) =>
  setting(flag, Schema.Finite, usual, help, { unit: "duration" })

/** All settings. URLs and commands are as given; null if not given. */
export const rows = {
  url: texts(
    "url",
    "URL",
    "The receiver's URL, which events are posted to. Port 0 is any free port, for --spawn with --port-env. A second --url is for the tenant profile"
  ),
  owned: setting(
    "i-own-this-target",
    Schema.Boolean,
    false,
    "Confirms that the receiver is yours, and allows a receiver outside this machine and private networks"
  ),
  binding: setting(
    "binding",
    Schema.NullOr(Texts),
    null,
    "What the receiver is bound to, like access_log:create; repeatable. Events that no binding selects are never sent",
    { metavar: "TYPE:ACTION" }
  ),
  spawn: text(
    "spawn",
    "CMD",
    "Starts the receiver. The suite then kills, restarts and pauses it without the commands below"
  ),
  portEnv: text("port-env", "NAME", "The variable in which a spawned receiver finds the port of --url"),
  restartCmd: text("restart-cmd", "CMD", "Stops the receiver if it runs, and starts it in the background"),
  killCmd: text("kill-cmd", "CMD", "Kills the receiver immediately (SIGKILL)"),
  readyUrl: text(
    "ready-url",
    "URL",
    "Answers 2xx once the receiver is ready; without it, an open port is enough. Behind a proxy, a URL of the receiver itself"
  ),
  pauseCmd: text("pause-cmd", "CMD", "Pauses the receiver (SIGSTOP)"),
  resumeCmd: text("resume-cmd", "CMD", "Resumes the receiver (SIGCONT)"),
  advanceCmd: text("advance-cmd", "CMD", "Moves the receiver's clock by ADVANCE_SECONDS, for --profile clock"),
  controlUrl: text("control-url", "URL", "POST URL/double?id=... makes the receiver record one more effect"),
  probe: text("probe", "PROBE", "How effects are counted: http:URL, exec:CMD or log:FILE:REGEX"),
  settle: duration("settle", defaultSettle, "How long to wait for effects after an acknowledgement; 10s by default"),
  level: setting(
    "level",
    Schema.Literals(levels),
    1,
    "1 needs only the URL, 2 also a probe, 3 also --spawn or a restart or kill command; by default the highest that the flags allow"
  ),
  profile: setting(
    "profile",
    Schema.Array(Schema.Literals(Struct.keys(profiles))),
    [],
    "Also tests these profiles: signed, tenant, clock, load",
    { metavar: "NAMES" }
  ),
  only: texts("only", "IDS", "Tests only these requirements: ids, or patterns like R-DUP-*", false),
  skip: texts("skip", "IDS", "Leaves out these requirements", false),
  rules: text("rules", "FILE", "Adds requirements of your own: a JavaScript module that makes them"),
  /** Ids of requirements that are known to fail. */
  baseline: setting(
    "baseline",
    Schema.NullOr(Texts),
    null,
    "Ids of requirements that are known to fail, one per line, or an earlier JSON report",
    { metavar: "FILE", repeats: false }
  ),
  strict: setting("strict", Schema.Boolean, false, "Makes every WARN fail the run", { repeats: false }),
  seed: setting("seed", Schema.Int, 0, "The seed of random histories; the same seed gives the same histories"),
  maxTime: duration(
    "max-time",
    defaultMaxTime,
    "How long the whole run may take; by default 2m, and up to 8m for a receiver that limits requests. In a shorter run, waits are shorter"
  ),
  /** Events a second. */
  peakRate: setting(
    "peak-rate",
    Schema.NullOr(Schema.Finite),
    null,
    "The load that the receiver is made for, for --profile load: 50/s or 3000/m",
    { metavar: "RATE", unit: "rate" }
  ),
  /** Requests a second. */
  maxRate: setting(
    "max-rate",
    Schema.NullOr(Schema.Finite),
    null,
    "The highest rate at which the suite may send, such as the receiver's limit: 40/s or 2400/m",
    { metavar: "RATE", unit: "rate" }
  ),
  ack: setting(
    "ack",
    Schema.Literals(["200", "2xx"]),
    "200",
    "Which statuses acknowledge: only 200 (the default, as in the interface), or any 2xx"
  ),
  deadline: duration(
    "deadline",
    Acknowledgement.defaultDeadline,
    "How long the receiver has to acknowledge; 5s by default, as in the interface"
  ),
  tolerance: duration(
    "tolerance",
    defaultTolerance,
    "Largest error of a signature's timestamp that the receiver accepts; 5m by default"
  ),
  dedupKey: setting(
    "dedup-key",
    DedupKey,
    "both",
    "Which deduplication key to stress: webhook-id (header), data.id (body), or both together"
  ),
  /** Null stores no failed histories. */
  cases: setting(
    "cases",
    Text,
    ".conformance/cases",
    "Where failed histories are stored; .conformance/cases by default",
    { metavar: "FOLDER", repeats: false }
  ),
  trace: setting(
    "trace",
    Text,
    null,
    "Writes the evidence of the run as one line of JSON, which `conformance check` judges again",
    { metavar: "FILE", repeats: false }
  )
}

interface SchemaOf extends Struct.Lambda {
  <S>(row: { readonly schema: S }): S
  readonly "~lambda.out": this["~lambda.in"] extends { readonly schema: infer S } ? S : never
}
interface UsualOf extends Struct.Lambda {
  <A>(row: { readonly usual: A }): A
  readonly "~lambda.out": this["~lambda.in"] extends { readonly usual: infer A } ? A : never
}

export const Options = Schema.Struct({
  ...Struct.map(
    rows,
    Struct.lambda<SchemaOf>(({ schema }) => schema)
  ),
  /** Whether requests are signed. `Means` contains the secret itself. */
  signed: Schema.Boolean
})
export type Options = typeof Options.Type

const {
  seed: _,
  url: __,
  ...usual
} = Struct.map(
  rows,
  Struct.lambda<UsualOf>(({ usual }) => usual)
)

/**
 * All settings with a default. `url` has no default because it must be given, and `seed` because it is drawn at random.
 */
export const defaults: Omit<Options, "url" | "seed"> = { ...usual, signed: false }

/** Means made from the settings: how the suite reaches, observes and operates the receiver. */
export interface Means {
  /** The URLs, with port 0 resolved; most events go to the first. */
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly probe: Probe | null
  readonly hooks: Hooks
  readonly secret: Redacted.Redacted<string> | null
  /** Shows the progress. */
  readonly progress: (what: string) => Effect.Effect<void>
  /** How long the suite tries to start a killed receiver again, in milliseconds. */
  readonly comeback: number
  /** Factor for waiting times, at most 1; null for the run's time divided by two minutes. */
  readonly pace: number | null
  /** Whether a command can repeat the run. False for a run inside a test. */
  readonly repeatable: boolean
  /** Whether the run may take longer than `maxTime` if the receiver limits requests. */
  readonly mayExtend: boolean
}

export const noMeans = {
  probe: null,
  hooks: noHooks,
  secret: null,
  progress: () => Effect.void,
  comeback: 30_000,
  pace: null,
  repeatable: true,
  mayExtend: false
} as const

/** Name of the environment variable with the secret of a receiver that checks signatures. */
export const secretVariable = "DOORHOOK_CONFORMANCE_SECRET"

/** Returns the settings to show, without the values of queries in URLs. */
export const shown = (options: Options): Options => {
  const url = (text: string): string => (URL.canParse(text) ? UrlPolicy.shownUrl(new URL(text)) : text)
  const orNull = (text: string | null): string | null => (text === null ? null : url(text))
  return {
    ...options,
    url: options.url.map(url),
    readyUrl: orNull(options.readyUrl),
    controlUrl: orNull(options.controlUrl),
    probe: options.probe?.replace(/https?:\/\/\S+$/, url) ?? null
  }
}

const wordsOf = (name: keyof typeof rows, value: Options[keyof typeof rows]): ReadonlyArray<string> => {
  const { flag, unit } = rows[name]
  if (value === null || value === false) return []
  if (value === true) return [`--${flag}`]
  if (typeof value === "object") return value.flatMap((one) => [`--${flag}`, one])
  if (unit === "duration") return [`--${flag}`, DurationText.format(Number(value))]
  return [`--${flag}`, unit === "rate" ? `${value}/s` : String(value)]
}

/** Returns the command that repeats a stored history, or all of one requirement. */
export const repeatCommand = (options: Options, what: string): string => {
  const said = shown(options)
  const words = Struct.keys(rows).flatMap((name) => {
    if (!rows[name].repeats) return []
    // With a probe, the default level is not 1, so the command always states the level.
    const isSaid = name === "url" || name === "seed" || (name === "level" && said.probe !== null)
    return !isSaid && JSON.stringify(said[name]) === JSON.stringify(defaults[name]) ? [] : wordsOf(name, said[name])
  })
  return [
    ...(options.signed ? [`${secretVariable}=whsec_...`] : []),
    `${program.called} replay ${Shell.quote(what)}`,
    ...words.map(Shell.quote)
  ].join(" ")
}
