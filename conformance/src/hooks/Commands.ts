/**
 * Hooks that users provide: shell commands, the receiver's control URL, and functions in a test.
 */
import { Effect, Schema, Struct } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { detailOf } from "../evidence/Exchange.ts"
import { ask } from "../http/Ask.ts"
import { awaitReady, HookFailed, noHooks } from "./Hooks.ts"
import type { Hooks } from "./Hooks.ts"

/** Time limit for a hook, in milliseconds. */
export const hookPatience = 30_000

type Environment = Readonly<Record<string, string>>

/**
 * Options that start a shell in its own process group, so that a signal reaches all processes that the shell starts.
 */
export const inShell = (env: Environment) => ({ shell: true, detached: true, env: { ...process.env, ...env } }) as const

/** Sends a signal to a shell and to all processes that it started. */
export const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has just ended, or the system has no process groups.
    child.kill(signal)
  }
}

/** Whether any process of the shell's group is left. If none is left, the system may soon reuse the group's number. */
export const hasProcesses = ({ pid }: ChildProcess): boolean => {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}

/**
 * Runs a command until it ends. If it takes too long or is interrupted, kills it with all processes that it started.
 * Processes that a finished command left in the background keep running. All output is discarded, so that a receiver
 * never blocks on it.
 */
export const runHook = (name: string, command: string, env: Environment = {}): Effect.Effect<void, HookFailed> => {
  const failed = (what: string, help: string) =>
    Effect.fail(new HookFailed({ message: `${name} ${what}: ${command}. ${help}` }))
  const byHand = "Run it by hand to see why."
  return Effect.callback<void, HookFailed>((resume) => {
    const child = spawn(command, { ...inShell(env), stdio: "ignore" })
    child.on("error", (error) => resume(failed(`could not be run (${error.message})`, byHand)))
    child.on("exit", (code, signal) =>
      resume(code === 0 ? Effect.void : failed(`ended with ${code ?? signal ?? "no code"}`, byHand))
    )
    return Effect.sync(() => signalGroup(child, "SIGKILL"))
  }).pipe(
    Effect.timeoutOrElse({
      duration: hookPatience,
      orElse: () =>
        failed(
          `did not end within ${hookPatience / 1_000} s`,
          "The command must end, and leave what it starts in the background."
        )
    })
  )
}

/** The command of each hook; null if its flag was not given. */
export type HookCommands = Readonly<Record<"restart" | "kill" | "pause" | "resume" | "advance", string | null>>

export const commandHooks = (commands: HookCommands, url: URL, readyUrl: URL | null): Hooks => {
  const { advance } = commands
  const of = (name: keyof HookCommands) => {
    const command = commands[name]
    return command === null ? null : runHook(`--${name}-cmd`, command)
  }
  const given = Struct.keys(commands).filter((name) => commands[name] !== null)
  return {
    ...noHooks,
    restart: of("restart"),
    kill: of("kill"),
    pause: of("pause"),
    resume: of("resume"),
    advance:
      advance === null
        ? null
        : (milliseconds) =>
            runHook("--advance-cmd", advance, {
              ADVANCE_MS: String(milliseconds),
              ADVANCE_SECONDS: String(Math.ceil(milliseconds / 1_000))
            }),
    ready: awaitReady(url, readyUrl),
    names: Object.fromEntries(given.map((name) => [name, `--${name}-cmd`]))
  }
}

const Offer = Schema.fromJsonString(Schema.Struct({ ops: Schema.Array(Schema.String) }))

const under = (control: URL, path: string, query: Readonly<Record<string, string>> = {}): URL => {
  const url = new URL(control)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

const post = (url: URL): Effect.Effect<void, HookFailed> =>
  ask(url, "POST", hookPatience).pipe(
    Effect.flatMap(({ status }) =>
      status < 200 || status > 299 ? Effect.fail(new Error(`status ${status}`)) : Effect.void
    ),
    Effect.mapError((error) => {
      const asked = `POST ${url.origin}${url.pathname}`
      return new HookFailed({
        message: `${asked} failed (${detailOf(error)}). Correct --control-url, or leave it out.`
      })
    })
  )

/** Timeout of the request for the operations that the control URL offers, in milliseconds. */
const offerPatience = 2_000

/**
 * Returns the operations that the receiver offers besides `double`: `GET {control}` returns `{"ops": ["restart",
 * "kill", ...]}`.
 */
const offered = (control: URL): Effect.Effect<ReadonlyArray<string>> =>
  ask(control, "GET", offerPatience).pipe(
    Effect.flatMap(({ body, status }) => Schema.decodeEffect(Offer)(status === 200 ? body : `{"ops":[]}`)),
    Effect.map(({ ops }) => ops),
    // A receiver that offers only the required `double` need not answer this request.
    Effect.orElseSucceed(() => [])
  )

/**
 * Adds the hooks of the control URL. Commands take precedence. `POST {control}/double?id=WEBHOOK_ID` makes the receiver
 * record one more effect. Each offered operation is a POST to a path with its name.
 */
export const withControl = Effect.fnUntraced(function* (hooks: Hooks, control: URL): Effect.fn.Return<Hooks> {
  const ops = yield* offered(control)
  const names: Record<string, string> = { ...hooks.names, double: `${control.origin}${control.pathname}/double` }
  const of = <A>(name: "restart" | "kill" | "pause" | "resume" | "advance", given: A | null, made: A): A | null => {
    if (given !== null || !ops.includes(name)) return given
    names[name] = `--control-url (${name})`
    return made
  }
  return {
    ...hooks,
    restart: of("restart", hooks.restart, post(under(control, "restart"))),
    // A receiver that kills itself can't respond to the request.
    kill: of("kill", hooks.kill, Effect.ignore(post(under(control, "kill")))),
    pause: of("pause", hooks.pause, post(under(control, "pause"))),
    resume: of("resume", hooks.resume, post(under(control, "resume"))),
    advance: of("advance", hooks.advance, (milliseconds: number) =>
      post(under(control, "advance", { ms: String(milliseconds) }))
    ),
    double: (webhookId) => post(under(control, "double", { id: webhookId })),
    names
  }
})

/**
 * Makes a hook from a function in a test; null without one. The hook fails if the function does not settle in time,
 * because an interrupted run waits for its hooks.
 */
export const functionHook = <Arguments extends ReadonlyArray<unknown>>(
  name: string,
  act: ((...given: Arguments) => void | Promise<void>) | undefined
) =>
  act === undefined
    ? null
    : (...given: Arguments): Effect.Effect<void, HookFailed> =>
        Effect.tryPromise({
          try: async () => act(...given),
          catch: (error) => new HookFailed({ message: `the test's \`${name}\` threw: ${String(error)}` })
        }).pipe(
          Effect.timeoutOrElse({
            duration: hookPatience,
            orElse: () =>
              Effect.fail(
                new HookFailed({ message: `the test's \`${name}\` did not end within ${hookPatience / 1_000} s` })
              )
          })
        )
