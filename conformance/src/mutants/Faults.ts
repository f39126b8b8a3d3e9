/**
 * Lists the faulty receivers by requirement, runs the suite against them, and reports which requirement detects which
 * receiver.
 */
import { Shell } from "@doorhook/core"
import { Effect, FileSystem, Redacted } from "effect"
import type { Path, PlatformError, Scope } from "effect"
import { program } from "../Program.ts"
import { withControl } from "../hooks/Commands.ts"
import { noHooks } from "../hooks/Hooks.ts"
import type { HookFailed } from "../hooks/Hooks.ts"
import { freePort, spawned } from "../hooks/Spawned.ts"
import { httpProbe } from "../probes/Probe.ts"
import { noMeans } from "../record/Options.ts"
import type { Options } from "../record/Options.ts"
import type { Report } from "../report/Report.ts"
import { requirements } from "../requirements/Catalogue.ts"
import type { Level, Profile, Requirement } from "../requirements/Requirement.ts"
import { runSuite } from "../run/RunSuite.ts"
import { startServer } from "./Base.ts"
import type { Change, ServerOptions } from "./Base.ts"
import type { RightReceiver } from "./Right.ts"
import { rows } from "./Rows.ts"

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
 * How long the suite tries to start a receiver again, in milliseconds. Every bundled receiver starts in less than a
 * second.
 */
const comeback = 10_000

/** Secret of the bundled receivers. It protects nothing. */
const secret = "whsec_ZG9vcmhvb2stYnVuZGxlZC1yZWNlaXZlcg=="

/** Declared peak rate, in events a second. */
const peakRate = 20

export interface TrialOptions {
  /** Tests only the fault's own requirement. */
  readonly narrow: boolean
  readonly seed: number
  /** Milliseconds. */
  readonly maxTime: number
}

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
  const command = [process.execPath, ...process.execArgv, ...program.receiver].map(Shell.quote).join(" ")
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

/** Runs the suite against a receiver with the fault. */
export const tryFault = (fault: Fault, { maxTime, narrow, seed }: TrialOptions): Trial =>
  attempt(fault, { only: narrow ? [fault.requirement] : [], seed, maxTime }, null)

/**
 * Runs the suite against an unusual but correct receiver: at level 3, or with `quick` only the requirements that may
 * misjudge it.
 */
export const tryRight = (
  { change, met, name, profile, said }: RightReceiver,
  { quick, seed }: { readonly quick: boolean; readonly seed: number }
): Trial =>
  attempt(
    { change, name, profile, level: quick ? 2 : 3 },
    { ...said, seed, ...(quick ? { only: met, maxTime: 60_000 } : {}) },
    quick ? 0.1 : null
  )

/** The result of one faulty receiver. */
export interface Kill {
  readonly fault: Fault
  /** Whether the fault's requirement gave the expected verdict. */
  readonly isKilled: boolean
  /** Other requirements that the receiver broke. */
  readonly others: ReadonlyArray<string>
  /** What the fault's requirement observed. */
  readonly observed: string
  /** Milliseconds. */
  readonly took: number
}

export const killOf = (fault: Fault, { durationMs, endedBecause, requirements }: Report): Kill => {
  const own = requirements.find(({ id }) => id === fault.requirement)
  const broken = requirements.filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN")
  return {
    fault,
    isKilled: own?.verdict === fault.found,
    others: broken.filter((one) => one !== own).map(({ id }) => id),
    observed: own === undefined ? endedBecause : `${own.verdict}: ${own.observed}`,
    took: durationMs
  }
}

/**
 * Returns the weaknesses of the suite: receivers that it did not detect, and requirements that detected no receiver.
 */
export const weaknesses = (kills: ReadonlyArray<Kill>, requirements: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...kills.flatMap(({ fault: { found, name, requirement }, isKilled, observed, others }) => {
    const instead = others.length === 0 ? "" : `, but failed ${others.join(", ")}`
    return isKilled ? [] : [`${name} did not get ${found} from ${requirement}${instead} (${observed})`]
  }),
  ...requirements
    .filter((id) => !kills.some(({ fault, isKilled }) => isKilled && fault.requirement === id))
    .map((id) => `${id} detects no faulty receiver written for it`)
]

/** Describes a result in one line. */
export const killLine = ({
  fault: { found, level, name, profile, requirement },
  isKilled,
  others,
  took
}: Kill): string => {
  const how = [`level ${level}`, ...(profile === null ? [] : [profile])].join(" ")
  const verdict = isKilled ? found.padEnd(8) : "SURVIVED"
  const also = others.length === 0 ? "" : `  also ${others.join(" ")}`
  return `${verdict}  ${name.padEnd(27)}${requirement.padEnd(11)}${how.padEnd(15)}${(took / 1_000).toFixed(1).padStart(6)} s${also}`
}
