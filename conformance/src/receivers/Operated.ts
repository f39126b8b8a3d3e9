/**
 * A receiver that the suite starts and operates itself: as a process of its own, with every hook.
 */
import { Effect, Predicate, Schedule } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { HookFailed } from "../hooks/Hooks.ts"
import { controlsOf } from "./Controls.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { awaitGone } from "../hooks/Ready.ts"

/** How to start a receiver. It gets its port in the variable PORT. */
export interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  /** Whether it has the control of the bundled receivers: `/control/double` and `/control/advance`. */
  readonly control: boolean
}

export interface Operated {
  readonly origin: URL
  readonly hooks: Hooks
  /** What it wrote to standard error, for whoever asks why it does not start. */
  readonly complaints: () => string
}

/** A port of this machine at which nobody listens. */
const freePort = Effect.promise(async () => {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return address !== null && typeof address === "object" ? address.port : 0
})

/** How long a start may take, in milliseconds: a language may compile first. */
const longestStart = 30_000

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

/** A process and all that it started. */
const signalGroup = ({ pid }: ChildProcess, name: NodeJS.Signals): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, name)
  } catch (error) {
    // It ended by itself in the meantime.
    if (!Predicate.hasProperty(error, "code") || error.code !== "ESRCH") throw error
  }
}

/** Starts it, and ends it with the scope. */
export const operate = (launch: Launch): Effect.Effect<Operated, HookFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* freePort
    const origin = new URL(`http://127.0.0.1:${port}`)
    let child: ChildProcess | null = null
    let complaints = ""

    const start = Effect.sync(() => {
      const started = spawn(launch.command, [...launch.args], {
        // A process group of its own: workers that it starts die with it.
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, ...launch.env, PORT: String(port) }
      })
      started.on("error", (error) => (complaints += error.message))
      started.stderr.on("data", (chunk) => (complaints = `${complaints}${chunk}`.slice(-4_000)))
      child = started
    })

    const end = Effect.promise(async () => {
      if (child === null || !isRunning(child) || child.pid === undefined) return
      const ended = once(child, "exit")
      signalGroup(child, "SIGKILL")
      await ended
    }).pipe(Effect.andThen(awaitGone(origin)))

    const ready = Effect.tryPromise(() =>
      fetch(new URL("/probe?id=never-sent", origin)).then((answer) => answer.text())
    ).pipe(
      Effect.retry(Schedule.spaced(20)),
      Effect.timeout(longestStart),
      Effect.mapError(
        () => new HookFailed({ message: `${launch.command} did not answer within ${longestStart} ms: ${complaints}` })
      ),
      Effect.asVoid
    )

    const signal = (name: NodeJS.Signals) =>
      Effect.sync(() => {
        if (child !== null) signalGroup(child, name)
      })

    yield* Effect.addFinalizer(() => end)
    yield* start
    yield* ready

    const hooks: Hooks = {
      restart: Effect.andThen(end, Effect.andThen(start, ready)),
      kill: end,
      pause: signal("SIGSTOP"),
      resume: signal("SIGCONT"),
      ...(launch.control ? controlsOf(origin) : { advance: null, double: null }),
      ready,
      names: {
        restart: "own process",
        kill: "SIGKILL",
        pause: "SIGSTOP",
        resume: "SIGCONT",
        double: "control",
        advance: "control"
      }
    }
    return { origin, hooks, complaints: () => complaints }
  })
