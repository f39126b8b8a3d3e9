/**
 * A store in PostgreSQL, over whatever client the host has: `pg`'s Pool fits as it is.
 */
import { readEvent } from "./Delivery.ts"
import type { ReceiverStore, Waiting } from "./Store.ts"

/** Run once, by your migrations. */
export const postgresSchema = `
CREATE TABLE IF NOT EXISTS doorhook_deliveries (
  id text PRIMARY KEY,
  attempt integer NOT NULL,
  body text NOT NULL,
  received_at bigint NOT NULL,  -- milliseconds since the epoch, like due_at
  due_at bigint,                -- null: nothing is to be done any more
  failures integer NOT NULL DEFAULT 0,
  last_failure text
);
CREATE INDEX IF NOT EXISTS doorhook_deliveries_due ON doorhook_deliveries (due_at) WHERE due_at IS NOT NULL;`

/** As much of a client as is used. */
export interface PostgresClient {
  readonly query: (
    text: string,
    values?: Array<unknown>
  ) => Promise<{ readonly rows: Array<Record<string, unknown>>; readonly rowCount: number | null }>
}

/** As much of a pool as is used. */
export interface PostgresPool<Client extends PostgresClient> {
  readonly connect: () => Promise<Client & { readonly release: (error?: boolean) => void }>
}

const insert = `INSERT INTO doorhook_deliveries (id, attempt, body, received_at, due_at)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`
const selectDue = `SELECT id, attempt, body, received_at, failures FROM doorhook_deliveries
  WHERE due_at <= $1 ORDER BY due_at, received_at LIMIT $2`

const waitingOf = ({ attempt, body, failures, id, received_at }: Record<string, unknown>): Waiting => {
  const read = readEvent(Buffer.from(String(body)))
  if (typeof read === "string") throw new Error(`delivery ${String(id)} in the database can't be read: ${read}`)
  return {
    delivery: { id: String(id), attempt: Number(attempt), receivedAt: Number(received_at), ...read },
    failures: Number(failures)
  }
}

/** The tables of `postgresSchema` must be there. `record` gets the client whose transaction it is in. */
export const postgresStore = <Client extends PostgresClient>(pool: PostgresPool<Client>): ReceiverStore<Client> => {
  const using = async <A>(use: (client: Client) => Promise<A>): Promise<A> => {
    const client = await pool.connect()
    try {
      const value = await use(client)
      client.release()
      return value
    } catch (error) {
      // A client whose transaction broke is not to be used again.
      client.release(true)
      throw error
    }
  }
  return {
    // A second insert of one id waits for the first to commit, then does nothing: never are both new.
    keep: ({ attempt, body, id, receivedAt }, record, wantsWork) =>
      using(async (client) => {
        await client.query("BEGIN")
        const isNew =
          (await client.query(insert, [id, attempt, body, receivedAt, wantsWork ? receivedAt : null])).rowCount === 1
        if (isNew) await record(client)
        await client.query("COMMIT")
        return isNew
      }),
    due: (now, limit) => using(async (client) => (await client.query(selectDue, [now, limit])).rows.map(waitingOf)),
    nextDue: () =>
      using(async (client) => {
        const { rows } = await client.query(
          "SELECT min(due_at) AS due_at FROM doorhook_deliveries WHERE due_at IS NOT NULL"
        )
        const due = rows[0]?.["due_at"] ?? null
        return due === null ? null : Number(due)
      }),
    done: (id) =>
      using(
        async (client) => void (await client.query("UPDATE doorhook_deliveries SET due_at = NULL WHERE id = $1", [id]))
      ),
    failed: (id, why, dueAt) =>
      using(
        async (client) =>
          void (await client.query(
            "UPDATE doorhook_deliveries SET failures = failures + 1, last_failure = $2, due_at = $3 WHERE id = $1",
            [id, why, dueAt]
          ))
      )
  }
}
