/**
 * Which runs each flag of `simulate run` means something to: what is refused elsewhere, and what the command line of a
 * report says, both follow from this.
 */
import { Shell, UrlPolicy } from "@doorhook/core"
import type { Redacted } from "effect"
import { Option } from "effect"
import type { RunKind } from "../results/RunKind.ts"
import { usualPlan } from "./Flags.ts"
import type { RunTexts } from "./RunFlags.ts"
import { usual } from "./RunFlags.ts"

interface Place {
  /** As it is written, without its hyphens. */
  readonly flag: string
  readonly kinds: ReadonlyArray<RunKind>
  /** What to tell whoever gives it to another kind of run. */
  readonly elsewhere: string
  /** Whether it is part of the command that runs the same again. */
  readonly again: boolean
}

const all: ReadonlyArray<RunKind> = ["virtual", "in-process", "receiver", "service"]
const realTime: ReadonlyArray<RunKind> = ["in-process", "receiver", "service"]
const ownEngine: ReadonlyArray<RunKind> = ["virtual", "in-process", "receiver"]

const place = (flag: string, kinds: ReadonlyArray<RunKind>, elsewhere: string, again = true): Place => ({
  flag,
  kinds,
  elsewhere,
  again
})

const everywhere = (flag: string, again = true): Place => place(flag, all, "", again)

const onVirtual = (flag: string, again = true): Place => place(flag, ["virtual"], `--${flag} needs --virtual`, again)

const unhurried = "--virtual runs as fast as it computes: --speed and --as-fast-as-possible do not go with it"

const ofService = (flag: string): string =>
  `--${flag} is a setting of the service that --to names: give it to doorhook serve`

const ofItsOwn = (flag: string): string =>
  `--${flag} makes integrations, and the service that --to names has its own: make them there, or leave out --to`

const places: Readonly<Record<keyof RunTexts, Place>> = {
  virtual: everywhere("virtual"),
  to: everywhere("to"),
  toReceiver: everywhere("to-receiver"),
  preset: everywhere("preset"),
  scenario: everywhere("scenario"),
  seed: everywhere("seed"),
  start: everywhere("start"),
  duration: everywhere("duration"),
  rateScale: everywhere("rate-scale"),
  buildings: everywhere("buildings"),
  buildingIntegrations: place("building-integrations", ownEngine, ofItsOwn("building-integrations")),
  tenantIntegrations: place("tenant-integrations", ownEngine, ofItsOwn("tenant-integrations")),
  speed: place("speed", realTime, unhurried),
  asFastAsPossible: place("as-fast-as-possible", realTime, unhurried),
  maxInFlight: place(
    "max-inflight",
    realTime,
    "--max-inflight is of runs in real time: --virtual publishes each event when it happens"
  ),
  dupRate: everywhere("dup-rate"),
  reorder: everywhere("reorder"),
  late: everywhere("late"),
  receiver: place(
    "receiver",
    ["virtual", "in-process"],
    "--receiver models receivers, and this run goes to a real one: leave out --to and --to-receiver, or --receiver"
  ),
  retry: place("retry", ownEngine, ofService("retry")),
  ackTimeout: place("ack-timeout", ownEngine, ofService("ack-timeout")),
  crashEvery: onVirtual("crash-every"),
  deleteEvery: onVirtual("delete-every"),
  workers: onVirtual("workers"),
  // The file exists now, and a run takes none that does.
  database: onVirtual("database", false),
  // A report is of one seed, which its command names.
  seeds: onVirtual("seeds", false),
  drain: place("drain", ["virtual"], "--drain needs --virtual; in real time, --grace says how long to wait"),
  grace: place("grace", realTime, "--grace is of runs in real time; with --virtual, --drain says how long to wait"),
  slo: everywhere("slo"),
  report: everywhere("report", false),
  secret: place("secret", ["receiver"], "--secret needs --to-receiver: the receiver whose secret it is", false),
  operatorKey: place("operator-key", ["service"], "--operator-key needs --to: the service whose key it is", false),
  operatorKeyFile: place(
    "operator-key-file",
    ["service"],
    "--operator-key-file needs --to: the service whose key it holds"
  )
}

const defaults: Readonly<Record<string, string>> = { ...usual, "rate-scale": usualPlan.rateScale }

type Given = boolean | string | ReadonlyArray<string> | Option.Option<string | Redacted.Redacted<string>>

const isList = (given: Given): given is ReadonlyArray<string> => Array.isArray(given)

/** What a flag says, where it says something else than usual: texts, or nothing but its name (null). */
const wordsOf = (given: Given, flag: string): ReadonlyArray<string | null> => {
  if (typeof given === "boolean") return given ? [null] : []
  if (typeof given === "string") return given === defaults[flag] ? [] : [given]
  if (isList(given)) return given
  return Option.match(given, { onNone: () => [], onSome: (value) => [typeof value === "string" ? value : null] })
}

const names = Object.keys(places).filter((name): name is keyof RunTexts => Object.hasOwn(places, name))

/** What is wrong with a flag that means nothing where the run goes; null when all of them mean something. */
export const misplaced = (texts: RunTexts, kind: RunKind): string | null => {
  const wrong = names.find(
    (name) => !places[name].kinds.includes(kind) && wordsOf(texts[name], places[name].flag).length > 0
  )
  return wrong === undefined ? null : places[wrong].elsewhere
}

/** A flag's word as it may be shown: of the receiver's URL, all but its query. */
const shown = (name: keyof RunTexts, word: string): string =>
  name === "toReceiver" && URL.canParse(word) ? UrlPolicy.shownUrl(new URL(word)) : word

/** The command line that says the same, in one line, with another seed where one is given. Keys and secrets are left out. */
export const commandLine = (texts: RunTexts, seed = texts.seed): string => {
  const said = { ...texts, seed }
  const words = names.flatMap((name) => {
    const { again, flag } = places[name]
    if (!again) return []
    return wordsOf(said[name], flag).flatMap((word) => [
      `--${flag}`,
      ...(word === null ? [] : [Shell.quote(shown(name, word))])
    ])
  })
  return ["npx doorhook simulate run", ...words].join(" ")
}
