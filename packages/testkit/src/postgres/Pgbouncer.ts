/**
 * The connection pooler pgbouncer in front of a test server. Tests that need it are skipped, and a line says so, if it is
 * not installed.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { freePort } from "../ListeningServer.ts"
import type { TestServer } from "./TestServer.ts"
import { describeOn, startShared } from "./TestServer.ts"

export type PoolMode = "session" | "transaction" | "statement"

/** A test server whose URLs lead through the pooler. */
export interface PooledServer extends TestServer {
  readonly directUrl: TestServer["url"]
  /** Ends the pooler and all its connections. */
  readonly halt: () => Promise<void>
  /** Starts the pooler again on the same port. */
  readonly resume: () => Promise<void>
}

/** Shell script that runs a program until its standard input ends, as it does when the process of the tests ends. */
const untilInputEnds = '"$0" "$@" & read -r _; kill -9 "$!"; wait'

const isListening = async (port: number): Promise<boolean> => {
  const socket = connect({ port, host: "127.0.0.1" })
  try {
    await once(socket, "connect")
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

const start = async (server: TestServer, mode: PoolMode, settings: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-pgbouncer-"))
  const port = await freePort()
  const { hostname, password, port: serverPort, username } = new URL(server.url("postgres"))
  const login = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`
  const file = join(folder, "pgbouncer.ini")
  const lines = [
    "[databases]",
    `* = host=${hostname} port=${serverPort || 5432} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    ...settings
  ]
  writeFileSync(file, lines.join("\n"))
  // pgbouncer refuses to run as root, and changes to another user before it reads the file.
  chmodSync(folder, 0o755)
  const as = userInfo().uid === 0 ? ["-u", "postgres"] : []
  const spawned = () =>
    spawn("sh", ["-c", untilInputEnds, "pgbouncer", ...as, "-q", file], { stdio: ["pipe", "ignore", "ignore"] })
  let child = spawned()
  const ready = async (tries = 1_000): Promise<void> => {
    if (await isListening(port)) return
    if (tries === 0) throw new Error("pgbouncer does not start")
    await pause(10)
    await ready(tries - 1)
  }
  const halt = async () => {
    if (child.exitCode !== null) return
    const ended = once(child, "exit")
    child.stdin.end()
    await ended
  }
  await ready()
  return {
    url: (database: string) => {
      const url = new URL(server.url(database))
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    halt,
    resume: async () => {
      child = spawned()
      await ready()
    },
    stop: async () => {
      await halt()
      rmSync(folder, { recursive: true })
    }
  }
}

const startPooled = async (mode: PoolMode, settings: ReadonlyArray<string>): Promise<PooledServer> => {
  if (spawnSync("pgbouncer", ["--version"]).error !== undefined) throw new Error("pgbouncer is not installed")
  const direct = await startShared()
  const { stop, ...pooler } = await start(direct, mode, settings)
  const acquire = async () => {
    const database = await direct.acquire()
    return { ...database, url: pooler.url(database.name) }
  }
  return { ...direct, ...pooler, acquire, directUrl: direct.url, stop }
}

/** Describes tests behind pgbouncer. `settings` are lines of its file. */
export const describeOnPgbouncer = (
  what: string,
  mode: PoolMode,
  tests: (server: PooledServer) => void,
  settings: ReadonlyArray<string> = []
): Promise<void> => describeOn(startPooled(mode, settings), "", `${what}, ${mode} mode`, tests)
