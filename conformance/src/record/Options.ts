/**
 * The settings of a run: one schema, and one row for each setting. The flags of the commands, the facts in reports and
 * evidence, and the command that repeats a run all follow from these two.
 *
 * Settings are plain data without secrets. What they stand for in a process (probe, hooks, secret) is `Means`.
 */
import { Acknowledgement, DurationText, Shell, UrlPolicy } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { Redacted } from "effect"
import { kindsOf } from "../history/KindsOf.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { noHooks } from "../hooks/Hooks.ts"
import { DedupKey, defaultTolerance } from "../judgement/Terms.ts"
import type { Probe } from "../probes/Probe.ts"
import { program } from "../Program.ts"
import { profiles } from "../requirements/Requirement.ts"

const Texts = Schema.Array(Schema.String)
const Text = Schema.NullOr(Schema.String)
export const levels = [1, 2, 3] as const

/** Times in milliseconds; null where nothing was said. URLs and commands as they were given. */
export const Options = Schema.Struct({
  /** Where events are posted; a second one is for the profile `tenant`. */
  url: Texts,
  probe: Text,
  restartCmd: Text,
  killCmd: Text,
  readyUrl: Text,
  pauseCmd: Text,
  resumeCmd: Text,
  advanceCmd: Text,
  controlUrl: Text,
  spawn: Text,
  portEnv: Text,
  /** Whether what is sent is signed; the secret itself is one of the means. */
  signed: Schema.Boolean,
  level: Schema.Literals(levels),
  profile: Schema.Array(Schema.Literals(kindsOf(profiles))),
  /** Pairs of resource type and action that the receiver is bound to; null: nothing was declared. */
  binding: Schema.NullOr(Texts),
  /** Events a second. */
  peakRate: Schema.NullOr(Schema.Finite),
  ack: Schema.Literals(["200", "2xx"]),
  deadline: Schema.Finite,
  tolerance: Schema.Finite,
  settle: Schema.Finite,
  dedupKey: DedupKey,
  seed: Schema.Int,
  maxTime: Schema.Finite,
  only: Texts,
  skip: Texts,
  /** Ids of requirements that are known to fail; null without a baseline. */
  baseline: Schema.NullOr(Texts),
  /** Where histories that failed are stored; null: nowhere. */
  cases: Text,
  /** The file that the evidence is written to; null: none. */
  trace: Text,
  owned: Schema.Boolean
})
export type Options = typeof Options.Type

/** How long a run may take where nothing is said: nothing is hurried then. */
export const defaultMaxTime = 120_000
export const defaultSettle = 10_000

/** The least deadline that the suite can time. */
export const leastDeadline = 200
/** Seeds are what fits in 31 bits. */
export const seedLimit = 2 ** 31

export const defaults: Omit<Options, "url" | "seed"> = {
  probe: null,
  restartCmd: null,
  killCmd: null,
  readyUrl: null,
  pauseCmd: null,
  resumeCmd: null,
  advanceCmd: null,
  controlUrl: null,
  spawn: null,
  portEnv: null,
  signed: false,
  level: 1,
  profile: [],
  binding: null,
  peakRate: null,
  ack: "200",
  deadline: Acknowledgement.defaultDeadline,
  tolerance: defaultTolerance,
  settle: defaultSettle,
  dedupKey: "both",
  maxTime: defaultMaxTime,
  only: [],
  skip: [],
  baseline: null,
  cases: ".conformance/cases",
  trace: null,
  owned: false
}

/** What a setting is called and how it is read; `command/Flags.ts` makes a flag of each row. */
export interface Row {
  /** Without the two dashes. */
  readonly flag: string
  /** Under which heading of `--help` it stands. */
  readonly group: "target" | "sight" | "operation" | "selection" | "terms" | "output"
  readonly help: string
  /** How its value is written. */
  readonly kind: "text" | "texts" | "duration" | "int" | "boolean" | "rate" | "file" | ReadonlyArray<string>
  readonly metavar?: string
  /** Whether the command that repeats one history needs it. */
  readonly repeats: boolean
}

