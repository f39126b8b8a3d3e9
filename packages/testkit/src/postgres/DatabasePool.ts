/**
 * A pool of databases for tests. Creating a database with its tables takes a hundred times as long as emptying the
 * tables.
 */
import { randomBytes } from "node:crypto"
import pg from "pg"

/** A database in use by a test. */
export interface PooledDatabase {
  readonly name: string
  readonly url: string
  /** Empties the tables. No transaction may be open. */
  readonly empty: () => Promise<void>
  /** Empties the database and returns it to the pool. The test must have closed its connections. */
  readonly release: () => Promise<void>
}

export interface DatabasePool {
  readonly acquire: () => Promise<PooledDatabase>
  /** Drops all databases that tests have returned to the pool. */
  readonly dropLent: () => Promise<void>
}

type Administer = (statement: string) => Promise<unknown>

export const newName = (): string => `doorhook_test_${randomBytes(8).toString("hex")}`

/** Statement that creates a database. Copying the template's files takes half the processor time of writing them to the log. */
export const creating = (name: string): string => `CREATE DATABASE ${name} STRATEGY file_copy`

/**
 * Query that generates the SQL to empty all tables and reset the sequences. One statement empties all tables, so their
 * order does not matter. Rows stored when the database was opened are kept, except switches that the next test might
 * not want.
 */
const emptying = `
  SELECT 'WITH ' || string_agg(format('%1$I AS (%2$s)', tablename, CASE tablename
      WHEN 'resource_types' THEN 'DELETE FROM doorhook.resource_types WHERE name NOT IN (''call'', ''access_log'')'
      WHEN 'settings' THEN 'DELETE FROM doorhook.settings
        WHERE name <> ''switches'' OR value NOT LIKE ''%"on"%"advisory"%"skip-locked"%'''
      WHEN 'epochs' THEN 'UPDATE doorhook.epochs SET complete = 0, ended_at = 0'
      ELSE format('DELETE FROM doorhook.%I', tablename) END), ', ')
    || ' SELECT 1; '
    || (SELECT string_agg(format('SELECT setval(''doorhook.%I'', %s, false)', sequencename, start_value), '; ')
        FROM pg_sequences WHERE schemaname = 'doorhook') AS statements
  FROM pg_tables WHERE schemaname = 'doorhook' AND tablename NOT IN ('migrations', 'locks')`

/** Makes a pool of databases on a server. */
export const makeDatabasePool = (administer: Administer, urlOf: (database: string) => string): DatabasePool => {
  const free: Array<PooledDatabase & { readonly drop: () => Promise<void> }> = []

  const make = async () => {
    const name = newName()
    await administer(creating(name))
    const client = new pg.Client({ connectionString: urlOf(name) })
    await client.connect()
    // Ignores connection errors, because the server may stop before the databases are dropped.
    client.on("error", () => undefined)
    let statements: string | null = null
    const empty = async () => {
      if (statements === null) {
        const { rows } = await client.query<{ statements: string | null }>(emptying)
        statements = rows[0]?.statements ?? null
      }
      if (statements !== null) await client.query(statements)
    }
    const made = {
      name,
      url: urlOf(name),
      empty,
      release: async () => {
        await empty()
        free.push(made)
      },
      drop: async () => {
        await client.end()
        await administer(`DROP DATABASE ${name} WITH (FORCE)`)
      }
    }
    return made
  }

  return {
    acquire: async () => free.pop() ?? make(),
    dropLent: async () => {
      for (const { drop } of free.splice(0)) await drop()
    }
  }
}
