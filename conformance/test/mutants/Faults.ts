/**
 * Lists the faulty receivers by requirement, and runs the suite against faulty and correct receivers.
 */
import { Shell } from "@doorhook/core"
import { Effect, FileSystem, Redacted } from "effect"
import type { Path, PlatformError, Scope } from "effect"
import { receiverProgram } from "@doorhook/testkit/Doorhook"
import { withControl } from "../../src/hooks/Commands.ts"
import { noHooks } from "../../src/hooks/Hooks.ts"
import type { HookFailed } from "../../src/hooks/Hooks.ts"
import { freePort, spawned } from "../../src/hooks/Spawned.ts"
import { httpProbe } from "../../src/probes/Probe.ts"
import { noMeans } from "../../src/record/Options.ts"
import type { Options } from "../../src/record/Options.ts"
import type { Report } from "../../src/report/Report.ts"
import { requirements } from "../../src/requirements/Catalogue.ts"
import type { Level, Profile, Requirement } from "../../src/requirements/Requirement.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import { startServer } from "./Base.ts"
import type { Change, ServerOptions } from "./Base.ts"
import type { RightReceiver } from "./Right.ts"
import { rows } from "./Wrong.ts"

export interface Fault {
  readonly name: string
  readonly requirement: Requirement["id"]
  /** What the receiver does wrong, in one sentence. */
  readonly does: string
  readonly change: Change
  /** The lowest level that detects the fault. */
  readonly level: Level
  readonly profile: Profile | null
  /** Expected verdict: `WARN` if the fault breaks a SHOULD. */
  readonly found: "FAIL" | "WARN"
}

export const faults: ReadonlyArray<Fault> = requirements.flatMap(({ id, level, profile, strength }) =>
  Object.entries(rows[id] ?? {}).map(([name, [does, change, tried]]) => {
    const found = strength === "MUST" ? "FAIL" : "WARN"
    return { name, requirement: id, does, change, level, profile, found, ...tried }
  })
)

/**
 * How long the suite tries to start a receiver again, in milliseconds. Every receiver starts in less than a
 * second.
 */
const comeback = 10_000

/** Secret of the receivers. It protects nothing. */
const secret = "whsec_ZG9vcmhvb2stYnVuZGxlZC1yZWNlaXZlcg=="

/** Declared peak rate, in events a second. */
const peakRate = 20

/** A receiver to test. */
type Tried = Pick<Fault, "change" | "level" | "name" | "profile">

/**
 * Starts a receiver in this process until the scope ends, and returns its address. Unlike a process, it can't be
 * killed.
 */
export const inProcess = (options: Omit<ServerOptions, "port" | "database">): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startServer({ ...options, port: 0, database: ":memory:" })),
    ({ die }) => Effect.promise(die)
  ).pipe(Effect.map(({ port }) => new URL(`http://127.0.0.1:${port}`)))

const inThisProcess = Effect.fnUntraced(function* ({ change, profile }: Tried) {
  const origin = yield* inProcess({ change, secret: profile === "signed" ? secret : null })
  return { origin, hooks: yield* withControl(noHooks, new URL("/control", origin)) }
})

/** Starts a receiver in its own process until the scope ends, operated by the same hooks as `--spawn`. */
const inItsOwn = Effect.fnUntraced(function* ({ name, profile }: Tried) {
  const fs = yield* FileSystem.FileSystem
  const port = yield* freePort
  const origin = new URL(`http://127.0.0.1:${port}`)
  const env = {
    NODE_NO_WARNINGS: "1",
    FAULT: name,
    DATABASE: `${yield* fs.makeTempDirectoryScoped()}/receiver.db`,
    SECRET: profile === "signed" ? secret : "",
    PORT: String(port)
  }
  const command = [process.execPath, receiverProgram].map(Shell.quote).join(" ")
  const hooks = yield* spawned(`exec ${command}`, env, origin, new URL("/probe?id=never-sent", origin))
  return { origin, hooks: yield* withControl(hooks, new URL("/control", origin)) }
})

