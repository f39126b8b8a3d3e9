/**
 * The tables of version 1.
 *
 * Times are integer milliseconds since the epoch. Lists and documents are JSON text. States and reasons are words, so that
 * rows are readable in `sqlite3`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { storedStates } from "../DeliverySql.ts"

const statements: ReadonlyArray<string> = [
  // AUTOINCREMENT: an id is never reused, even after its row is deleted. previous_secrets: a JSON list. failing_noticed: how
  // many warnings were sent. failing_attempts: consecutive failures. failing_retry_after: the time before which the
  // receiver accepts no requests (Retry-After).
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
    previous_secrets TEXT NOT NULL,
    overrides TEXT NOT NULL,
    failing_since INTEGER,
    failing_noticed INTEGER NOT NULL,
    failing_attempts INTEGER NOT NULL,
    failing_retry_after INTEGER,
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

  // The events that a building or a tenant may read, in order of time. Filled for thousands of events at a time, because
  // a single insert would write one page per reader of the event.
  `CREATE TABLE events_of (
    scope_type TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    resource_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    PRIMARY KEY (scope_type, scope_id, resource_type, created_at, event_seq)
  ) STRICT, WITHOUT ROWID`,

  // event: the event's seq; its created_at is also the delivery's. state: a code, see DeliverySql. attempt_...: the
  // last attempt, null if there was none; its number is `attempts`. due_at: null for an ended delivery, and for one
  // that its publisher keeps. There are no foreign keys, because deliveries outlive their integration, and each check
  // would look up a row.
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
  // Deliveries that can be claimed. The lane comes first, so a claim that is full after the first lanes does not read
  // the backlogs of the others. Every index ends with the id, so each of them lists deliveries in order of id.
  `CREATE INDEX deliveries_due ON deliveries (lane, integration, due_at) WHERE due_at IS NOT NULL`,
  `CREATE INDEX deliveries_pending ON deliveries (state) WHERE state = 0 AND due_at IS NOT NULL`,
  `CREATE INDEX deliveries_pending_by_integration ON deliveries (integration) WHERE state = 0 AND due_at IS NOT NULL`,
  // The few deliveries that ended without an acknowledgement. The condition is not a list of states, because evaluating
  // a list takes a third of all the work on a delivery.
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state) WHERE state > 1`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration, state) WHERE state > 1`,

  // The owner's memory, saved for the next start: the last numbers of events and deliveries, the last entries of
  // events_of and deliveries_of, an id below which all open deliveries have a due time, the counts, and the time of the
  // last heartbeat. Numbers are not reused, even after their row is deleted.
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
  `INSERT INTO owner VALUES (0, 0, 0, 0, 1, 0, ${storedStates.map(() => 0).join(", ")}, 0)`,

  // A row cancels all open deliveries of an integration up to an id. These deliveries count as cancelled, and their own
  // rows are updated later in batches.
  `CREATE TABLE cancellations (integration INTEGER PRIMARY KEY, last_delivery INTEGER NOT NULL, reason TEXT NOT NULL) STRICT`,

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

  `CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID`,

  `CREATE INDEX grants_by_client ON grants (client_id) WHERE revoked_at IS NULL`,
  `CREATE INDEX grants_by_user ON grants (user_id, created_at) WHERE revoked_at IS NULL`,
  `CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL`,

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

  // seq: part of the token's text, and finds its row. Tokens expire in the order of their numbers, so purges read the start
  // of the table. hash: of the random part of the text. scope: null for the grant's scope. grant_id needs no foreign key,
  // because a grant is deleted only after its tokens.
  `CREATE TABLE access_tokens (
    seq INTEGER PRIMARY KEY,
    grant_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    scope TEXT,
    retires TEXT
  ) STRICT`,
  // The index ends with the number, so it lists the tokens of a grant in order of age.
  `CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)`,

  `CREATE TABLE refresh_tokens (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES grants (id),
    created_at INTEGER NOT NULL,
    rotated_at INTEGER,
    retired_at INTEGER
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX refresh_tokens_by_grant ON refresh_tokens (grant_id)`,
  `CREATE INDEX refresh_tokens_by_rotation ON refresh_tokens (rotated_at) WHERE rotated_at IS NOT NULL`,

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

export const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
