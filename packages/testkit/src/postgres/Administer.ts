/**
 * Runs one statement on a PostgreSQL server, on a separate connection.
 */
import pg from "pg"

/** Runs a statement on a database and returns its rows. */
export const administer = async (url: string, statement: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end()
  }
}
