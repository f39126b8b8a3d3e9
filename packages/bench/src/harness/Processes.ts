/**
 * Starts programs in separate processes: until they end, or for the lifetime of a scope.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"

/** A program that runs for the lifetime of a scope. */
export interface Started {
  readonly pid: number
  /** The line of output with which it reported that it was ready. */
  readonly line: string
}

const readyLine = async (child: ChildProcess, isReady: (line: string) => boolean): Promise<string> => {
  if (child.stdout === null) return ""
  for await (const line of createInterface(child.stdout)) if (isReady(line)) return line
  throw new Error(`a program ended with code ${child.exitCode} before it was ready`)
}

/** Starts a program, and waits for the first line of output for which `isReady` returns true. */
export const start = (
  program: string,
  args: ReadonlyArray<string>,
  isReady: (line: string) => boolean = () => true,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(program, [...args], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } })
      const line = await readyLine(child, isReady)
      child.stdout.resume()
      return { child, line }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        const ended = once(child, "close")
        child.kill("SIGKILL")
        await ended
      })
  ).pipe(Effect.map(({ child, line }) => ({ line, pid: child.pid ?? Number.NaN })))

/** Starts a program of this package. */
export const startProgram = (program: string, ...args: ReadonlyArray<string>) =>
  start(process.execPath, ["--conditions=source", program, ...args])

const receiver = `
const { createServer } = require("node:http")
const delay = Number(process.argv[1] ?? 0)
createServer((request, response) => {
  request.resume()
  if (delay === Infinity) return
  request.on("end", () => (delay === 0 ? response.end() : setTimeout(() => response.end(), delay)))
}).listen(0, "127.0.0.1", function () { console.log(this.address().port) })
`

/**
 * Starts a minimal receiver on `node:http`, which reads each request and responds with 200 after `delay` milliseconds,
 * or never (`Infinity`). Returns its port.
 */
export const startReceiver = (delay = 0): Effect.Effect<number, never, Scope.Scope> =>
  Effect.map(start(process.execPath, ["-e", receiver, String(delay)]), ({ line }) => Number(line))

/** Error for a failed program. The program's own message is on standard error. */
export class ProgramFailed extends Schema.TaggedError<ProgramFailed>()("ProgramFailed", {
  what: Schema.String,
  code: Schema.NullOr(Schema.Int)
}) {
  override get message(): string {
    return `the process of ${this.what} ended with code ${this.code}`
  }
}

/** The Node.js flags that the `doorhook` command sets for itself (`packages/doorhook/bin/doorhook.js`). */
const commandFlags = ["--max-semi-space-size=16", "--heap-growing-percent=100"]

/**
 * Runs a program of this package until it ends, with the flags of the `doorhook` command. Returns its output, parsed as
 * JSON but not validated.
 */
export const runProgram = <A>(
  what: string,
  program: string,
  args: ReadonlyArray<string>,
  input = ""
): Effect.Effect<A, ProgramFailed> =>
  Effect.gen(function* () {
    const { code, printed } = yield* Effect.promise(async (signal) => {
      const child = spawn(process.execPath, [...commandFlags, "--conditions=source", program, ...args], {
        stdio: ["pipe", "pipe", "inherit"],
        signal,
        killSignal: "SIGKILL"
      })
      child.stdin.end(input)
      const [printed, [code]]: readonly [string, ReadonlyArray<number | null>] = await Promise.all([
        text(child.stdout),
        once(child, "close")
      ])
      return { code: code ?? null, printed }
    })
    if (code !== 0) return yield* new ProgramFailed({ what, code })
    const answer: A = JSON.parse(printed)
    return answer
  })
