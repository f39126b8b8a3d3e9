/**
 * From settings to probe and hooks: what the suite sees and operates the receiver with.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import { commandHooks } from "../hooks/Commands.ts"
import { withControl } from "../hooks/Control.ts"
import { freePort, spawned } from "../hooks/Spawned.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { portOf } from "../PortOf.ts"
import { execProbe } from "../probes/ExecProbe.ts"
import { httpProbe } from "../probes/HttpProbe.ts"
import { logProbe, parseLog } from "../probes/LogProbe.ts"
import type { Probe } from "../probes/Probe.ts"
import { sinkProbe } from "../probes/SinkProbe.ts"
import type { Checked } from "./Flags.ts"
import { unusable } from "./Unusable.ts"
import * as Target from "../run/Target.ts"

/** The same URL, with the port that was found where it asked for any. */
const atPort = (url: URL, port: number): URL => {
  const moved = new URL(url)
  if (moved.port === "0") moved.port = String(port)
  return moved
}

const kinds = "http:URL, exec:CMD, log:FILE:REGEX or sink:PORT"

/** Starts what a probe needs, once the port of the receiver is known. */
type StartProbe = (port: number) => Effect.Effect<Probe | null, CommandFailure, Scope.Scope>

/** Reads `--probe`: nothing is started yet. */
export const readProbe = (text: string | null): Result.Result<StartProbe, CommandFailure> => {
  if (text === null) return Result.succeed(() => Effect.succeed(null))
  const split = text.indexOf(":")
  const kind = text.slice(0, Math.max(split, 0))
  const rest = text.slice(split + 1)
  const wrong = (what: string) => Result.fail(CommandFailure.usage(`--probe ${what}`))
  switch (kind) {
    case "http":
    case "https":
      // `http://...` is a probe's URL as well as its kind and the rest.
      return Target.parse(rest.startsWith("//") ? text : rest).pipe(
        Result.mapError(({ message }) => CommandFailure.usage(message.replace("--url", `--probe ${kind}:`))),
        Result.map((url) => (port) => Effect.succeed(httpProbe(atPort(url, port))))
      )
    case "exec":
      return rest.trim() === ""
        ? wrong("exec: the command is missing; write exec:CMD")
        : Result.succeed(() => Effect.succeed(execProbe(rest)))
    case "log":
      return Result.map(
        parseLog(rest),
        ({ file, pattern }) =>
          () =>
            Effect.sync(() => logProbe(file, pattern))
      )
    case "sink":
      return /^\d{1,5}$/.test(rest) && Number(rest) > 0 && Number(rest) < 65_536
        ? Result.succeed(() => Effect.mapError(sinkProbe(Number(rest)), unusable))
        : wrong("sink: write sink:PORT, a port that is free")
    default:
      return wrong(`${text}: there is no such probe; write ${kinds}`)
  }
}

interface Operated {
  readonly urls: Checked["urls"]
  readonly hooks: Hooks
  readonly port: number
}

/** The URLs of the receiver as it runs, and the hooks. Starts the receiver where it is to be spawned. */
export const makeHooks = Effect.fnUntraced(function* ({
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
