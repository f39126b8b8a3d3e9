/**
 * The backend's own tables on PostgreSQL, with one building and one administrator.
 */
import { hashPassword } from "doorhook"
import pg from "pg"

export const databaseUrl = process.env["DATABASE_URL"] ?? "postgres://postgres@localhost:5432/postgres"

export const pool = new pg.Pool({ connectionString: databaseUrl })
const log = ({ message }: Error) => process.stderr.write(`${message}\n`)
// Without error listeners, a lost connection ends the process, whether the connection is idle or in use.
pool.on("error", log)
pool.on("connect", (client) => client.on("error", log))

/** Creates missing tables. */
export const prepare = async (): Promise<void> => {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS users (id bigint PRIMARY KEY, login text UNIQUE NOT NULL, password_hash text NOT NULL);
    CREATE TABLE IF NOT EXISTS sessions (id text PRIMARY KEY, user_id bigint NOT NULL REFERENCES users);
    CREATE TABLE IF NOT EXISTS buildings (id bigint PRIMARY KEY, name text NOT NULL, time_zone text NOT NULL);
    CREATE TABLE IF NOT EXISTS building_administrators (user_id bigint NOT NULL, building_id bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS tenants (
      id bigint PRIMARY KEY, user_id bigint, building_id bigint NOT NULL, unit_id bigint, unit_label text
    );
    CREATE TABLE IF NOT EXISTS access_points (id bigint PRIMARY KEY, building_id bigint NOT NULL, name text NOT NULL);
    CREATE TABLE IF NOT EXISTS entries (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, access_point_id bigint NOT NULL, user_id bigint NOT NULL
    );
  `)
  const { rowCount } = await pool.query("SELECT FROM users")
  if (rowCount !== 0) return
  const hash = await hashPassword("correct horse")
  await pool.query("INSERT INTO users VALUES (1, 'ada@example.com', $1)", [hash])
  await pool.query(`
    INSERT INTO buildings VALUES (1, 'North Tower', 'Europe/Berlin');
    INSERT INTO building_administrators VALUES (1, 1);
    INSERT INTO access_points VALUES (11, 1, 'Front door');
  `)
}

/** Runs `work` in a transaction. */
export const inTransaction = async <A>(work: (client: pg.PoolClient) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  try {
    await client.query("BEGIN")
    const done = await work(client)
    await client.query("COMMIT")
    client.release()
    return done
  } catch (error) {
    // Closes the connection, which ends the transaction.
    client.release(true)
    throw error
  }
}
