/**
 * Orders each building's and tenant's list of readable events by publication time, so that a list can begin and end at
 * a given time.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  `CREATE TABLE events_by_time (
    scope_type TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    resource_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    PRIMARY KEY (scope_type, scope_id, resource_type, created_at, event_seq)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO events_by_time (scope_type, scope_id, resource_type, created_at, event_seq)
    SELECT o.scope_type, o.scope_id, o.resource_type, e.created_at, o.event_seq
    FROM events_of AS o CROSS JOIN events AS e ON e.seq = o.event_seq`,
  `DROP TABLE events_of`,
  `ALTER TABLE events_by_time RENAME TO events_of`
]

export const eventsByTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
