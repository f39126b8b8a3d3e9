/**
 * Fills a store with settled deliveries by copying a few real ones in SQL, which is far faster than delivering them.
 *
 * A copy differs from the original row only in its ids, so this works for any columns.
 */
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"

/** The tables with rows for a delivery that is acknowledged at the first attempt. */
const tables = ["events", "events_of", "deliveries"]

/** Number of rows that one statement inserts. */
const chunk = 100_000

const numberColumns = new Set([
  "deliveries.id",
  "deliveries.event",
  "first_delivery",
  "last_delivery",
  "seq",
  "event_seq"
])
const textColumns = new Set(["events.id", "event_id"])

/**
 * Returns SQL for the value of a column in copy `k` of a row. In event ids, the number of the copy replaces the time.
 */
const columnOf = (table: string, column: string, span: number, padded: string): string => {
  const has = (names: ReadonlySet<string>) => names.has(column) || names.has(`${table}.${column}`)
  if (has(numberColumns)) return `${column} + k * ${span}`
  if (has(textColumns)) return `substr(${column}, 1, 4) || ${padded} || substr(${column}, 14)`
  return column
}

/** The operations that differ between databases. */
interface Database {
  readonly columnsOf: (table: string) => Promise<ReadonlyArray<string>>
  readonly numberOf: (statement: string) => Promise<number>
  readonly run: (statement: string) => Promise<void>
  /** Returns SQL for a table `copies (k)` of the numbers from `first` to `last`. */
  readonly copies: (first: number, last: number) => string
  /** SQL for the number of a copy, padded to nine digits. */
  readonly padded: string
  /** Marks all numbers up to `number` as used, for events and deliveries. */
  readonly skipTo: (number: number) => Promise<void>
  /** Runs the maintenance that would otherwise run during the measurement. */
  readonly tidy: () => Promise<void>
}

/** Minimum time between progress lines, in milliseconds. */
const tellEvery = 10_000

/** Copies the existing rows until the store has `rows` deliveries. */
const fill = async (db: Database, rows: number): Promise<void> => {
  let told = performance.now()
  const templates = await db.numberOf("SELECT count(*) FROM deliveries")
  const span = await db.numberOf("SELECT max(id) FROM deliveries")
  const copies = Math.ceil(rows / templates) - 1
  const atOnce = Math.max(1, Math.floor(chunk / templates))
  for (const table of tables) {
    const columns = await db.columnsOf(table)
    const names = columns.join(", ")
    const values = columns.map((column) => columnOf(table, column, span, db.padded)).join(", ")
    const originals = `original_${table}`
    await db.run(`CREATE TEMPORARY TABLE ${originals} AS SELECT * FROM ${table}`)
    for (let first = 1; first <= copies; first += atOnce) {
      const numbers = db.copies(first, Math.min(copies, first + atOnce - 1))
      await db.run(
        `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${numbers} CROSS JOIN ${originals} ORDER BY k, 1`
      )
      if (performance.now() < told + tellEvery) continue
      told = performance.now()
      process.stderr.write(`rows of ${table}: ${Math.round((100 * first) / copies)} %\n`)
    }
  }
  await db.skipTo((copies + 2) * span)
  await db.tidy()
}

const inSqlite = (file: string, rows: number) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (db) =>
      Effect.promise(async () => {
        db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
        await fill(
          {
            columnsOf: (table) =>
              Promise.resolve(
                db
                  .prepare(`PRAGMA table_info(${table})`)
                  .all()
                  .map(({ name }) => String(name))
              ),
            numberOf: (statement) => Promise.resolve(Number(Object.values(db.prepare(statement).get() ?? {})[0])),
            run: (statement) => Promise.resolve(db.exec(statement)),
            copies: (first, last) =>
              `(WITH RECURSIVE numbers (k) AS (SELECT ${first} UNION ALL SELECT k + 1 FROM numbers WHERE k < ${last}) SELECT k FROM numbers) AS copies`,
            padded: "printf('%09d', k)",
            skipTo: (number) =>
              Promise.resolve(
                db.exec(
                  `DELETE FROM deliveries_of;
                  INSERT INTO deliveries_of SELECT integration, id FROM deliveries ORDER BY 1, 2;
                  UPDATE owner SET event = ${number}, delivery = ${number}, listed_event = ${number}, listed_delivery = ${number}, low = ${number + 1},
                    events = (SELECT count(*) FROM events), delivered = (SELECT count(*) FROM deliveries)`
                )
              ),
            tidy: () => Promise.resolve(db.exec("PRAGMA wal_checkpoint(TRUNCATE)"))
          },
          rows
        )
      }),
    (db) => Effect.sync(() => db.close())
  )

const inPostgres = (url: string, rows: number) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) =>
      Effect.promise(async () => {
        const query = async (statement: string) => {
          const { rows } = await client.query<Record<string, unknown>>(statement)
          return rows
        }
        await query("SET search_path = doorhook; SET synchronous_commit = off; SET maintenance_work_mem = '256MB'")
        await fill(
          {
            columnsOf: async (table) =>
              (
                await query(
                  `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'doorhook' AND table_name = '${table}' ORDER BY ordinal_position`
                )
              ).map(({ name }) => String(name)),
            numberOf: async (statement) => Number(Object.values((await query(statement))[0] ?? {})[0]),
            run: async (statement) => void (await query(statement)),
            copies: (first, last) => `generate_series(${first}, ${last}) AS copies (k)`,
            padded: "lpad(k::text, 9, '0')",
            skipTo: async (number) =>
              void (await query(`SELECT setval('delivery_ids', ${number}), setval('event_numbers', ${number})`)),
            tidy: async () => {
              await query("VACUUM (ANALYZE)")
              await query("CHECKPOINT")
            }
          },
          rows
        )
      }),
    (client) => Effect.promise(() => client.end())
  )

/**
 * Fills a store until it has `rows` deliveries. All deliveries that it already has must be in the state `delivered`.
 */
export const fillWithSettled = (storage: "sqlite" | "postgres", address: string, rows: number): Effect.Effect<void> =>
  storage === "sqlite" ? inSqlite(address, rows) : inPostgres(address, rows)