/** Runs the suite against a receiver. */
const attempt = Effect.fnUntraced(function* (tried: Tried, options: Partial<Options>, pace: number | null) {
  const { level, profile } = tried
  const { hooks, origin } = yield* level === 3 ? inItsOwn(tried) : inThisProcess(tried)
  const url = new URL("/hook", origin)
  const elsewhere = profile === "tenant" ? [new URL("/hook/other", origin)] : []
  const probe = level === 1 ? null : httpProbe(new URL("/probe", origin))
  return yield* runSuite(
    {
      url: [url, ...elsewhere].map(({ href }) => href),
      probe: probe === null ? null : `http:${probe.name}`,
      level,
      profile: profile === null ? [] : [profile],
      signed: profile === "signed",
      peakRate: profile === "load" ? peakRate : null,
      cases: null,
      ...options
    },
    {
      ...noMeans,
      urls: [url, ...elsewhere],
      probe,
      hooks,
      secret: profile === "signed" ? Redacted.make(secret) : null,
      comeback,
      pace
    }
  )
}, Effect.scoped)

type Trial = Effect.Effect<Report, HookFailed | PlatformError.PlatformError, FileSystem.FileSystem | Path.Path>

/** Settings for a test that must not take long: all waits of the suite are shorter. */
const quickly = { settle: 4_000, maxTime: 60_000 }
const quickPace = 0.1

/** Runs the suite against a receiver with a fault, testing only the fault's own requirement. */
const tryFault = (fault: Fault, isQuick: boolean): Trial =>
  attempt(
    fault,
    {
      only: [fault.requirement],
      seed: 1,
      ...(isQuick ? { ...quickly, settle: 1_500 } : longer[fault.name]),
      ...deadlines[fault.requirement]
    },
    // A shorter load would not reach the rate that the receiver can't keep up with.
    isQuick && fault.profile !== "load" ? quickPace : null
  )

/** More time for a run that must send thousands of events, so that a busy machine sends them too. */
const longer: { readonly [name: string]: Partial<Options> } = { "last-5000": { maxTime: 1_800_000 } }

/** Shorter deadlines for requirements whose cases wait for a deadline. */
const deadlines: { readonly [requirement: Requirement["id"]]: Partial<Options> } = {
  "R-ACK-03": { deadline: 1_000 },
  "R-ACK-04": { deadline: 1_000 },
  "R-CRA-04": { deadline: 1_000 },
  "R-LATE-02": { deadline: 1_000 }
}

/**
 * Runs the suite against an unusual but correct receiver: only the requirements that may misjudge it, or with `whole`
 * all requirements up to level 3.
 */
export const tryRight = (
  { change, met, name, profile, said }: RightReceiver,
  { seed, whole }: { readonly seed: number; readonly whole: boolean }
): Trial =>
  attempt(
    { change, name, profile, level: whole ? 3 : 2 },
    { ...said, seed, ...(whole ? {} : { only: met, ...quickly }) },
    whole ? null : quickPace
  )

/** Says why a report does not show the fault by the fault's own requirement; null if it does. */
const survivalOf = (fault: Fault, { endedBecause, requirements }: Report): string | null => {
  const own = requirements.find(({ id }) => id === fault.requirement)
  return own?.verdict === fault.found
    ? null
    : `${fault.name} did not get ${fault.found} from ${fault.requirement}: ${own === undefined ? endedBecause : `${own.verdict}, ${own.observed}`}`
}

/** Further runs for a race of one turn of the event loop: on a busy machine, the copies may be sent too far apart. */
const furtherRuns: { readonly [name: string]: number } = { "check-then-act": 2 }

/** Says why the suite does not show a fault; null if it does. */
export const survival = (fault: Fault, isQuick: boolean) =>
  Effect.repeat(
    Effect.map(tryFault(fault, isQuick), (report) => survivalOf(fault, report)),
    { times: furtherRuns[fault.name] ?? 0, while: (survived) => survived !== null }
  )
