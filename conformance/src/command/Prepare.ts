/**
 * Turns checked flags into the means of a run: URLs, probe and hooks.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Result } from "effect"
import type { Scope } from "effect"
import { commandHooks, withControl } from "../hooks/Commands.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { freePort, spawned } from "../hooks/Spawned.ts"
import { portOf } from "../http/Ask.ts"
import { logProbe, parseLog } from "../probes/LogProbe.ts"
import { execProbe, httpProbe } from "../probes/Probe.ts"
import type { Probe } from "../probes/Probe.ts"
import { noMeans } from "../record/Options.ts"
import type { Means } from "../record/Options.ts"
import { exitCodes } from "../report/Explanation.ts"
import type { Given } from "../run/RunSuite.ts"
import * as Target from "../run/Target.ts"
import { claim } from "../run/Target.ts"
import { checkFlags } from "./Flags.ts"
import type { Checked, TargetFlags } from "./Flags.ts"

/** Makes the failure of a command whose receiver or probe can't be used. */
export const unusable = ({ message }: { readonly message: string }): CommandFailure =>
  new CommandFailure({ message, exitCode: exitCodes.unusable })

const stop = (): void => void process.kill(process.pid, "SIGTERM")

/**
 * Makes SIGHUP stop the process like SIGTERM until the scope is closed. By default, Node.js exits immediately when its
 * terminal closes, and the processes that a run has started would keep running.
 */
const stopOnHangup: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", stop)),
    () => Effect.sync(() => process.off("SIGHUP", stop))
  )
)

/** Returns the URL with `port` in place of port 0. */
const atPort = (url: URL, port: number): URL => {
  const moved = new URL(url)
  if (moved.port === "0") moved.port = String(port)
  return moved
}

/** Makes a probe, once the receiver's port is known. */
type MakeProbe = (port: number) => Probe | null

/** Reads `--probe`. */
const readProbe = (text: string | null): Result.Result<MakeProbe, CommandFailure> => {
  if (text === null) return Result.succeed(() => null)
  const split = text.indexOf(":")
  const kind = text.slice(0, Math.max(split, 0))
  const rest = text.slice(split + 1)
  const wrong = (what: string) => Result.fail(CommandFailure.usage(`--probe ${what}`))
  switch (kind) {
    case "http":
    case "https":
      // Accepts both `http:URL` and a plain URL.
      return Target.parse(rest.startsWith("//") ? text : rest).pipe(
        Result.mapError(({ message }) => CommandFailure.usage(message.replace(/^--url:?/, `--probe ${kind}:`))),
        Result.map((url) => (port) => httpProbe(atPort(url, port)))
      )
    case "exec":
      return rest.trim() === ""
        ? wrong("exec: the command is missing; write exec:CMD")
        : Result.succeed(() => execProbe(rest))
    case "log":
      return Result.map(
        parseLog(rest),
        ({ file, pattern }) =>
          () =>
            logProbe(file, pattern)
      )
    default:
      return wrong(`${text}: there is no such probe; write http:URL, exec:CMD or log:FILE:REGEX`)
  }
}

interface Operated {
  readonly urls: Checked["urls"]
  readonly hooks: Hooks
  readonly port: number
}

/** Makes the hooks and resolves the URLs of the receiver. With `--spawn`, starts the receiver. */
const makeHooks = Effect.fnUntraced(function* ({
  controlUrl,
  options,
  readyUrl: givenReady,
  urls: [given, ...others]
}: Checked): Effect.fn.Return<Operated, CommandFailure, Scope.Scope> {
  const port = given.port === "0" ? yield* freePort : portOf(given)
  const url = atPort(given, port)
  const readyUrl = givenReady === null ? null : atPort(givenReady, port)
  const commands = commandHooks(
    {
      restart: options.restartCmd,
      kill: options.killCmd,
      pause: options.pauseCmd,
      resume: options.resumeCmd,
      advance: options.advanceCmd
    },
    url,
    readyUrl
  )
  const env = options.portEnv === null ? {} : { [options.portEnv]: String(port) }
  const hooks =
    options.spawn === null
      ? commands
      : yield* spawned(options.spawn, env, url, readyUrl).pipe(
          Effect.mapError(unusable),
          Effect.map((own) => ({ ...own, advance: commands.advance, names: { ...commands.names, ...own.names } }))
        )
  return {
    urls: [url, ...others.map((other) => atPort(other, port))],
    port,
    hooks: controlUrl === null ? hooks : yield* withControl(hooks, atPort(controlUrl, port))
  }
})

/** Checks the flags, and whether the suite may send to the target. Sends and starts nothing. */
export const checkTarget = Effect.fnUntraced(function* (flags: TargetFlags) {
  const checked = yield* checkFlags(flags)
  const makeProbe = yield* Effect.fromResult(readProbe(checked.options.probe))
  for (const url of checked.urls) {
    yield* Target.authorize(url, flags.owned).pipe(
      Effect.catchTag("TargetUnusable", (error) => Effect.fail(unusable(error))),
      Effect.provide(Target.systemNames)
    )
  }
  return { ...checked, makeProbe }
})

/** The means of a run, and its settings except for the selection of requirements. */
export interface Prepared {
  readonly given: Given & Pick<Required<Given>, "maxTime" | "settle" | "level">
  readonly means: Means
}

/**
 * Checks the flags, starts the receiver and the probe that they name, and locks out other runs until the scope is
 * closed.
 */
export const prepare = Effect.fnUntraced(function* (
  flags: TargetFlags
): Effect.fn.Return<Prepared, CommandFailure, Scope.Scope> {
  yield* stopOnHangup
  const checked = yield* checkTarget(flags)
  // A receiver at port 0 is started by this run, so no other run can use it.
  const shared = checked.urls.filter(({ port }) => port !== "0")
  yield* Effect.mapError(claim(shared, checked.options.maxTime, Console.log), unusable)
  const { hooks, port, urls } = yield* makeHooks(checked)
  const { level, profile } = checked.options
  if (level === 3 && hooks.restart === null && hooks.kill === null) {
    return yield* CommandFailure.usage(
      "--level 3 needs a way to stop the receiver: the control URL offers neither restart nor kill"
    )
  }
  if (profile.includes("clock") && hooks.advance === null) {
    return yield* CommandFailure.usage("--profile clock needs --advance-cmd: the control URL does not offer advance")
  }
  const probe = checked.makeProbe(port)
  return {
    given: { ...checked.options, url: urls.map(({ href }) => href) },
    means: { ...noMeans, urls, probe, hooks, secret: checked.secret, mayExtend: flags.maxTime === null }
  }
})
