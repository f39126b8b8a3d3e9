/**
 * Access to the host's own database, through the usual client libraries.
 */
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** The rows that a statement returns. */
type Rows = ReadonlyArray<unknown>

/** Runs a statement with the placeholders `$1`, `$2`, ... */
export type SqlQuery = (text: string, values: Array<unknown>) => Promise<Rows | { readonly rows: Rows }>

/** A pool or client of `pg`, or a compatible object. */
export interface PgLike {
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: Rows }>
}

/** A database of `node:sqlite` or `better-sqlite3`, or a compatible object. */
export interface SqliteLike {
  readonly prepare: (text: string) => { readonly all: (...values: Array<string | number>) => Rows }
}

/** The host's database: a pool or client of `pg`, a database of `node:sqlite` or `better-sqlite3`, or a function that queries. */
export type SqlSource = PgLike | SqliteLike | SqlQuery

/** Runs a statement on any kind of database. `$1`, `$2`, ... must occur in the order of the values. */
export type RunSql = (text: string, values: Array<string | number>) => Promise<Rows>

const rowsOf = (answer: unknown): Rows => {
  const rows: unknown = Predicate.hasProperty(answer, "rows") ? answer.rows : answer
  if (Array.isArray(rows)) return rows
  throw new TypeError("the query function must return the rows, or an object with `rows`")
}

const unusable = (): DoorhookError =>
  new DoorhookError(
    "invalid_config",
    "sqlDirectory: database must be a pool of pg, a database of node:sqlite or better-sqlite3, or a function that takes a text and values and returns rows"
  )

/**
 * Returns a function that runs statements on a host's database. Throws a `DoorhookError` for an unsupported database.
 */
export const runnerOf = (source: SqlSource): RunSql => {
  if (typeof source === "function") return async (text, values) => rowsOf(await source(text, values))
  if (Predicate.hasProperty(source, "query") && Predicate.isFunction(source.query)) {
    return async (text, values) => rowsOf(await source.query(text, values))
  }
  if (Predicate.hasProperty(source, "prepare") && Predicate.isFunction(source.prepare)) {
    return async (text, values) => source.prepare(text.replaceAll(/\$\d+/g, "?")).all(...values)
  }
  throw unusable()
}
