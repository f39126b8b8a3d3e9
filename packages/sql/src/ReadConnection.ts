/**
 * Fast reads for HTTP requests: one statement, without a transaction.
 *
 * `SqlClient` compiles each statement, opens a span and waits for the connection. On SQLite, this overhead takes three
 * times as long as the read itself (measured).
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"

export class ReadConnection extends Context.Service<
  ReadConnection,
  {
    /**
     * Returns the rows that are committed at the time of the call. If the read is synchronous, the effect is an `Exit`.
     */
    readonly rows: <A extends object>(
      statement: string,
      params: ReadonlyArray<unknown>
    ) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
  }
>()("@doorhook/sql/ReadConnection") {
  /** Reads through `SqlClient`. Over a network, its overhead is small compared to the round trip. */
  static readonly layerClient: Layer.Layer<ReadConnection, never, SqlClient.SqlClient> = Layer.effect(
    ReadConnection,
    Effect.map(SqlClient.SqlClient, (sql) =>
      ReadConnection.of({
        rows: <A extends object>(statement: string, params: ReadonlyArray<unknown>) => sql.unsafe<A>(statement, params)
      })
    )
  )
}
