/**
 * A receiver that the suite starts itself (`--spawn`), at a free port if requested. The suite can kill, pause and
 * restart it without further commands.
 */
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { randomInt } from "node:crypto"
import { createServer } from "node:net"
import { inShell, hasProcesses, signalGroup } from "./Commands.ts"
import { awaitGone, awaitReady, retryInterval, HookFailed, acceptsConnections, noHooks } from "./Hooks.ts"
import type { Hooks } from "./Hooks.ts"

/**
 * Range of ports. Operating systems don't pick these ports for outgoing connections, which could otherwise occupy the
 * port of a stopped receiver.
 */
const ports = { from: 10_100, to: 30_000 }
/** Number of tries in the range `ports` before `freePort` takes any free port. */
const mostTries = 100

/** Returns the port if it is free, else null. Returns any free port for 0. */
const ifFree = (port: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(null)))
    server.listen(port, () => {
      const address = server.address()
      const given = address !== null && typeof address === "object" ? address.port : null
      server.close(() => resume(Effect.succeed(given)))
    })
  })

/** Finds a free port of this machine. */
export const freePort: Effect.Effect<number> = Effect.gen(function* () {
  for (let tries = 0; tries < mostTries; tries++) {
    const port = yield* ifFree(randomInt(ports.from, ports.to))
    if (port !== null) return port
  }
  return (yield* ifFree(0)) ?? 0
})

/** Matches the error of a receiver whose port another process took while it was down. */
const portTaken = /EADDRINUSE|address (?:is )?already in use|address in use/i

/** Number of characters to keep from the end of standard error. */
const mostComplaint = 2_000

/** Longest wait for the rest of standard error after the process ended, in milliseconds. */
const lastWords = 1_000

const happened = (child: ChildProcess, event: "close" | "exit"): Promise<void> =>
  new Promise((resolve) => child.once(event, () => resolve()))

/** Waits until no process of the shell's group is left. */
const nothingLeft = (shell: ChildProcess): Effect.Effect<unknown> =>
  Effect.sync(() => hasProcesses(shell)).pipe(
    Effect.repeat({ while: (left) => left, schedule: Schedule.spaced(retryInterval) })
  )

/**
 * Waits until the started processes have ended and their standard error was read. A shell that ends with 0 may leave
 * the receiver in the background, where it may still become ready.
 */
const endOf = (shell: ChildProcess): Effect.Effect<void> => {
  const closed = happened(shell, "close")
  const ended = Promise.race([happened(shell, "exit"), closed])
  return Effect.promise(() => ended).pipe(
    Effect.andThen(Effect.suspend(() => (shell.exitCode === 0 ? nothingLeft(shell) : Effect.void))),
    Effect.andThen(
      Effect.timeoutOption(
        Effect.promise(() => closed),
        lastWords
      )
    ),
    Effect.asVoid
  )
}

/** Makes the error for a port that another process uses, so that requests would not reach the started receiver. */
const outlived = ({ origin }: URL): HookFailed =>
  new HookFailed({
    message: `--spawn: something at ${origin} still accepts connections after SIGKILL. Does a container or a service run it? Then leave --spawn out, and give --kill-cmd and --restart-cmd.`
  })

/**
 * Starts a receiver and waits until it is ready. Kills it when the scope ends. Behind a proxy, `url` leads to the proxy,
 * and the ready URL to the receiver itself.
 */
export const spawned = Effect.fnUntraced(function* (
  command: string,
  env: Readonly<Record<string, string>>,
  url: URL,
  readyUrl: URL | null
): Effect.fn.Return<Hooks, HookFailed, Scope.Scope> {
  const own = (yield* acceptsConnections(url)) ? readyUrl : url
  if (own === null || (own !== url && (yield* acceptsConnections(own)))) {
    return yield* new HookFailed({
      message: `--spawn: something already listens at ${(own ?? url).origin}, perhaps left by a killed run, and would be tested instead. Stop it, or use any free port: port 0 in --url, and --port-env.${own === null ? " If it is a proxy before the receiver, name a URL of the receiver itself with --ready-url." : ""}`
    })
  }
  let child: ChildProcess | null = null
  let ended: Effect.Effect<void> = Effect.void
  let complaint = ""
  let exit = ""

  const start = Effect.sync(() => {
    const started = spawn(command, { ...inShell(env), stdio: ["ignore", "ignore", "pipe"] })
    complaint = ""
    exit = ""
    started.on("error", (error) => (complaint = error.message))
    started.stderr.on("data", (chunk) => (complaint = `${complaint}${chunk}`.slice(-mostComplaint)))
    ended = endOf(started)
    child = started
    // A shell may end and leave the receiver in the background.
    started.once("exit", (code, signal) => {
      if (child === started) exit = ` with ${signal ?? `code ${code}`}`
      if (child === started && !hasProcesses(started)) child = null
    })
  })

  const kill = Effect.promise(async () => {
    if (child === null) return
    const isRunning = child.exitCode === null && child.signalCode === null
    const exited = isRunning ? happened(child, "exit") : null
    signalGroup(child, "SIGKILL")
    child = null
    await exited
  }).pipe(
    Effect.andThen(awaitGone(own)),
    Effect.flatMap((gone) => (gone ? Effect.void : Effect.fail(outlived(own))))
  )

  const failed = (): HookFailed => {
    const lines = complaint.trim().split("\n")
    // The last line may not be the error: Node.js prints its version there, and other platforms print a stack frame.
    const why = lines.findLast((line) => /^\w*(?:error|exception)\b/i.test(line)) ?? lines.at(-1) ?? ""
    return new HookFailed({
      message: `--spawn ended${exit}: ${command}${why === "" ? "" : ` (${why})`}`,
      ...(portTaken.test(complaint)
        ? {}
        : { down: `it ended before it was ready${why === "" ? ", without an error message" : `: ${why}`}` })
    })
  }
  const diedEarly = Effect.suspend(() => ended).pipe(Effect.andThen(Effect.suspend(() => Effect.fail(failed()))))

  const ready = Effect.raceFirst(
    awaitReady(url, readyUrl, {
      what: "--spawn: the receiver runs, but was not ready",
      advice:
        "Does it listen at that port? The variable of --port-env holds the port of --url; --ready-url shows when the receiver is ready."
    }),
    diedEarly
  )
  const signal = (name: NodeJS.Signals) =>
    Effect.sync(() => {
      if (child !== null) signalGroup(child, name)
    })

  yield* Effect.acquireRelease(start, () => Effect.ignore(kill))
  yield* ready
  return {
    ...noHooks,
    restart: Effect.andThen(kill, start),
    kill,
    pause: signal("SIGSTOP"),
    resume: signal("SIGCONT"),
    ready,
    startsIt: true,
    names: { restart: "--spawn", kill: "--spawn (SIGKILL)", pause: "--spawn (SIGSTOP)", resume: "--spawn (SIGCONT)" }
  }
})
