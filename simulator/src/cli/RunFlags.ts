/**
 * The flags of `simulate run`, the kinds of run that each flag applies to, and the command line that repeats a run.
 */
import { Shell, UrlPolicy } from "@doorhook/core"
import { Option } from "effect"
import { Flag } from "effect/cli"
import { receiverForms } from "../receivers/ReceiverText.ts"
import type { RunKind } from "../results/Figures.ts"
import type { TextsOf } from "./Flags.ts"
import { callEnd, flagOf, givenOf, logFlags, planFlags, usualFlags, wordsOf } from "./Flags.ts"

/** Environment variable with the operator key, used if no flag gives one. */
export const keyVariable = "DOORHOOK_OPERATOR_KEY"

/** Default values of the flags. */
const usual = {
  buildingIntegrations: "1",
  tenantIntegrations: "2",
  batch: "1",
  ackTimeout: "5s",
  workers: "1",
  cpu: "0.7ms",
  seeds: "1",
  drain: "4d",
  grace: "30s",
  warmUp: "0s"
} as const

const text = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))
const optional = (name: string, description: string) => Flag.optional(text(name, description))
const usually = (name: keyof typeof usual, description: string) =>
  Flag.withDefault(text(flagOf(name).slice(2), `${description} (default ${usual[name]})`), usual[name])
const repeated = (name: string, description: string) => Flag.atLeast(text(name, description), 0)
const isSet = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
const hidden = (name: string, description: string) =>
  Flag.Redacted(name).pipe(Flag.withDescription(description), Flag.optional)

