/**
 * Reads that a request waits for: one statement, in no transaction, with as little around it as there can be.
 *
 * `SqlClient` compiles a statement, opens a span and waits for its turn each time; measured, on SQLite that is three times
 * the read itself.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"

export class SqlReads extends Context.Service<
  SqlReads,
  {
    /** The rows of a query with these parameters, as they are committed when this is called: an `Exit` where nothing prevents it. */
    readonly rows: <A extends object>(
      statement: string,
      params: ReadonlyArray<unknown>
    ) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
  }
>()("@doorhook/sql/SqlReads") {
  /** By the client: for a database behind a connection, where all of it is little beside the way there and back. */
  static readonly layerClient: Layer.Layer<SqlReads, never, SqlClient.SqlClient> = Layer.effect(
    SqlReads,
    Effect.map(SqlClient.SqlClient, (sql) =>
      SqlReads.of({
        rows: <A extends object>(statement: string, params: ReadonlyArray<unknown>) => sql.unsafe<A>(statement, params)
      })
    )
  )
}
