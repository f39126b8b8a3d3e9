/**
 * Stores in the host's own database: SQLite through node:sqlite, and PostgreSQL through the host's client. `record`
 * writes in the same transaction that marks the delivery as known.
 */
import { parseEvent } from "./Delivery.ts"
import type { Delivery } from "./Delivery.ts"
import type { ClaimedWork, DamagedWork, ReceiverStore } from "./Store.ts"

/**
 * SQL that creates the table. Run it in your migrations on PostgreSQL; `sqliteStore` runs it itself. Times are in
 * milliseconds. You can delete rows when `due_at` is null and `received_at` is older than doorhook's retention: 90 days
 * by default.
 */
export const receiverSchema = `
CREATE TABLE IF NOT EXISTS doorhook_deliveries (
  key text NOT NULL PRIMARY KEY,
  id text NOT NULL,
  attempt integer NOT NULL,
  expires_at bigint,
  replay integer NOT NULL,
  body text NOT NULL,
  received_at bigint NOT NULL,
  due_at bigint,
  failures integer NOT NULL DEFAULT 0,
  last_failure text
);
CREATE INDEX IF NOT EXISTS doorhook_deliveries_due ON doorhook_deliveries (due_at) WHERE due_at IS NOT NULL;`

type Value = string | number | null

/** Runs a statement that has the placeholder `?` for each value. */
type Run = (sql: string, values: ReadonlyArray<Value>) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>

/** The values of `insert`. */
const rowOf = (key: string, delivery: Delivery, dueAt: number | null): ReadonlyArray<Value> => {
  const { attempt, body, expiresAt, id, isReplay, receivedAt } = delivery
  return [key, id, attempt, expiresAt, isReplay ? 1 : 0, body, receivedAt, dueAt]
}

const insert = `INSERT INTO doorhook_deliveries (key, id, attempt, expires_at, replay, body, received_at, due_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING key`

/**
 * SQL that claims due work. `locking` is a clause that keeps the workers of several processes from waiting for each
 * other; empty if the database has none.
 */
const claim = (locking: string): string => `WITH due AS MATERIALIZED (
    SELECT key FROM doorhook_deliveries WHERE due_at <= ? ORDER BY due_at, received_at LIMIT ? ${locking}
  ) UPDATE doorhook_deliveries SET due_at = ? WHERE key IN (SELECT key FROM due)
  RETURNING key, id, attempt, expires_at, replay, body, received_at, failures`

const nextDue = "SELECT min(due_at) AS due_at FROM doorhook_deliveries WHERE due_at IS NOT NULL"

const settle = `UPDATE doorhook_deliveries SET due_at = ?, failures = failures + ?, last_failure = coalesce(?, last_failure)
  WHERE key = ? AND due_at IS NOT NULL RETURNING key`

const claimedOf = ({
  attempt,
  body,
  expires_at,
  failures,
  id,
  key,
  received_at,
  replay
}: Readonly<Record<string, unknown>>): ClaimedWork | DamagedWork => {
  const parsed = parseEvent(Buffer.from(String(body)))
  if ("wrong" in parsed) {
    return { key: String(key), id: String(id), damage: `row ${String(key)} of doorhook_deliveries: ${parsed.wrong}` }
  }
  return {
    key: String(key),
    delivery: {
      id: String(id),
      attempt: Number(attempt),
      expiresAt: expires_at === null ? null : Number(expires_at),
      isReplay: Number(replay) === 1,
      receivedAt: Number(received_at),
      ...parsed
    },
    failures: Number(failures)
  }
}

const queue = (run: Run, claiming: string): Omit<ReceiverStore<never>, "keep"> => ({
  claim: async (now, until, limit) =>
    (await run(claiming, [now, limit, until]))
      .toSorted((a, b) => Number(a["received_at"]) - Number(b["received_at"]))
      .map(claimedOf),
  nextDue: async () => {
    const due = (await run(nextDue, []))[0]?.["due_at"] ?? null
    return due === null ? null : Number(due)
  },
  settle: async (key, dueAt, failure) => void (await run(settle, [dueAt, failure === null ? 0 : 1, failure, key]))
})

/** The part of node:sqlite's `DatabaseSync` that the store uses. */
export interface SqliteDatabase {
  readonly exec: (sql: string) => unknown
  readonly prepare: (sql: string) => { readonly all: (...values: Array<Value>) => Array<Record<string, unknown>> }
  readonly isTransaction?: boolean
}

/**
 * Makes a store on SQLite and creates its table. `record` must be synchronous, because a transaction must not stay open
 * across an await.
 */
export const sqliteStore = <Database extends SqliteDatabase>(database: Database): ReceiverStore<Database> => {
  // FULL: an acknowledged delivery survives a power failure.
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 3000; ${receiverSchema}`)
  const prepared = new Map([insert, claim(""), nextDue, settle].map((sql) => [sql, database.prepare(sql)]))
  const all = (sql: string, values: ReadonlyArray<Value>) => (prepared.get(sql) ?? database.prepare(sql)).all(...values)
  return {
    ...queue(async (sql, values) => all(sql, values), claim("")),
    keep: async (key, delivery, record, dueAt) => {
      database.exec("BEGIN IMMEDIATE")
      try {
        const isNew = all(insert, rowOf(key, delivery, dueAt)).length === 1
        const recording = isNew ? record(database) : undefined
        if (recording instanceof Promise) {
          // The transaction is rolled back, so the promise's outcome does not matter.
          recording.catch(() => undefined)
          throw new Error("with sqliteStore, `record` must not return a promise; do asynchronous work in `work`")
        }
        database.exec("COMMIT")
        return isNew
      } catch (error) {
        if (database.isTransaction !== false) database.exec("ROLLBACK")
        throw error
      }
    }
  }
}

/** The part of a `pg` client that the store uses. */
export interface PostgresClient {
  readonly query: (
    text: string,
    values?: Array<unknown>
  ) => Promise<{ readonly rows: Array<Record<string, unknown>>; readonly command: string }>
  readonly on: (event: "error", listener: (error: Error) => void) => unknown
  readonly off: (event: "error", listener: (error: Error) => void) => unknown
}

/** The part of a `pg` pool that the store uses. */
export interface PostgresPool<Client extends PostgresClient> {
  readonly connect: () => Promise<Client & { readonly release: (destroy?: boolean) => void }>
}

const ignore = (): void => undefined

/**
 * Makes a store on PostgreSQL. Its table must exist: see `receiverSchema`. `record` gets the client with the open
 * transaction.
 */
export const postgresStore = <Client extends PostgresClient>(pool: PostgresPool<Client>): ReceiverStore<Client> => {
  const using = async <A>(use: (client: Client) => Promise<A>): Promise<A> => {
    const client = await pool.connect()
    // The pool listens only to idle clients, and an error event without a listener ends the process. The statement that
    // uses the broken connection fails as well.
    client.on("error", ignore)
    const release = (isBroken: boolean): void => {
      client.off("error", ignore)
      client.release(isBroken)
    }
    try {
      const value = await use(client)
      release(false)
      return value
    } catch (error) {
      // A client with a broken transaction must not go back to the pool.
      release(true)
      throw error
    }
  }
  const runOn = (client: Client): Run => {
    return async (sql, values) => {
      let position = 0
      return (
        await client.query(
          sql.replaceAll("?", () => `$${++position}`),
          [...values]
        )
      ).rows
    }
  }
  return {
    ...queue((sql, values) => using((client) => runOn(client)(sql, values)), claim("FOR UPDATE SKIP LOCKED")),
    // A second insert of a key waits until the first commits, and then does nothing.
    keep: (key, delivery, record, dueAt) =>
      using(async (client) => {
        await client.query("BEGIN")
        const isNew = (await runOn(client)(insert, rowOf(key, delivery, dueAt))).length === 1
        if (isNew) await record(client)
        const { command } = await client.query("COMMIT")
        // PostgreSQL rolls back a transaction in which a statement failed, without an error.
        if (command !== "COMMIT") {
          throw new Error("a statement of `record` failed and its error was caught; throw it, or use a savepoint")
        }
        return isNew
      })
  }
}
