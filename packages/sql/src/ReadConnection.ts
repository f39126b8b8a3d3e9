/**
 * Fast reads for HTTP requests: one statement, without a transaction.
 *
 * `SqlClient` compiles each statement, opens a span and waits for the connection. On SQLite, this overhead takes three
 * times as long as the read itself (measured).
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"

/** A unique column's value, and the column's name in the result. */
export interface Key {
  readonly column: string
  readonly value: number | string
}

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
    /** Like `rows`, for a statement whose only parameter is that of `Dialect.isKey`. */
    readonly row: <A extends object>(statement: string, key: Key) => Effect.Effect<A | undefined, SqlError.SqlError>
  }
>()("@doorhook/sql/ReadConnection") {}
