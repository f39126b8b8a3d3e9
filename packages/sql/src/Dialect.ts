/**
 * The differences between the databases' SQL.
 */

/** The value for a `?` placeholder. */
export type Parameter = unknown

export interface Dialect {
  /** Converts the `?` placeholders of a statement to the database's own. */
  readonly text: (statement: string) => string
  /** The SQL condition that a column equals one of the ids in a parameter made by `ids`. */
  readonly isOneOfIds: (column: string) => string
  readonly ids: (values: Iterable<number>) => Parameter
  /** Like `isOneOfIds`, for texts and a parameter made by `texts`. */
  readonly isOneOfTexts: (column: string) => string
  readonly texts: (values: Iterable<string>) => Parameter
  /** The SQL condition that a unique column has the value that `ReadConnection.row` looks up. */
  readonly isKey: (column: string) => string
  /**
   * The clause at the end of a query that locks its rows until the transaction ends, except rows that other
   * transactions have locked. Empty on SQLite, where transactions run one at a time.
   */
  readonly lockFree: string
  /**
   * The SQL condition that a column is in the result of a query. Locks the query's rows in order of that column,
   * because statements that find the same rows through different indexes could otherwise deadlock.
   */
  readonly isOneOfKept: (column: string, query: string) => string
  /** A table whose column `value` contains the numbers of a JSON list. */
  readonly numbersIn: (column: string) => string
  /**
   * SQL appended to the `RETURNING id` of a statement that changes an integration. Notifies other processes when the
   * transaction commits.
   */
  readonly tellChange: string
}

const jsonList = (values: Iterable<unknown>): Parameter => JSON.stringify([...values])

/** SQLite has no array type, so lists are passed as JSON. */
export const sqlite: Dialect = {
  text: (statement) => statement,
  isOneOfIds: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  ids: jsonList,
  isOneOfTexts: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  texts: jsonList,
  isKey: (column) => `${column} = ?`,
  lockFree: "",
  isOneOfKept: (column, query) => `${column} IN (${query})`,
  numbersIn: (column) => `json_each(${column})`,
  tellChange: ""
}
