/**
 * A pool as a host has one.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import pg from "pg"

/** A pool of connections to a database, closed with the scope. */
export const hostPool = (url: string): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({ connectionString: url })
      // Closing it doesn't wait for the server: that may end the connection first, with its database.
      pool.on("error", () => undefined)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )
