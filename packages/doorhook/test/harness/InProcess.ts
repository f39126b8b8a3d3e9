/**
 * The command in the test's own process: all of it but the start of a process, which takes longer than what most tests are
 * about.
 */
import { ConfigProvider, Console, Effect, Fiber, Layer } from "effect"
import type { Cause, Scope } from "effect"
import { Command } from "effect/cli"
import { doorhook } from "../../src/command/doorhook.ts"
import { exitCodeOf, reported } from "../../src/command/ending.ts"
import { platform } from "../../src/command/platform.ts"
import { version } from "../../src/version.ts"
import type { Finished } from "@doorhook/testkit/Process"
import { operatorKey } from "@doorhook/testkit/Doorhook"

/** Keeps what is printed, and tells whoever waits for it. */
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
  Command.runWith(doorhook, { version })(args).pipe(
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

/** Runs `doorhook` with these arguments, and an environment of its own, to its end. */
export const runHere = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Finished> {
  const { console, printed } = makeTerminal()
  const exit = yield* Effect.exit(execute(args, env, console))
  return { code: exitCodeOf(exit, { stoppable: false }), ...printed }
})

/** What a service in this process has printed, and where it is. */
export interface Served {
  readonly url: string
  readonly stdout: () => string
  readonly stderr: () => string
}

/** `doorhook serve` until the scope is closed. */
export const serveHere = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Served, Cause.Cause<unknown>, Scope.Scope> {
  const { console, printed, shows } = makeTerminal()
  const environment = { DOORHOOK_OPERATOR_KEY: operatorKey, ...env }
  const service = yield* Effect.forkScoped(execute(["serve", "--port", "0", ...args], environment, console))
  const ended = Effect.flatMap(Fiber.await(service), () =>
    Effect.die(new Error(`ended before it listened\n${printed.stdout}\n${printed.stderr}`))
  )
  const [, url = ""] = yield* Effect.raceFirst(shows(/doorhook listening on (http:\S+)/), ended)
  return { url, stdout: () => printed.stdout, stderr: () => printed.stderr }
})
