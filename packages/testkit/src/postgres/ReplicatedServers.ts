/**
 * Two PostgreSQL servers in streaming replication, behind one address, for tests of failovers.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"
import { basename, dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { listen } from "../ListeningServer.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { administer, startServer } from "./ServerProcess.ts"

export interface ReplicatedServers {
  /** Leads to the primary, and after `moveAddress` to the standby. */
  readonly url: string
  readonly primary: ServerProcess
  readonly standby: ServerProcess
  /** Leads new connections to the standby. Existing connections stay where they are. */
  readonly moveAddress: () => void
  /** Waits until the standby has all that the primary has committed until now. */
  readonly awaitReplay: () => Promise<void>
  readonly promote: () => Promise<void>
  readonly stop: () => Promise<void>
}

const fastSettings = ["fsync=off", "autovacuum=off", "max_connections=200", "wal_level=replica", "wal_keep_size=256MB"]

/** Files of a server that its copy must not have. */
const isOwn = (path: string): boolean =>
  /^(?:postmaster\.|\.s\.PGSQL)/.test(basename(path)) || basename(dirname(path)) === "pg_wal"

/** Copies the data of a running server (PostgreSQL documentation, "Making a Base Backup Using the Low Level API"). */
const copyOf = (primary: ServerProcess) => async (folder: string) => {
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query("SELECT pg_backup_start('standby', true)")
    cpSync(primary.folder, folder, { recursive: true, filter: (path) => !isOwn(path) })
    const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)")
    mkdirSync(join(folder, "pg_wal/archive_status"), { recursive: true })
    writeFileSync(join(folder, "backup_label"), rows[0]?.labelfile ?? "")
    writeFileSync(join(folder, "standby.signal"), "")
  } finally {
    await client.end()
  }
}

/**
 * Starts a primary and its standby, with settings that suit tests unless others are given. The standby applies what the
 * primary commits, but commits don't wait for it.
 */
export const startReplicated = async (settings: ReadonlyArray<string> = fastSettings): Promise<ReplicatedServers> => {
  const primary = await startServer({ settings })
  const { hostname, password, port, username } = new URL(primary.url)
  const conninfo = `primary_conninfo=host=${hostname} port=${port} user=${username} password=${password}`
  const standby = await startServer({ settings: [...settings, conninfo], restore: copyOf(primary) })
  const former = Number(port)
  let target = former
  const proxy = createServer((client) => {
    const upstream: Socket = connect(target, hostname)
    client.pipe(upstream).pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      one.on("error", () => other.destroy())
      one.on("close", () => other.destroy())
    }
  })
  const { close, port: address } = await listen(proxy)
  const url = new URL(primary.url)
  url.port = String(address)
  return {
    url: url.href,
    primary,
    standby,
    moveAddress: () => {
      target = Number(new URL(standby.url).port)
    },
    awaitReplay: async () => {
      const [row] = await administer(primary.url, "SELECT pg_current_wal_lsn()::text AS lsn")
      const replayed = `SELECT pg_last_wal_replay_lsn() >= '${String(row?.["lsn"])}'::pg_lsn AS done`
      while ((await administer(standby.url, replayed))[0]?.["done"] !== true) await pause(10)
    },
    promote: async () => {
      await administer(standby.url, "SELECT pg_promote(true)")
    },
    stop: async () => {
      await close()
      await Promise.all([standby.stop(), primary.stop()])
    }
  }
}
