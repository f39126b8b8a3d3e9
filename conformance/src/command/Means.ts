/**
 * From flags to probe and hooks: what the suite sees and operates the receiver with.
 */
import { CommandFailure, UrlPolicy } from "@doorhook/core"
import { Effect, Option, Result } from "effect"
import type { Scope } from "effect"
import * as Target from "../executor/Target.ts"
import { commandHooks } from "../hooks/CommandHooks.ts"
import { withControl } from "../hooks/Control.ts"
import { freePort } from "../hooks/FreePort.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { spawned } from "../hooks/Spawned.ts"
import { portOf } from "../PortOf.ts"
import { execProbe } from "../probes/ExecProbe.ts"
import { httpProbe } from "../probes/HttpProbe.ts"
import { logProbe, parseLog } from "../probes/LogProbe.ts"
import type { Probe } from "../probes/Probe.ts"
import { sinkProbe } from "../probes/SinkProbe.ts"
import type { TargetFlags } from "./RunFlags.ts"
import { unusable } from "./Unusable.ts"

/** The same URL, with the port that was found where it asked for any. */
export const atPort = (url: URL, port: number): URL => {
  const moved = new URL(url)
  if (moved.port === "0") moved.port = String(port)
  return moved
}

const kinds = "http:URL, exec:CMD, log:FILE:REGEX or sink:PORT"

/** Starts what a probe needs, once the port of the receiver is known. */
export type StartProbe = (port: number) => Effect.Effect<Probe | null, CommandFailure, Scope.Scope>

/** The kind that `--probe` names, and what it holds of that kind. */
const partsOf = (text: string): { readonly kind: string; readonly rest: string } => {
  const split = text.indexOf(":")
  const kind = text.slice(0, Math.max(split, 0))
  const rest = text.slice(split + 1)
  // `http://...` is a probe's URL as well as its kind and the rest.
  return { kind, rest: kind.startsWith("http") && rest.startsWith("//") ? text : rest }
}

/** `--probe` as it may be shown: an URL without its query, which may hold a secret. */
export const shownProbe = (text: string): string => {
  const { kind, rest } = partsOf(text)
  const url = kind === "http" || kind === "https" ? URL.parse(rest) : null
  return url === null ? text : `${text.slice(0, text.length - rest.length)}${UrlPolicy.shownUrl(url)}`
}

/** Reads `--probe`: nothing is started yet. */
export const readProbe = (text: Option.Option<string>): Result.Result<StartProbe, CommandFailure> => {
  if (Option.isNone(text)) return Result.succeed(() => Effect.succeed(null))
  const { kind, rest } = partsOf(text.value)
  const wrong = (what: string) => Result.fail(CommandFailure.usage(`--probe ${what}`))
  switch (kind) {
    case "http":
    case "https":
      return Target.parse(rest).pipe(
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
      return wrong(`${text.value}: there is no such probe; write ${kinds}`)
  }
}

/** The URL of the receiver as it runs, and the hooks. Starts the receiver where it is to be spawned. */
export const makeHooks = Effect.fnUntraced(function* (
  flags: TargetFlags,
  given: URL,
  givenReady: URL | null,
  givenControl: URL | null
): Effect.fn.Return<{ readonly url: URL; readonly hooks: Hooks; readonly port: number }, CommandFailure, Scope.Scope> {
  const port = given.port === "0" ? yield* freePort : portOf(given)
  const url = atPort(given, port)
  const readyUrl = givenReady === null ? null : atPort(givenReady, port)
  const commands = commandHooks(
    {
      restart: Option.getOrNull(flags.restartCmd),
      kill: Option.getOrNull(flags.killCmd),
      pause: Option.getOrNull(flags.pauseCmd),
      resume: Option.getOrNull(flags.resumeCmd),
      advance: Option.getOrNull(flags.advanceCmd)
    },
    url,
    readyUrl
  )
  const env = Option.isSome(flags.portEnv) ? { [flags.portEnv.value]: String(port) } : {}
  const hooks = Option.isNone(flags.spawn)
    ? commands
    : yield* spawned(flags.spawn.value, env, url, readyUrl).pipe(
        Effect.mapError(unusable),
        Effect.map((own) => ({ ...own, advance: commands.advance, names: { ...commands.names, ...own.names } }))
      )
  return { url, port, hooks: givenControl === null ? hooks : yield* withControl(hooks, atPort(givenControl, port)) }
})
