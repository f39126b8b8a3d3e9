/**
 * A `pg` connection pool, as a host might use it.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import pg from "pg"

/** Makes a connection pool that is closed with the scope. */
export const hostPool = (url: string): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({ connectionString: url })
      // `end` does not wait for the server, so dropping the database may break connections that are still closing.
      pool.on("error", () => undefined)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )
