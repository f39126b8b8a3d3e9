/**
 * The flags of `simulate run`, the kinds of runs that each applies to, and the command line that repeats a run.
 */
import { Shell, UrlPolicy } from "@doorhook/core"
import type { Redacted } from "effect"
import { Option } from "effect"
import { Flag } from "effect/cli"
import { receiverForms } from "../receivers/ReceiverText.ts"
import type { RunKind } from "../results/RunReport.ts"
import { planFlags, usualPlan } from "./Flags.ts"

/** Where the operator key is looked for when no flag says it. */
export const keyVariable = "DOORHOOK_OPERATOR_KEY"

/** Used where a flag is not given. */
const usual = {
  buildings: "1",
  "building-integrations": "1",
  "tenant-integrations": "2",
  batch: "1",
  "ack-timeout": "5s",
  workers: "1",
  seeds: "1",
  drain: "4d",
  grace: "30s",
  "warm-up": "0s"
} as const

const text = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))
const optional = (name: string, description: string) => Flag.optional(text(name, description))
const usually = (name: keyof typeof usual, description: string) =>
  Flag.withDefault(text(name, `${description} (default ${usual[name]})`), usual[name])
const repeated = (name: string, description: string) => Flag.atLeast(text(name, description), 0)
const isSet = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
const hidden = (name: string, description: string) =>
  Flag.Redacted(name).pipe(Flag.withDescription(description), Flag.optional)

export const runFlags = {
  to: optional("to", "Publish to this doorhook service, and read the deliveries of each event from it"),
  toReceiver: optional("to-receiver", "Deliver to this URL with doorhook's own sender: signed, retried"),
  virtual: isSet(
    "virtual",
    "On virtual time: traffic, the real engine and modelled receivers, as fast as they compute"
  ),
  ...planFlags,
  duration: optional("duration", "How much of the plan is played (default 24h; 1m with --rate; all of --events)"),
  buildings: usually("buildings", "Copies of the scenario's buildings"),
  events: optional("events", "Play this file of events (NDJSON) in place of a scenario"),
  rate: optional("rate", "Events at a rate of their own, like 50/s, in place of the times of the plan"),
  stages: optional("stages", "Rates one after the other, like 10/s:1m,200/s:5m,10/s:1m"),
  even: isSet("even", "With --rate or --stages: evenly spaced, in place of at random (Poisson)"),
  generator: optional("generator", "This is generator 2 of 3, given 2/3: it sends every third event"),
  buildingIntegrations: usually("building-integrations", "Integrations of each building"),
  tenantIntegrations: usually("tenant-integrations", "Tenants of each building that have an integration of their own"),
  speed: optional("speed", "How many times faster than the plan, like 60x (default 1x)"),
  asFastAsPossible: isSet("as-fast-as-possible", "Keep no schedule: publish as fast as it is accepted"),
  batch: usually("batch", "Events in a request to publish, at most; those of a second are collected"),
  maxInflight: optional(
    "max-inflight",
    "Requests to publish open at once, at most (default 1000; 16 as fast as possible)"
  ),
  receiver: repeated(
    "receiver",
    `How a modelled receiver behaves, repeatable: ${receiverForms.join(" / ")}; before it 2= or 2-5= for some`
  ),
  retry: repeated("retry", "Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
  ackTimeout: usually("ack-timeout", "How long a receiver has to acknowledge"),
  crashEvery: optional("crash-every", "Virtual: kill the engine this often, in the middle of something"),
  deleteEvery: optional("delete-every", "Virtual: delete an integration this often, and make another one"),
  workers: usually("workers", "Virtual: processes that deliver over one store"),
  seeds: usually("seeds", "Virtual: run this many seeds, one after the other; reports are of the first"),
  drain: usually("drain", "Virtual: how long open deliveries continue after the plan"),
  grace: usually("grace", "How long to wait for open deliveries at the end, or after Ctrl-C"),
  slo: repeated("slo", "Objectives, like ack_p99<5s,lost=0,rate>=95%; missed ones make the exit code 1"),
  stopOnMiss: isSet("stop-on-miss", "End the run as soon as an objective is missed for good"),
  warmUp: usually("warm-up", "Leave out the latencies of this first part of the run"),
  compare: optional("compare", "An earlier JSON report to compare this run with"),
  report: repeated("report", "Files to write: html=FILE,json=FILE,csv=FILE"),
  metrics: optional("metrics", "Serve Prometheus metrics on this port of 127.0.0.1 while it runs"),
  secret: hidden("secret", "The receiver's signing secret (whsec_...); also from DOORHOOK_RECEIVER_SECRET"),
  operatorKey: hidden("operator-key", `The service's operator key; also from ${keyVariable} or --operator-key-file`),
  operatorKeyFile: optional("operator-key-file", "A file that holds the operator key")
}

/** The values of the flags. */
export type RunTexts = {
  readonly [Name in keyof typeof runFlags]: (typeof runFlags)[Name] extends Flag.Flag<infer A> ? A : never
}
type Name = keyof RunTexts

interface Place {
  readonly names: ReadonlyArray<Name>
  readonly kinds: ReadonlyArray<RunKind>
  /** The error for another kind of run. */
  readonly elsewhere: (flag: string) => string
}

const realTime: ReadonlyArray<RunKind> = ["in-process", "receiver", "service"]
const ownEngine: ReadonlyArray<RunKind> = ["virtual", "in-process", "receiver"]

/** Flags that apply to some kinds of runs only. */
const places: ReadonlyArray<Place> = [
  {
    names: ["buildingIntegrations", "tenantIntegrations"],
    kinds: ownEngine,
    elsewhere: (flag) => `${flag} makes integrations, and the service that --to names has its own: make them there`
  },
  {
    names: ["retry", "ackTimeout"],
    kinds: ownEngine,
    elsewhere: (flag) => `${flag} is a setting of the service that --to names: give it to doorhook serve`
  },
  {
    names: ["speed", "asFastAsPossible", "batch", "maxInflight", "generator"],
    kinds: realTime,
    elsewhere: (flag) =>
      `${flag} is of runs in real time: --virtual runs as fast as it computes, and publishes each event when it happens`
  },
  {
    names: ["receiver"],
    kinds: ["virtual", "in-process"],
    elsewhere: (flag) =>
      `${flag} models receivers, and this run goes to a real one: leave out --to and --to-receiver, or ${flag}`
  },
  {
    names: ["crashEvery", "deleteEvery", "workers", "seeds"],
    kinds: ["virtual"],
    elsewhere: (flag) => `${flag} needs --virtual`
  },
  {
    names: ["drain"],
    kinds: ["virtual"],
    elsewhere: (flag) => `${flag} needs --virtual; in real time, --grace says how long to wait`
  },
  {
    names: ["grace"],
    kinds: realTime,
    elsewhere: (flag) => `${flag} is of runs in real time; with --virtual, --drain says how long to wait`
  },
  {
    names: ["secret"],
    kinds: ["receiver"],
    elsewhere: (flag) => `${flag} needs --to-receiver: the receiver whose secret it is`
  },
  {
    names: ["operatorKey", "operatorKeyFile"],
    kinds: ["service"],
    elsewhere: (flag) => `${flag} needs --to: the service whose key it is`
  }
]

/** Flags that make no plan, where a file of events is played: it has its own. */
export const ofScenarios: ReadonlyArray<Name> = ["preset", "scenario", "start", "rateScale", "buildings"]

/** Left out of the command that repeats a run: more seeds, written files, and secrets. */
const notAgain: ReadonlyArray<Name> = ["seeds", "report", "secret", "operatorKey", "metrics"]

const flagOf = (name: Name): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const defaults: Readonly<Record<string, string>> = { ...usual, "rate-scale": usualPlan.rateScale }

type Given = boolean | string | ReadonlyArray<string> | Option.Option<string | Redacted.Redacted<string>>

const isList = (given: Given): given is ReadonlyArray<string> => Array.isArray(given)

/** The values of a flag that differ from its default; null for a flag without a value. */
const wordsOf = (given: Given, flag: string): ReadonlyArray<string | null> => {
  if (typeof given === "boolean") return given ? [null] : []
  if (typeof given === "string") return given === defaults[flag.slice(2)] ? [] : [given]
  if (isList(given)) return given
  return Option.match(given, { onNone: () => [], onSome: (value) => [typeof value === "string" ? value : null] })
}

const names = Object.keys(runFlags).filter((name): name is Name => Object.hasOwn(runFlags, name))

const isGiven = (texts: RunTexts, name: Name): boolean =>
  name === "start" ? texts.start !== usualPlan.start : wordsOf(texts[name], flagOf(name)).length > 0

/** The first of some flags that was given. */
export const givenOf = (texts: RunTexts, some: ReadonlyArray<Name>): string | null => {
  const found = some.find((name) => isGiven(texts, name))
  return found === undefined ? null : flagOf(found)
}

/** The error for the first flag that does not apply to a kind of run; null when all apply. */
export const misplaced = (texts: RunTexts, kind: RunKind): string | null => {
  for (const { elsewhere, kinds, names: own } of places) {
    const wrong = kinds.includes(kind) ? null : givenOf(texts, own)
    if (wrong !== null) return elsewhere(wrong)
  }
  return null
}

/** The command line that repeats a run with a seed. The receiver's URL is shown without its query. */
export const commandLine = (texts: RunTexts, seed = texts.seed): string => {
  const said = { ...texts, seed }
  const words = names.flatMap((name) => {
    if (notAgain.includes(name) || (Option.isSome(texts.events) && ofScenarios.includes(name))) return []
    return wordsOf(said[name], flagOf(name)).flatMap((word) => {
      const shown =
        name === "toReceiver" && word !== null && URL.canParse(word) ? UrlPolicy.shownUrl(new URL(word)) : word
      return [flagOf(name), ...(shown === null ? [] : [Shell.quote(shown)])]
    })
  })
  return ["npx doorhook simulate run", ...words].join(" ")
}
