/**
 * A server in its own process: the built `doorhook serve`, or a peer.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Started } from "./Processes.ts"
import { start, startProgram } from "./Processes.ts"

export interface ServerProcess extends Started {
  readonly port: number
}

const withPort = (started: Started): ServerProcess => ({
  ...started,
  port: Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(started.line)?.[1])
})

/** Starts a program of this package that prints its address, and other values, in one line. */
export const startServer = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.map(startProgram(program, ...args), withPort)

/** Starts a server from `peers`. */
export const startPeer = (peer: string, ...args: ReadonlyArray<string>) =>
  startServer(fileURLToPath(new URL(`../peers/${peer}/serve.ts`, import.meta.url)), ...args)

export const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Runs a script of the root `package.json`. Throws if it fails. */
export const runScript = (name: string, ...args: ReadonlyArray<string>): void => {
  // The script's output goes to standard error, because standard output is reserved for results.
  const { status } = spawnSync("npm", ["run", "--silent", name, "--", ...args], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr]
  })
  if (status !== 0) throw new Error(`benchmarks need the build, but \`npm run ${name}\` failed`)
}

let isBuilt = false

/**
 * Returns the arguments for Node.js that start the built `doorhook` command, as npm starts it where it is installed.
 * Builds the command first, once per process, so that no benchmark measures an old build.
 *
 * The command uses `dist` only if its own path is in a `node_modules` folder. Node.js must therefore not resolve the
 * symbolic link of the workspace.
 */
export const builtCommand: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() => {
  if (!isBuilt) runScript("build")
  isBuilt = true
  return ["--preserve-symlinks-main", join(root, "node_modules/doorhook/bin/doorhook.js")]
})

/** The client, user and building of the measured service. */
export const client = { id: "c1", secret: "a-secret-of-the-benchmarks", redirectUri: "urn:ietf:wg:oauth:2.0:oob" }
export const user = { login: "admin@example.com", password: "a password of the benchmarks" }
export const building = 1
export const operatorKey = "dhop_an-operator-key-of-the-benchmarks"
export const tokenPath = "/oauth/token"

const directory = {
  clients: [{ id: client.id, secret: client.secret, name: "Benchmarks", redirect_uris: [client.redirectUri] }],
  users: [{ ...user, buildings: [building] }],
  buildings: [{ id: building, name: "House", time_zone: "Europe/Berlin" }],
  tenants: []
}

/** Starts the service on a database: a file, a URL, or `memory`. */
export const startService = Effect.fnUntraced(function* (database: string) {
  const file = join(yield* temporaryFolder, "directory.json")
  writeFileSync(file, JSON.stringify(directory))
  const args = ["serve", "--port", "0", "--database", database, "--directory", file, "--allow-target", "127.0.0.0/8"]
  const env = {
    // The default folder for the cache of compiled code would be beside the sources.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node"),
    // A single client requests the tokens of all users, as fast as possible.
    DOORHOOK_TOKEN_REQUESTS_PER_MINUTE: "unlimited"
  }
  const isReady = (line: string): boolean => line.includes("http://127.0.0.1:")
  const command = [...(yield* builtCommand), ...args, "--operator-key", operatorKey]
  return withPort(yield* start(process.execPath, command, isReady, env))
})