const row = (
  group: Row["group"],
  flag: string,
  kind: Row["kind"],
  help: string,
  { metavar, repeats = true }: { readonly metavar?: string; readonly repeats?: boolean } = {}
): Row => ({ group, flag, kind, help, repeats, ...(metavar === undefined ? {} : { metavar }) })
const once = { repeats: false } as const

export const rows: { readonly [Name in Exclude<keyof Options, "signed">]: Row } = {
  url: row(
    "target",
    "url",
    "texts",
    "The receiver's URL: events are posted to it. Port 0 is any free one, for --spawn with --port-env. A second --url is for the tenant profile",
    { metavar: "URL" }
  ),
  owned: row(
    "target",
    "i-own-this-target",
    "boolean",
    "Allows a receiver outside this machine and private networks: it is yours to test"
  ),
  binding: row(
    "target",
    "binding",
    "texts",
    "What the receiver is bound to, like access_log:create; repeatable. Events that no binding selects are never sent",
    { metavar: "TYPE:ACTION" }
  ),
  spawn: row("operation", "spawn", "text", "Starts the receiver, and operates it: instead of the commands below", {
    metavar: "CMD"
  }),
  portEnv: row("operation", "port-env", "text", "The variable in which a spawned receiver finds the port of --url", {
    metavar: "NAME"
  }),
  restartCmd: row("operation", "restart-cmd", "text", "Ends the receiver if it runs, and starts it in the background", {
    metavar: "CMD"
  }),
  killCmd: row("operation", "kill-cmd", "text", "Kills the receiver at once (SIGKILL)", { metavar: "CMD" }),
  readyUrl: row(
    "operation",
    "ready-url",
    "text",
    "Answers 2xx once the receiver is ready; else a connection is enough",
    { metavar: "URL" }
  ),
  pauseCmd: row("operation", "pause-cmd", "text", "Holds the receiver still (SIGSTOP)", { metavar: "CMD" }),
  resumeCmd: row("operation", "resume-cmd", "text", "Lets it go on (SIGCONT)", { metavar: "CMD" }),
  advanceCmd: row(
    "operation",
    "advance-cmd",
    "text",
    "Moves the receiver's clock by ADVANCE_SECONDS, for --profile clock",
    { metavar: "CMD" }
  ),
  controlUrl: row(
    "operation",
    "control-url",
    "text",
    "POST URL/double?id=... makes the receiver record one more effect",
    { metavar: "URL" }
  ),
  probe: row("sight", "probe", "text", "How effects are counted: http:URL, exec:CMD, log:FILE:REGEX or sink:PORT", {
    metavar: "PROBE"
  }),
  settle: row(
    "sight",
    "settle",
    "duration",
    "How long effects are waited for after an acknowledgement; 10s by default"
  ),
  level: row(
    "selection",
    "level",
    "int",
    "1 the URL alone, 2 with a probe, 3 with a restart or kill hook too; by default the highest that the flags allow"
  ),
  profile: row("selection", "profile", "texts", "Also tests these: signed, tenant, clock, load", { metavar: "NAMES" }),
  only: row("selection", "only", "texts", "Tests these requirements alone: ids, or patterns like R-DUP-*", {
    metavar: "IDS",
    ...once
  }),
  skip: row("selection", "skip", "texts", "Leaves these out", { metavar: "IDS", ...once }),
  baseline: row("selection", "baseline", "file", "Ids that are known to fail, one a line, or an earlier JSON report", {
    metavar: "FILE",
    ...once
  }),
  seed: row("selection", "seed", "int", "What random histories are drawn from; the same seed gives the same histories"),
  maxTime: row(
    "selection",
    "max-time",
    "duration",
    "How long the whole run may take; 2m by default. Waits are shorter where it is shorter"
  ),
  peakRate: row("terms", "peak-rate", "rate", "What the receiver is made for, for --profile load: 50/s, or 3000/m", {
    metavar: "RATE"
  }),
  ack: row(
    "terms",
    "ack",
    ["200", "2xx"],
    "Which statuses acknowledge: 200 alone (the default), as the interface says, or any 2xx"
  ),
  deadline: row(
    "terms",
    "deadline",
    "duration",
    "How long the receiver has to acknowledge; 5s by default, as the interface says"
  ),
  tolerance: row("terms", "tolerance", "duration", "How old or early a signature the receiver accepts; 5m by default"),
  dedupKey: row(
    "terms",
    "dedup-key",
    ["both", "header", "body"],
    "Which key for dropping duplicates is stressed: webhook-id (header), data.id (body), or both together"
  ),
  cases: row("output", "cases", "text", "Where histories that fail are stored; .conformance/cases by default", {
    metavar: "FOLDER",
    ...once
  }),
  trace: row(
    "output",
    "trace",
    "text",
    "Writes the evidence of the run as one line of JSON: `conformance check` judges it again",
    {
      metavar: "FILE",
      ...once
    }
  )
}

