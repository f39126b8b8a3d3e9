/**
 * One of the bundled receivers before the suite, with the settings that users run.
 */
import { Shell } from "@doorhook/core"
import { Effect, FileSystem, Redacted } from "effect"
import type { Path, PlatformError, Scope } from "effect"
import { withControl } from "../hooks/Control.ts"
import { freePort, spawned } from "../hooks/Spawned.ts"
import { noHooks } from "../hooks/Hooks.ts"
import type { HookFailed, Hooks } from "../hooks/Hooks.ts"
import { httpProbe } from "../probes/HttpProbe.ts"
import { program } from "../Program.ts"
import { noMeans } from "../record/Options.ts"
import type { Options } from "../record/Options.ts"
import type { Report } from "../report/Report.ts"
import { runSuite } from "../run/RunSuite.ts"
import { startServer } from "./Base.ts"
import type { ServerOptions } from "./Base.ts"
import type { Fault } from "./Fault.ts"
import type { RightReceiver } from "./Right.ts"

/** How long one that does not start again is tried to be started, in milliseconds: they start in less than a second. */
const comeback = 10_000

/** The secret of the bundled receivers; it guards nothing. */
const secret = "whsec_ZG9vcmhvb2stYnVuZGxlZC1yZWNlaXZlcg=="

/** What the receiver is said to be made for, in events a second. */
const peakRate = 20

export interface TrialOptions {
  /** Whether only the fault's own requirement is tested. */
  readonly narrow: boolean
  readonly seed: number
  /** Milliseconds. */
  readonly maxTime: number
}

/** How to start a receiver. It gets its port in the variable PORT. */
interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  /** Whether it has the control of the bundled receivers. */
  readonly control: boolean
}

/** Starts a receiver as a process of its own, operated by the hooks that users get, and ends it with the scope. */
const operate = Effect.fnUntraced(function* ({
  args,
  command,
  control,
  env
}: Launch): Effect.fn.Return<{ readonly origin: URL; readonly hooks: Hooks }, HookFailed, Scope.Scope> {
  const port = yield* freePort
  const origin = new URL(`http://127.0.0.1:${port}`)
  const line = `exec ${[command, ...args].map(Shell.quote).join(" ")}`
  const hooks = yield* spawned(line, { ...env, PORT: String(port) }, origin, new URL("/probe?id=never-sent", origin))
  return { origin, hooks: control ? yield* withControl(hooks, new URL("/control", origin)) : hooks }
})

/** A receiver as it is tried. */
type Tried = Pick<Fault, "change" | "level" | "name" | "profile">

/** A receiver's address, for as long as the scope lives: an HTTP server like any other, but nothing that could be killed. */
export const inProcess = (options: Omit<ServerOptions, "port" | "database">): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startServer({ ...options, port: 0, database: ":memory:" })),
    ({ die }) => Effect.promise(die)
  ).pipe(Effect.map(({ port }) => new URL(`http://127.0.0.1:${port}`)))

const inThisProcess = Effect.fnUntraced(function* ({ change, profile }: Tried) {
  const origin = yield* inProcess({ change, secret: profile === "signed" ? secret : null })
  return { origin, hooks: yield* withControl(noHooks, new URL("/control", origin)) }
})

const inItsOwn = Effect.fnUntraced(function* ({ name, profile }: Tried) {
  const fs = yield* FileSystem.FileSystem
  const database = `${yield* fs.makeTempDirectoryScoped()}/receiver.db`
  return yield* operate({
    command: process.execPath,
    args: [...process.execArgv, ...program.receiver],
    env: { NODE_NO_WARNINGS: "1", FAULT: name, DATABASE: database, SECRET: profile === "signed" ? secret : "" },
    control: true
  })
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

/** Runs the suite against a receiver that is right but different: at level 3, or quickly on what meets the difference. */
export const tryRight = (
  { change, met, name, profile, said }: RightReceiver,
  { quick, seed }: { readonly quick: boolean; readonly seed: number }
): Trial =>
  attempt(
    { change, name, profile, level: quick ? 2 : 3 },
    { ...said, seed, ...(quick ? { only: met, maxTime: 60_000 } : {}) },
    quick ? 0.1 : null
  )
