/**
 * Runs the command in the test's process, because starting a process would take longer than most tests.
 */
import { ConfigProvider, Console, Effect, Fiber, Layer } from "effect"
import type { Cause, Scope } from "effect"
import { makeDoorhook } from "../../src/command/doorhook.ts"
import { exitCodeOf, platform, reported, runWithArgv } from "../../src/command/Process.ts"
import { loadExtensions } from "../../src/command/extended.ts"
import type { Finished } from "@doorhook/testkit/Process"
import { operatorKey } from "@doorhook/testkit/Doorhook"

const doorhook = makeDoorhook(await loadExtensions())

/** Makes a console that collects output. `shows` waits for a text. */
const makeTerminal = () => {
  const printed = { stdout: "", stderr: "" }
  let check = (): void => undefined
  const printTo = (stream: "stdout" | "stderr") => (line: unknown) => {
    printed[stream] += `${String(line)}\n`
    check()
  }
  const console: Console.Console = { ...globalThis.console, log: printTo("stdout"), error: printTo("stderr") }
  /** Waits until standard output contains the text. */
  const shows = (pattern: RegExp): Effect.Effect<RegExpExecArray> =>
    Effect.callback((resume) => {
      check = () => {
        const match = pattern.exec(printed.stdout)
        if (match !== null) resume(Effect.succeed(match))
      }
      check()
    })
  return { printed, console, shows }
}

const execute = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>, console: Console.Console) =>
  runWithArgv(doorhook, args).pipe(
    Effect.provide(
      Layer.mergeAll(
        platform,
        Layer.succeed(Console.Console, console),
        ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
      )
    ),
    reported,
    Effect.provideService(Console.Console, console)
  )

/** Runs `doorhook` with these arguments and a separate environment until it exits. */
export const runHere = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Finished> {
  const { console, printed } = makeTerminal()
  const exit = yield* Effect.exit(execute(args, env, console))
  return { code: exitCodeOf(exit, { stoppable: false }), ...printed }
})

/** The output of a command so far. */
export interface RunningHere {
  readonly stdout: () => string
  readonly stderr: () => string
  /** The match of the pattern `ready` in the output. */
  readonly ready: RegExpExecArray
}

/** Runs `doorhook` with these arguments until the scope is closed. Returns when its output matches `ready`. */
export const startHere = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  ready: RegExp,
  env: Readonly<Record<string, string>> = {}
): Effect.fn.Return<RunningHere, Cause.Cause<unknown>, Scope.Scope> {
  const { console, printed, shows } = makeTerminal()
  const command = yield* Effect.forkScoped(execute(args, env, console))
  const ended = Effect.flatMap(Fiber.await(command), () =>
    Effect.die(new Error(`ended before it was ready\n${printed.stdout}\n${printed.stderr}`))
  )
  const said = yield* Effect.raceFirst(shows(ready), ended)
  return { ready: said, stdout: () => printed.stdout, stderr: () => printed.stderr }
})

/** Runs `doorhook serve` until the scope is closed, and returns its URL. */
export const serveHere = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) {
  const environment = { DOORHOOK_OPERATOR_KEY: operatorKey, ...env }
  const running = yield* startHere(["serve", "--port", "0", ...args], /doorhook listening on (http:\S+)/, environment)
  const [, url = ""] = running.ready
  return { ...running, url }
})
