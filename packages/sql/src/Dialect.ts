/**
 * How a statement is written for each database.
 */

/** The value of a `?`. */
export type Parameter = unknown

export interface Dialect {
  /** Converts the `?` placeholders of a statement to the database's own. */
  readonly text: (statement: string) => string
  /** The condition that a column equals one of the ids in a parameter, which `ids` makes. */
  readonly isOneOfIds: (column: string) => string
  readonly ids: (values: Iterable<number>) => Parameter
  /** The same for texts. */
  readonly isOneOfTexts: (column: string) => string
  readonly texts: (values: Iterable<string>) => Parameter
  /** Ends a query: locks its rows until the transaction ends. Empty where transactions run one at a time. */
  readonly lock: string
  /** The same, but skips rows that other transactions have locked. */
  readonly lockFree: string
  /**
   * The condition that a column is in the result of a query, whose rows are locked in the column's order. Statements that
   * find the same rows through different indexes would deadlock without this order.
   */
  readonly isOneOfKept: (column: string, query: string) => string
  /**
   * The time in a scope's list (`events_of`) at which event `e` is entered. On PostgreSQL, processes of an older version
   * entered the server's time, which differs slightly from the event's.
   */
  readonly listedAt: (scopeType: string, scopeId: string) => string
  /** A table that holds the numbers of a JSON list in its column `value`. */
  readonly numbersIn: (column: string) => string
  /** Ends the `RETURNING id` of a changed integration: notifies other processes when the transaction commits. */
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
  lock: "",
  lockFree: "",
  isOneOfKept: (column, query) => `${column} IN (${query})`,
  listedAt: () => "e.created_at",
  numbersIn: (column) => `json_each(${column})`,
  tellChange: ""
}
