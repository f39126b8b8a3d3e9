/**
 * Gives each delivery one row, which is updated in place, and moves leases, workers and counts to the memory of the file's
 * owner. Deliveries that were leased when the file was closed are due again.
 */
import { latest } from "@doorhook/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codes, storedStates } from "../DeliverySql.ts"

const schema: ReadonlyArray<string> = [
  // event: the event's seq; its created_at is also the delivery's. state: a code, see DeliverySql. attempt_...: the
  // last attempt, null if there was none; its number is `attempts`. due_at: null for an ended delivery, and for one
  // that its publisher keeps.
  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,
    integration INTEGER NOT NULL,
    state INTEGER NOT NULL,
    reason TEXT,
    lane INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    early INTEGER NOT NULL,
    resend INTEGER NOT NULL,
    due_at INTEGER,
    attempt_started_at INTEGER,
    attempt_duration_ms INTEGER,
    attempt_outcome TEXT,
    attempt_status INTEGER,
    attempt_detail TEXT,
    attempt_excerpt TEXT
  ) STRICT`,
  // Lists the deliveries of each integration. Filled with thousands of deliveries at a time. An index would be written
  // by every publication.
  `CREATE TABLE deliveries_of (
    integration INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    PRIMARY KEY (integration, delivery)
  ) STRICT, WITHOUT ROWID`,
  // Every index ends with the id, so each of them lists deliveries in order of id.
  `CREATE INDEX deliveries_due ON deliveries (lane, integration, due_at) WHERE due_at IS NOT NULL`,
  `CREATE INDEX deliveries_pending ON deliveries (state) WHERE state = 0 AND due_at IS NOT NULL`,
  `CREATE INDEX deliveries_pending_by_integration ON deliveries (integration) WHERE state = 0 AND due_at IS NOT NULL`,
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state) WHERE state > 1`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration, state) WHERE state > 1`,

  // The owner's memory, saved for the next start: the last numbers of events and deliveries, the last entries of
  // events_of and deliveries_of, an id below which all open deliveries have a due time, the counts, and the time of the
  // last heartbeat.
  `CREATE TABLE owner (
    event INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    listed_event INTEGER NOT NULL,
    listed_delivery INTEGER NOT NULL,
    low INTEGER NOT NULL,
    events INTEGER NOT NULL,
    ${storedStates.map((state) => `${state} INTEGER NOT NULL`).join(", ")},
    beat_at INTEGER NOT NULL
  ) STRICT`,

  // A row cancels all open deliveries of an integration up to an id. These deliveries count as cancelled, and their own
  // rows are updated later in batches.
  `CREATE TABLE cancellations (integration INTEGER PRIMARY KEY, last_delivery INTEGER NOT NULL, reason TEXT NOT NULL) STRICT`
]

const codeOf = (column: string): string =>
  `CASE ${column} ${storedStates.map((state) => `WHEN '${state}' THEN ${codes[state]}`).join(" ")} END`

const statements: ReadonlyArray<string> = [
  "ALTER TABLE integrations ADD COLUMN failing_attempts INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE integrations ADD COLUMN failing_retry_after INTEGER",
  "ALTER TABLE deliveries RENAME TO ended",
  "DROP INDEX deliveries_by_integration",
  "DROP INDEX deliveries_unacknowledged",
  "DROP INDEX deliveries_unacknowledged_by_integration",
  ...schema,
  `INSERT INTO deliveries (id, event, integration, state, reason, lane, attempts, early, resend, due_at,
      attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt)
    SELECT d.id, coalesce((SELECT e.seq FROM events AS e WHERE e.id = d.event_id), 0), integration_id, ${codeOf("state")},
      reason, lane, attempts, 0, 0, NULL, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status,
      attempt_detail, attempt_excerpt
    FROM ended AS d ORDER BY d.id`,
  `INSERT INTO deliveries (id, event, integration, state, reason, lane, attempts, early, resend, due_at)
    SELECT q.id, coalesce((SELECT e.seq FROM events AS e WHERE e.id = q.event_id), 0), q.integration_id,
      CASE WHEN c.reason IS NOT NULL THEN ${codes.cancelled}
        WHEN q.state = 'retrying' OR (q.state = 'delivering' AND q.attempts > 0 AND q.resend = 0) THEN ${codes.retrying}
        ELSE ${codes.pending} END,
      c.reason, lane, attempts, 0, iif(c.reason IS NULL, min(resend, 1), 0),
      iif(c.reason IS NULL, iif(q.state = 'delivering', q.created_at, min(q.due_at, ${latest})), NULL)
    FROM queue AS q LEFT JOIN endings AS c ON c.integration_id = q.integration_id AND q.id <= c.last_id ORDER BY q.id`,
  `INSERT INTO deliveries_of SELECT integration, id FROM deliveries ORDER BY integration, id`,
  `INSERT INTO owner SELECT event, delivery, indexed, delivery, delivery + 1, (SELECT count(*) FROM events),
      ${storedStates.map((state) => `(SELECT count(*) FROM deliveries WHERE state = ${codes[state]})`).join(", ")}, 0
    FROM numbers`,
  "DROP TABLE ended",
  "DROP TABLE queue",
  "DROP TABLE endings",
  "DROP TABLE tallies",
  "DROP TABLE numbers",
  "DROP TABLE workers"
]

export const deliveriesInPlace = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
