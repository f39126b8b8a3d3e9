/**
 * The tables of the first version.
 *
 * Times are integer milliseconds since the epoch. Lists and documents are JSON text. States and reasons are words, so that
 * rows are readable in `sqlite3`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  // AUTOINCREMENT: an id is never reused, even after its row is deleted.
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
    previous_secret TEXT,
    previous_secret_until INTEGER,
    overrides TEXT NOT NULL,
    failing_since INTEGER,
    failing_noticed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX integrations_by_scope ON integrations (scope_type, scope_id)`,

  // first_delivery, last_delivery: the range of ids of the event's deliveries; null if it has none.
  `CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    resource_type TEXT NOT NULL,
    action TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    tenant_ids TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    first_delivery INTEGER,
    last_delivery INTEGER,
    data TEXT NOT NULL
  ) STRICT`,

  // The events that a building or a tenant may read. Filled for thousands of events at a time, because a single insert
  // would write one page per reader of the event.
  `CREATE TABLE events_of (
    scope_type TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    resource_type TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    PRIMARY KEY (scope_type, scope_id, resource_type, event_seq)
  ) STRICT, WITHOUT ROWID`,

  // The last assigned numbers. Numbers are not reused, even after their row is deleted. indexed: the last event in
  // events_of.
  `CREATE TABLE numbers (event INTEGER NOT NULL, delivery INTEGER NOT NULL, indexed INTEGER NOT NULL) STRICT`,
  `INSERT INTO numbers (event, delivery, indexed) VALUES (0, 0, 0)`,

  // A delivery is in `queue` while it is active, and in `deliveries` once it has ended. There are no foreign keys,
  // because deliveries outlive their integration, and each check would look up a row. Under a lease, due_at is the end
  // of the lease. resend: see core's delivery/Transitions.
  `CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    integration_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    attempts INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    lease_token TEXT,
    resend INTEGER NOT NULL
  ) STRICT`,
  // Deliveries that can be claimed. The lane comes first, so a claim that is full after the first lanes does not read
  // the backlogs of the others.
  `CREATE INDEX queue_due ON queue (lane, integration_id, due_at)`,
  // Every index ends with the id, so this and the following ones list rows in order of id.
  `CREATE INDEX queue_by_integration ON queue (integration_id, state)`,

  // A row cancels all active deliveries of a deleted or disabled integration up to an id. The rows of the deliveries
  // are moved later in batches.
  `CREATE TABLE endings (
    integration_id INTEGER PRIMARY KEY,
    last_id INTEGER NOT NULL,
    reason TEXT NOT NULL
  ) STRICT`,

  // attempt_...: the last attempt, null if there was none; its number is `attempts`. lease_token: set while an attempt of a
  // cancelled delivery is not recorded yet.
  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    integration_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    attempts INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    lease_token TEXT,
    attempt_started_at INTEGER,
    attempt_duration_ms INTEGER,
    attempt_outcome TEXT,
    attempt_status INTEGER,
    attempt_detail TEXT,
    attempt_excerpt TEXT
  ) STRICT`,
  `CREATE INDEX deliveries_by_integration ON deliveries (integration_id)`,
  // The few deliveries that ended without an acknowledgement. The condition is not a list of states, because evaluating
  // a list takes a third of all the work on a delivery.
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state) WHERE state <> 'delivered'`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration_id, state)
    WHERE state <> 'delivered'`,

  // Earlier attempts, which did not end their delivery.
  `CREATE TABLE attempts (
    delivery_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    detail TEXT,
    response_excerpt TEXT,
    PRIMARY KEY (delivery_id, number)
  ) STRICT, WITHOUT ROWID`,

  // Notifications to operators. details: members that only some kinds have, as JSON.
  `CREATE TABLE notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    integration_id INTEGER NOT NULL,
    scope_type TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    details TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX notices_by_integration ON notices (integration_id)`,

  `CREATE TABLE idempotency_keys (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at)`,

  // Active workers. until: when the worker counts as gone if no further heartbeat arrives.
  `CREATE TABLE workers (name TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  // Counts of events, and of deliveries by state, because counting a hundred million rows takes too long.
  `CREATE TABLE tallies (name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  `CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID`,

  `CREATE INDEX grants_by_client ON grants (client_id) WHERE revoked_at IS NULL`,

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

  // redirect_uris and secrets: JSON lists.
  `CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    secrets TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,

  `CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`
]

export const initial = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