/** What the settings stand for in a process. */
export interface Means {
  /** The URLs as they are reached, port 0 resolved; the first is where most events go. */
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly probe: Probe | null
  readonly hooks: Hooks
  readonly secret: Redacted.Redacted<string> | null
  /** Shows what is being done. */
  readonly progress: (what: string) => Effect.Effect<void>
  /** How long a receiver that was killed and does not start again is tried to be started, in milliseconds. */
  readonly comeback: number
  /** Waiting times are multiplied by this; null: by the share of two minutes that the run may take, at most 1. */
  readonly pace: number | null
  /** Whether a command can repeat the run: not a test's. */
  readonly repeatable: boolean
}

export const noMeans = {
  probe: null,
  hooks: noHooks,
  secret: null,
  progress: () => Effect.void,
  comeback: 30_000,
  pace: null,
  repeatable: true
} as const

/** The name of the variable that holds the secret of a receiver that checks signatures. */
export const secretVariable = "DOORHOOK_CONFORMANCE_SECRET"

/** The settings as they may be shown: URLs without the values of their queries. */
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
  const { flag, kind } = rows[name]
  if (value === null || value === false) return []
  if (value === true) return [`--${flag}`]
  if (typeof value === "object") return value.flatMap((one) => [`--${flag}`, one])
  if (kind === "duration") return [`--${flag}`, DurationText.format(Number(value))]
  return [`--${flag}`, kind === "rate" ? `${value}/s` : String(value)]
}

/** The words of the command line that say the settings that are not the usual ones. */
export const flagsOf = (options: Options, isMeant: (one: Row) => boolean): ReadonlyArray<string> =>
  Object.keys(rows).flatMap((key) => {
    const name = nameOf(key)
    if (name === null || !isMeant(rows[name])) return []
    // With a probe, another level is the usual one.
    const isSaid = name === "url" || name === "seed" || (name === "level" && options.probe !== null)
    const usual = isSaid ? undefined : defaults[name]
    return JSON.stringify(options[name]) === JSON.stringify(usual) ? [] : wordsOf(name, options[name])
  })

const nameOf = (key: string): keyof typeof rows | null => {
  const isName = (text: string): text is keyof typeof rows => Object.hasOwn(rows, text)
  return isName(key) ? key : null
}

/** The command that repeats a stored history, or all of one requirement. */
export const repeatCommand = (options: Options, what: string): string =>
  [
    ...(options.signed ? [`${secretVariable}=whsec_...`] : []),
    `${program.called} replay ${Shell.quote(what)}`,
    ...flagsOf(shown(options), ({ repeats }) => repeats).map(Shell.quote)
  ].join(" ")
