/**
 * One faulty receiver before the suite.
 */
import { Effect, FileSystem, Path, Redacted } from "effect"
import type { PlatformError, Scope } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { withControl } from "../hooks/Control.ts"
import { noHooks } from "../hooks/Hooks.ts"
import type { HookFailed, Hooks } from "../hooks/Hooks.ts"
import { httpProbe } from "../probes/HttpProbe.ts"
import { inProcess } from "../receivers/InProcess.ts"
import { operate } from "../receivers/Operated.ts"
import type { Report } from "../report/Report.ts"
import { runSuite } from "../run/RunSuite.ts"
import type { Fault } from "./Fault.ts"

/** How long faulty receivers get for an answer, in milliseconds: short, so that late ones are soon late. */
const deadline = 1_000

/** How long after an answer effects are waited for, in milliseconds. */
const settle = 1_000

/** How long one that does not start again is tried to be started, in milliseconds: they start in less than a second. */
const comeback = 4_000

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

interface Running {
  readonly origin: URL
  readonly hooks: Hooks
}

/**
 * The program of a receiver. Sources run from sources, and what was built from what was built; by the package's name, because
 * this module may be part of a bundle.
 */
const receiver = join(
  dirname(createRequire(import.meta.url).resolve("@doorhook/conformance/package.json")),
  import.meta.url.endsWith(".ts") ? "src/mutants/main.ts" : "dist/mutants/main.js"
)

const inThisProcess = (fault: Fault): Effect.Effect<Running, never, Scope.Scope> =>
  inProcess({ change: fault.change, deadline, secret: fault.profile === "signed" ? secret : null }).pipe(
    Effect.flatMap((origin) =>
      Effect.map(withControl(noHooks, new URL("/control", origin)), (hooks) => ({ origin, hooks }))
    )
  )

const inItsOwn = Effect.fnUntraced(function* (name: string, signed: boolean) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  return yield* operate({
    command: process.execPath,
    args: [...process.execArgv, "--no-warnings", receiver],
    env: {
      FAULT: name,
      DATABASE: path.join(folder, "receiver.db"),
      DEADLINE_MS: String(deadline),
      SECRET: signed ? secret : ""
    },
    control: true
  })
})

/** Runs the suite against a receiver with the fault. */
export const tryFault = (
  fault: Fault,
  { maxTime, narrow, seed }: TrialOptions
): Effect.Effect<Report, HookFailed | PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const signed = fault.profile === "signed"
    const { hooks, origin } = yield* fault.level === 3 ? inItsOwn(fault.name, signed) : inThisProcess(fault)
    return yield* runSuite({
      url: new URL("/hook", origin),
      otherUrls: fault.profile === "tenant" ? [new URL("/hook/other", origin)] : [],
      level: fault.level,
      profiles: fault.profile === null ? [] : [fault.profile],
      probe: fault.level === 1 ? null : httpProbe(new URL("/probe", origin)),
      hooks,
      secret: signed ? Redacted.make(secret) : null,
      deadline,
      settle,
      comeback,
      seed,
      maxTime,
      peakRate: fault.profile === "load" ? peakRate : null,
      only: narrow ? [fault.requirement] : []
    })
  }).pipe(Effect.scoped)
