/**
 * What the same statement is written as in each kind of database.
 */

/** What a statement is given in place of a `?`. */
export type Parameter = unknown

export interface Dialect {
  /** A statement whose placeholders are written `?`, as the database wants it. */
  readonly text: (statement: string) => string
  /** The condition that a column is one of the ids in a parameter that `ids` makes. */
  readonly isOneOfIds: (column: string) => string
  readonly ids: (values: Iterable<number>) => Parameter
  /** The same for texts. */
  readonly isOneOfTexts: (column: string) => string
  readonly texts: (values: Iterable<string>) => Parameter
  /** At the end of a query: keeps its rows for this transaction. Nothing where transactions take turns anyway. */
  readonly lock: string
  /** The same, for whatever rows no other transaction keeps. */
  readonly lockFree: string
  /**
   * The condition that a column is one of those that a query of it returns, which keeps their rows in its order: statements
   * that change several rows, and find them by different indexes, would else wait for each other.
   */
  readonly isOneOfKept: (column: string, query: string) => string
  /**
   * The time of the entry of an event `e` in the list of a scope. PostgreSQL's is searched for where processes of an older
   * version may have written it: they leave its time to the server's clock, which differs a little from the event's.
   */
  readonly listedAt: (scopeType: string, scopeId: string) => string
  /** A table with the numbers of a JSON list in its column `value`. */
  readonly numbersIn: (column: string) => string
  /** At the end of `RETURNING id` of a changed integration: tells other processes, once the transaction commits. */
  readonly tellChange: string
}

const jsonList = (values: Iterable<unknown>): Parameter => JSON.stringify([...values])

/** SQLite has no lists: they come as JSON. */
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
