/**
 * Orders each building's and tenant's list of readable events by publication time, so that a list can begin and end at
 * a given time. Migration 8 adapts `doorhook.publish`, which writes these lists.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { nowInMillis } from "./PublishFunction.ts"

const statements: ReadonlyArray<string> = [
  `LOCK TABLE events_of IN ACCESS EXCLUSIVE MODE`,
  // The default is for processes of the previous version that still run.
  `CREATE TABLE events_by_time (
    scope_id bigint NOT NULL,
    created_at bigint NOT NULL DEFAULT ${nowInMillis},
    event_seq bigint NOT NULL,
    scope_type text NOT NULL,
    resource_type text NOT NULL
  )`,
  `INSERT INTO events_by_time (scope_id, created_at, event_seq, scope_type, resource_type)
    SELECT o.scope_id, e.created_at, o.event_seq, o.scope_type, o.resource_type
    FROM events_of AS o JOIN events AS e ON e.seq = o.event_seq`,
  `DROP TABLE events_of`,
  `ALTER TABLE events_by_time RENAME TO events_of`,
  `ALTER TABLE events_of ADD CONSTRAINT events_of_pkey
    PRIMARY KEY (scope_id, scope_type, resource_type, created_at, event_seq)`
]

export const eventsByTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
