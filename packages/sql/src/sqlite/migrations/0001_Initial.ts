/**
 * The tables of the first version.
 *
 * Times are integer milliseconds since the epoch; lists and documents are JSON text. Rows are meant to be read with
 * `sqlite3` too, so states and reasons are words.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  // AUTOINCREMENT: an id is never used again, also after its row is deleted.
  `CREATE TABLE integrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_type TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    integrator TEXT NOT NULL,
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    bindings TEXT NOT NULL,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    created_by_user TEXT NOT NULL,
    created_by_client TEXT NOT NULL,
    signing_secret TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX integrations_by_scope ON integrations (scope_type, scope_id)`,

  `CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    resource_type TEXT NOT NULL,
    action TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    tenant_ids TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,

  // integration_id refers to nothing: deliveries outlive their integration. due_at is null unless the delivery is
  // active; under a lease it is the lease's end. resend is explained in core's rules/Standing.
  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_seq INTEGER NOT NULL REFERENCES events (seq),
    integration_id INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    attempts INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    due_at INTEGER,
    lease_token TEXT,
    resend INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,
  // What can be claimed. Lane first: a claim stops at the first lanes that fill it, and never sees the backlogs behind.
  `CREATE INDEX deliveries_active ON deliveries (lane, integration_id, due_at) WHERE due_at IS NOT NULL`,
  // The id is the end of every index: these two list in the order of ids.
  `CREATE INDEX deliveries_by_integration ON deliveries (integration_id)`,
  `CREATE INDEX deliveries_by_event ON deliveries (event_seq)`,
  // The few that ended without an acknowledgement, among the many that were delivered.
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state)
    WHERE state IN ('exhausted', 'expired', 'cancelled', 'skipped')`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration_id, state)
    WHERE state IN ('exhausted', 'expired', 'cancelled', 'skipped')`,

  `CREATE TABLE attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
    number INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    response_excerpt TEXT,
    detail TEXT,
    PRIMARY KEY (delivery_id, number)
  ) STRICT, WITHOUT ROWID`,

  // How many events there are, and deliveries in each state: counting a hundred million rows takes too long.
  `CREATE TABLE tallies (name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  `CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID`,

  `CREATE TABLE codes (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES grants (id),
    client_id TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    redirect_uri_given INTEGER NOT NULL,
    code_challenge TEXT,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX codes_by_expiry ON codes (expires_at)`,
  `CREATE INDEX codes_by_grant ON codes (grant_id)`,

  `CREATE TABLE access_tokens (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES grants (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    retires TEXT
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at)`,
  `CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)`,

  `CREATE TABLE refresh_tokens (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES grants (id),
    created_at INTEGER NOT NULL,
    rotated_at INTEGER,
    retired_at INTEGER
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX refresh_tokens_by_grant ON refresh_tokens (grant_id)`,

  `CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`
]

export const initial = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
