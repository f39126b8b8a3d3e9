/**
 * A `pg` pool like a host's.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import pg from "pg"

/** A pool of connections to a database, closed with the scope. */
export const hostPool = (url: string): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({ connectionString: url })
      // Closing does not wait for the server, so the server may close the connection first when the database is dropped.
      pool.on("error", () => undefined)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )
