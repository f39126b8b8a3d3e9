/**
 * A server in its own process: the built `doorhook serve`, or a peer.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { builtCommand, compileCache } from "./BuiltCommand.ts"
import { commandFlags } from "./RunProgram.ts"
import { temporaryFolder } from "./TemporaryFile.ts"

const inside = new URL("../inside.ts", import.meta.url)
const sources = fileURLToPath(new URL("../../../doorhook/src/command/main.ts", import.meta.url))

/** Number of statements sent to a database. */
export interface Observed {
  readonly queries: number
  /** Number of statements that began or ended transactions. */
  readonly controls: number
}

/** Whether a statement begins or ends a transaction. */
export const isControl = (statement: string): boolean =>
  /^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(statement)

/** Messages to a server that runs with `inside.ts`. It answers each message with the number of statements so far. */
export type Question =
  | { readonly ask: "statements" }
  /** Starts a profile. */
  | { readonly ask: "profile"; readonly name: string }
  /** Ends the profile and prints it. */
  | { readonly ask: "end profile" }

export interface ServerProcess {
  readonly pid: number
  readonly port: number
  /** The line with which the server reported that it was ready. */
  readonly line: string
  readonly ask: (question: Question) => Effect.Effect<Observed>
}

/** Reads output up to the first line with an address on this machine. */
const readyLine = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) return ""
  for await (const line of createInterface(child.stdout)) if (line.includes("http://127.0.0.1:")) return line
  throw new Error(`the server did not start: its process ended with code ${child.exitCode}`)
}

/** Starts Node.js with arguments, for the lifetime of the scope. */
const startNode = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<ServerProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [...args], {
        stdio: ["ignore", "pipe", "inherit", "ipc"],
        env: { ...process.env, ...env }
      })
      const line = await readyLine(child)
      child.stdout?.resume()
      return { child, line }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        const ended = once(child, "close")
        child.kill("SIGKILL")
        await ended
      })
  ).pipe(
    Effect.map(({ child, line }) => ({
      line,
      pid: child.pid ?? Number.NaN,
      port: Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]),
      ask: (question) =>
        Effect.promise(async () => {
          child.send(question)
          const [observed]: ReadonlyArray<Observed> = await once(child, "message")
          return observed ?? { queries: Number.NaN, controls: Number.NaN }
        })
    }))
  )

/** Starts a program of this package, such as a peer. */
export const startProgram = (program: string, args: ReadonlyArray<string>) =>
  startNode(["--conditions=source", program, ...args])

/** Starts a server from `peers`, which prints its address and other values as a line of JSON. */
export const startPeer = (peer: string, args: ReadonlyArray<string>) =>
  startProgram(fileURLToPath(new URL(`../peers/${peer}/serve.ts`, import.meta.url)), args)

/** The client, user and building of the measured service. */
export const client = { id: "c1", secret: "a-secret-of-the-benchmarks", redirectUri: "urn:ietf:wg:oauth:2.0:oob" }
export const user = { login: "admin@example.com", password: "a password of the benchmarks" }
export const building = 1
export const operatorKey = "dhop_an-operator-key-of-the-benchmarks"

const directory = {
  clients: [{ id: client.id, secret: client.secret, name: "Benchmarks", redirect_uris: [client.redirectUri] }],
  users: [{ ...user, buildings: [building] }],
  buildings: [{ id: building, name: "House", time_zone: "Europe/Berlin" }],
  tenants: []
}

/**
 * Arguments that run the command from its sources. That is a little slower, but a profile then shows the source files.
 */
const observedCommand = [...commandFlags, "--conditions=source", "--import", inside.href, sources]

/** Starts the service on a database: a file, a URL, or `memory`. */
export const startService = Effect.fnUntraced(function* (
  database: string,
  { observed = false }: { readonly observed?: boolean } = {}
) {
  const file = join(yield* temporaryFolder, "directory.json")
  writeFileSync(file, JSON.stringify(directory))
  const command = observed ? observedCommand : yield* builtCommand
  const args = ["serve", "--port", "0", "--database", database, "--directory", file, "--allow-target", "127.0.0.0/8"]
  return yield* startNode([...command, ...args, "--operator-key", operatorKey], {
    NODE_COMPILE_CACHE: compileCache,
    // A single client requests the tokens of all users, as fast as possible.
    DOORHOOK_TOKEN_REQUESTS_PER_MINUTE: "unlimited"
  })
})

/** Profiles an observed server while `work` runs. */
export const profileWhile = Effect.fnUntraced(function* <E>(
  { ask }: Pick<ServerProcess, "ask">,
  name: string,
  work: Effect.Effect<unknown, E>
) {
  yield* ask({ ask: "profile", name })
  yield* work
  yield* ask({ ask: "end profile" })
})
