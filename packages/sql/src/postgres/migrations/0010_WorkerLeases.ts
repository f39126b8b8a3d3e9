/**
 * Leases deliveries to workers for as long as the workers are members, instead of by a token with an expiry. Deliveries
 * leased during the migration become due, so a receiver may get one of them twice.
 *
 * Processes of older versions can't write any more, because the columns and the table that their claims, settlements,
 * publications and heartbeats use are gone. These calls fail until the process is replaced. `doorhook.publish` keeps
 * working.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { nowInMillis } from "./PublishFunction.ts"

const statements: ReadonlyArray<string> = [
  // Locks the tables in the order in which calls lock them, and waits for running calls of older versions.
  `LOCK TABLE integrations, queue, deliveries, workers, tallies IN ACCESS EXCLUSIVE MODE`,

  // Consecutive failures, and the time before which the receiver accepts no requests (Retry-After).
  `ALTER TABLE integrations ADD COLUMN failing_attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN failing_retry_after bigint`,

  `DROP INDEX queue_due`,
  `ALTER TABLE queue ADD COLUMN worker text COLLATE "C", ADD COLUMN early smallint NOT NULL DEFAULT 0,
    DROP COLUMN lease_token, DROP COLUMN reason`,
  `WITH released AS (
      UPDATE queue SET state = CASE WHEN attempts = 0 OR resend > 0 THEN 'pending' ELSE 'retrying' END,
        due_at = least(due_at, ${nowInMillis}), resend = least(resend, 1)
      WHERE state = 'delivering' RETURNING state
    )
    INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, count(*) FILTER (WHERE state = 'pending'), -count(*), count(*) FILTER (WHERE state = 'retrying'), 0, 0, 0, 0, 0
    FROM released`,
  // Deliveries that can be claimed. Excludes leased deliveries, so a delivery that is leased from its publication on
  // never enters the index. The lane comes first, so a claim that is full after the first lanes does not read the
  // backlogs of the others.
  `CREATE INDEX queue_due ON queue (lane, integration_id, due_at, id) WHERE worker IS NULL`,

  `ALTER TABLE deliveries ADD COLUMN worker text COLLATE "C", ADD COLUMN early smallint NOT NULL DEFAULT 0,
    DROP COLUMN lease_token`,
  // Cancelled deliveries whose current attempt is not recorded yet.
  `CREATE INDEX deliveries_leased ON deliveries (worker) WHERE worker IS NOT NULL`,

  `DROP TABLE workers`,
  `CREATE TABLE members (worker text COLLATE "C" PRIMARY KEY, until bigint NOT NULL)`
]

export const workerLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