export const runFlags = {
  to: optional("to", "Publish to this doorhook service, and read the deliveries of each event from it"),
  toReceiver: optional(
    "to-receiver",
    "Deliver to this URL with doorhook's own sender, signed and with retries; at most ten requests are open for one integration"
  ),
  virtual: isSet(
    "virtual",
    "Simulate traffic, the real engine and modelled receivers on virtual time, as fast as possible"
  ),
  ...planFlags,
  callEnd,
  duration: optional("duration", "How much of the plan to play (default 24h; 1m with --rate; all of --events)"),
  ...logFlags,
  rate: optional(
    "rate",
    "Publish events at this rate, like 50/s, 500/m or 100/h, instead of at the times of the plan. One integration has at most ten requests open at the same time, so spread the load with --buildings"
  ),
  stages: optional(
    "stages",
    "Rates, one after the other, like 10/s:1m,10/s..200/s:5m,200/s:5m; with .. the rate changes steadily"
  ),
  even: isSet("even", "With --rate or --stages: space events evenly instead of at random (Poisson)"),
  generator: optional(
    "generator",
    "Send a share of the events: with 2/3, this is generator 2 of 3 and sends every third event"
  ),
  buildingIntegrations: usually("buildingIntegrations", "Integrations of each building"),
  tenantIntegrations: usually("tenantIntegrations", "Tenants of each building that have their own integration"),
  speed: optional("speed", "Speed relative to the plan, like 60x (default 1x)"),
  asFastAsPossible: isSet("as-fast-as-possible", "Ignore the schedule: publish as fast as events are accepted"),
  batch: usually(
    "batch",
    "Maximum number of events in a publish request; a request collects events for up to a second"
  ),
  maxInflight: optional(
    "max-inflight",
    "Maximum number of publish requests open at the same time (default 1000; 16 as fast as possible)"
  ),
  receiver: repeated(
    "receiver",
    `Behaviour of the modelled receivers, repeatable: ${receiverForms.join(" / ")}; start with 2= or 2-5= for some of them`
  ),
  retry: repeated("retry", "Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
  ackTimeout: usually("ackTimeout", "How long a receiver has to acknowledge"),
  crashEvery: optional("crash-every", "Virtual: interval at which the engine is killed in the middle of its work"),
  deleteEvery: optional("delete-every", "Virtual: interval at which an integration is deleted and another one created"),
  workers: usually("workers", "Virtual: number of processes that deliver from one store"),
  cpu: usually(
    "cpu",
    "Virtual: processor time of a process for one delivery; 0.7ms is measured for SQLite, 1.2ms for PostgreSQL"
  ),
  seeds: usually("seeds", "Virtual: number of seeds to run, one after the other; reports cover the first"),
  drain: usually("drain", "Virtual: how long open deliveries can continue after the plan"),
  grace: usually("grace", "How long to wait for open deliveries at the end, or after Ctrl-C"),
  slo: repeated("slo", "Objectives, like ack_p99<5s,lost=0,rate>=95%; the exit code is 1 if one is missed"),
  stopOnMiss: isSet(
    "stop-on-miss",
    "End the run once an objective can no longer be met, or is missed after 100 values if their final number is unknown"
  ),
  warmUp: usually("warmUp", "Leave out latencies of this first part of the run"),
  report: repeated("report", "Files to write: html=FILE,json=FILE,csv=FILE"),
  metrics: optional(
    "metrics",
    "Serve Prometheus metrics during the run: a port of 127.0.0.1, or an address like 0.0.0.0:9464"
  ),
  secret: hidden("secret", "The receiver's signing secret (whsec_...); also from DOORHOOK_RECEIVER_SECRET"),
  operatorKey: hidden("operator-key", `The service's operator key; also from ${keyVariable} or --operator-key-file`),
  operatorKeyFile: optional("operator-key-file", "A file with the operator key")
}

/** Values of the flags. */
export type RunTexts = TextsOf<typeof runFlags>
type Name = keyof RunTexts

interface Place {
  readonly names: ReadonlyArray<Name>
  readonly kinds: ReadonlyArray<RunKind>
  /** Returns the error message for a flag that is used with another kind of run. */
  readonly elsewhere: (flag: string) => string
}

const realTime: ReadonlyArray<RunKind> = ["in-process", "receiver", "service"]
const ownEngine: ReadonlyArray<RunKind> = ["virtual", "in-process", "receiver"]

/** Flags that apply only to some kinds of run. */
const places: ReadonlyArray<Place> = [
  {
    names: ["buildingIntegrations", "tenantIntegrations"],
    kinds: ownEngine,
    elsewhere: (flag) => `${flag} adds integrations, but the service given with --to has its own: create them there`
  },
  {
    names: ["retry", "ackTimeout"],
    kinds: ownEngine,
    elsewhere: (flag) => `${flag} is a setting of the service given with --to: pass it to doorhook serve`
  },
  {
    names: ["speed", "asFastAsPossible", "batch", "maxInflight", "generator"],
    kinds: realTime,
    elsewhere: (flag) =>
      `${flag} applies to runs in real time: --virtual runs as fast as possible, and publishes each event at its virtual time`
  },
  {
    names: ["receiver"],
    kinds: ["virtual", "in-process"],
    elsewhere: (flag) =>
      `${flag} models receivers, but this run goes to real ones: leave out --to and --to-receiver, or ${flag}`
  },
  {
    names: ["crashEvery", "deleteEvery", "workers", "cpu", "seeds"],
    kinds: ["virtual"],
    elsewhere: (flag) => `${flag} needs --virtual`
  },
  {
    names: ["drain"],
    kinds: ["virtual"],
    elsewhere: (flag) => `${flag} needs --virtual; in real time, use --grace`
  },
  {
    names: ["grace"],
    kinds: realTime,
    elsewhere: (flag) => `${flag} applies to runs in real time; with --virtual, use --drain`
  },
  {
    names: ["secret"],
    kinds: ["receiver"],
    elsewhere: (flag) => `${flag} needs --to-receiver: the receiver that the secret is for`
  },
  {
    names: ["operatorKey", "operatorKeyFile"],
    kinds: ["service"],
    elsewhere: (flag) => `${flag} needs --to: the service that the key is for`
  }
]

/** Flags to leave out of the command that repeats a run: those for further seeds, for output, and for secrets. */
const notAgain: ReadonlyArray<Name> = ["seeds", "report", "secret", "operatorKey", "metrics"]

/** Flags that the command names even with their default, because the defaults may change. */
const always: ReadonlyArray<Name> = ["seed", "start"]

const defaults: Readonly<Record<string, string>> = { ...usualFlags, ...usual }

const names = Object.keys(runFlags).filter((name): name is Name => Object.hasOwn(runFlags, name))

/** Returns the error for the first flag that doesn't apply to a kind of run; null if all apply. */
export const misplaced = (texts: RunTexts, kind: RunKind): string | null => {
  for (const { elsewhere, kinds, names: own } of places) {
    const wrong = kinds.includes(kind) ? null : givenOf(texts, own, defaults)
    if (wrong !== null) return elsewhere(wrong)
  }
  return null
}

/** Returns the command line that repeats a run with a seed. The receiver's URL is shown without its query. */
export const commandLine = (texts: RunTexts, seed = texts.seed): string => {
  const said = { ...texts, seed }
  const words = names.flatMap((name) => {
    if (notAgain.includes(name) || (name === "start" && Option.isSome(texts.events))) return []
    return wordsOf(said[name], always.includes(name) ? undefined : defaults[name]).flatMap((word) => {
      const shown =
        name === "toReceiver" && word !== null && URL.canParse(word) ? UrlPolicy.shownUrl(new URL(word)) : word
      return [flagOf(name), ...(shown === null ? [] : [Shell.quote(shown)])]
    })
  })
  return ["npx doorhook simulate run", ...words].join(" ")
}
