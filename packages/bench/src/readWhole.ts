/**
 * Reads a whole database in one transaction, like a backup. Usage: `readWhole.ts ADDRESS COPY`. Prints a number of rows
 * as JSON.
 *
 * A SQLite file is copied with `VACUUM INTO`, as by `doorhook backup`. On PostgreSQL the rows are read in one
 * snapshot, as by `pg_dump`.
 */
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"

const [address = "", copy = ""] = process.argv.slice(2)

const readPostgres = async (): Promise<number> => {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET search_path = doorhook")
  let rows = 0
  for (const table of ["events", "events_of", "deliveries"]) {
    const { rows: answer } = await client.query<{ count: string }>(`SELECT count(row::text) FROM ${table} AS row`)
    rows += Number(answer[0]?.count)
  }
  await client.query("COMMIT")
  await client.end()
  return rows
}

const copySqlite = (): number => {
  const db = new DatabaseSync(address)
  db.exec(`VACUUM INTO '${copy}'`)
  db.close()
  rmSync(copy)
  return 1
}

process.stdout.write(JSON.stringify(address.startsWith("postgres") ? await readPostgres() : copySqlite()))
