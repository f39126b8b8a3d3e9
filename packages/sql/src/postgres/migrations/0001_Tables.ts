/**
 * The tables and functions of version 1, in the schema `doorhook`.
 *
 * Times are integer milliseconds since the epoch. Lists and documents are JSON text, because `jsonb` would rewrite
 * them. States and reasons are words, so that rows are readable in `psql`. The tables that grow have no foreign keys,
 * because writing a row would look up and lock another row.
 *
 * Statements can be repeated, because some engines commit each change of a table on its own, and a start that is killed
 * then leaves the first ones behind.
 */
import { builtInTable } from "@doorhook/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { writeResourceTypes } from "./PublishFunction.ts"

/**
 * Storage parameters of tables with short-lived rows: vacuum starts after a number of dead rows instead of a share of
 * the table, and runs at full speed.
 */
const soonVacuumed = `autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0`

export const statements: ReadonlyArray<string> = [
  // An id is never reused, even after its row is deleted. previous_secrets: a JSON list. failing_noticed: how many
  // warnings were sent. failing_attempts: consecutive failures. failing_retry_after: the time before which the receiver
  // accepts no requests (Retry-After).
  `CREATE TABLE IF NOT EXISTS integrations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope_type text NOT NULL,
    scope_id bigint NOT NULL,
    integrator text NOT NULL,
    url text NOT NULL,
    method text NOT NULL,
    bindings text NOT NULL,
    status text NOT NULL,
    disabled_reason text,
    created_by_user text NOT NULL,
    created_by_client text NOT NULL,
    signing_secret text NOT NULL,
    previous_secrets text NOT NULL,
    overrides text NOT NULL,
    failing_since bigint,
    failing_retry_after bigint,
    failing_noticed integer NOT NULL,
    failing_attempts integer NOT NULL,
    version integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  )`,
  `CREATE INDEX IF NOT EXISTS integrations_by_scope ON integrations (scope_type, scope_id, id)`,

  // first_delivery, last_delivery: the first and last id of the event's deliveries; null if it has none.
  `CREATE TABLE IF NOT EXISTS events (
    seq bigint PRIMARY KEY,
    id text NOT NULL UNIQUE,
    building_id bigint NOT NULL,
    created_at bigint NOT NULL,
    first_delivery bigint,
    last_delivery bigint,
    resource_type text NOT NULL,
    action text NOT NULL,
    tenant_ids text NOT NULL,
    data text NOT NULL
  )`,

  // The events that a building or a tenant may read, in order of time.
  `CREATE TABLE IF NOT EXISTS events_of (
    scope_id bigint NOT NULL,
    created_at bigint NOT NULL,
    event_seq bigint NOT NULL,
    scope_type text NOT NULL,
    resource_type text NOT NULL,
    PRIMARY KEY (scope_id, scope_type, resource_type, created_at, event_seq)
  )`,

  // Numbers are never reused, even after the row is deleted.
  `CREATE SEQUENCE IF NOT EXISTS event_numbers`,
  `CREATE SEQUENCE IF NOT EXISTS delivery_ids`,

  // A delivery is in `queue` while it is active, and in `deliveries` once it has ended. worker: who leases the delivery,
  // for as long as that worker is in `members`. resend: see core's delivery/Transitions.
  `CREATE TABLE IF NOT EXISTS queue (
    id bigint PRIMARY KEY,
    integration_id bigint NOT NULL,
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,
    attempts integer NOT NULL,
    lane smallint NOT NULL,
    resend smallint NOT NULL,
    early smallint NOT NULL DEFAULT 0,
    event_id text NOT NULL,
    state text NOT NULL,
    worker text COLLATE "C"
  ) WITH (${soonVacuumed})`,
  // Deliveries that can be claimed. Excludes leased deliveries, so a delivery that is leased from its publication on
  // never enters the index. The lane comes first, so a claim that is full after the first lanes does not read the
  // backlogs of the others.
  `CREATE INDEX IF NOT EXISTS queue_due ON queue (lane, integration_id, due_at, id) WHERE worker IS NULL`,
  // The id is last in this and the following indexes, so they list rows in order of id.
  `CREATE INDEX IF NOT EXISTS queue_by_integration ON queue (integration_id, state, id)`,

  // attempt_...: the last attempt, null if there was none; its number is `attempts`. worker: set while an attempt of a
  // cancelled delivery is not recorded yet.
  `CREATE TABLE IF NOT EXISTS deliveries (
    id bigint PRIMARY KEY,
    integration_id bigint NOT NULL,
    created_at bigint NOT NULL,
    attempt_started_at bigint,
    attempt_duration_ms bigint,
    attempts integer NOT NULL,
    attempt_status integer,
    lane smallint NOT NULL,
    early smallint NOT NULL DEFAULT 0,
    event_id text NOT NULL,
    state text NOT NULL,
    reason text,
    worker text COLLATE "C",
    attempt_outcome text,
    attempt_detail text,
    attempt_excerpt text
  )`,
  `CREATE INDEX IF NOT EXISTS deliveries_by_integration ON deliveries (integration_id, id)`,
  // The few deliveries that ended without an acknowledgement.
  `CREATE INDEX IF NOT EXISTS deliveries_unacknowledged ON deliveries (state, id) WHERE state <> 'delivered'`,
  `CREATE INDEX IF NOT EXISTS deliveries_unacknowledged_by_integration ON deliveries (integration_id, state, id)
    WHERE state <> 'delivered'`,
  `CREATE INDEX IF NOT EXISTS deliveries_leased ON deliveries (worker) WHERE worker IS NOT NULL`,

  // A row cancels all active deliveries of a deleted or disabled integration up to an id. The rows of the deliveries are
  // moved later in batches (`stores/Cancellations`).
  `CREATE TABLE IF NOT EXISTS endings (integration_id bigint PRIMARY KEY, last_id bigint NOT NULL, reason text NOT NULL)`,

  // Earlier attempts, which did not end their delivery.
  `CREATE TABLE IF NOT EXISTS attempts (
    delivery_id bigint NOT NULL,
    number integer NOT NULL,
    started_at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    outcome text NOT NULL,
    status integer,
    detail text,
    response_excerpt text,
    PRIMARY KEY (delivery_id, number)
  )`,

  // Notifications to operators. details: members that only some kinds have, as JSON.
  `CREATE TABLE IF NOT EXISTS notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    integration_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    scope_type text NOT NULL,
    details text NOT NULL
  )`,
  `CREATE INDEX IF NOT EXISTS notices_by_integration ON notices (integration_id, id)`,

  `CREATE TABLE IF NOT EXISTS idempotency_keys (
    key text PRIMARY KEY,
    fingerprint text NOT NULL,
    answer text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE INDEX IF NOT EXISTS idempotency_keys_by_expiry ON idempotency_keys (expires_at)`,

  // Active workers. until: when the worker counts as gone if no further heartbeat arrives.
  `CREATE TABLE IF NOT EXISTS members (worker text COLLATE "C" PRIMARY KEY, until bigint NOT NULL)`,

  // Counts of events and of deliveries by state: the sum of all rows. Each transaction appends a row with its changes,
  // so that none waits for a shared counter. Rows are replaced by their sum from time to time.
  `CREATE TABLE IF NOT EXISTS tallies (
    events bigint NOT NULL,
    pending bigint NOT NULL,
    delivering bigint NOT NULL,
    retrying bigint NOT NULL,
    delivered bigint NOT NULL,
    exhausted bigint NOT NULL,
    expired bigint NOT NULL,
    cancelled bigint NOT NULL,
    skipped bigint NOT NULL
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)`,

  `CREATE TABLE IF NOT EXISTS grants (
    id text PRIMARY KEY,
    user_id text NOT NULL,
    client_id text NOT NULL,
    scope text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
  )`,

  `CREATE INDEX IF NOT EXISTS grants_by_client ON grants (client_id) WHERE revoked_at IS NULL`,
  `CREATE INDEX IF NOT EXISTS grants_by_user ON grants (user_id, created_at) WHERE revoked_at IS NULL`,
  `CREATE INDEX IF NOT EXISTS grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL`,

  `CREATE TABLE IF NOT EXISTS codes (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES grants (id),
    client_id text NOT NULL,
    redirect_uri text NOT NULL,
    redirect_uri_given boolean NOT NULL,
    code_challenge text,
    expires_at bigint NOT NULL,
    used_at bigint
  )`,
  `CREATE INDEX IF NOT EXISTS codes_by_expiry ON codes (expires_at)`,
  `CREATE INDEX IF NOT EXISTS codes_by_grant ON codes (grant_id)`,

  // seq: part of the token's text, and finds its row. Tokens expire in the order of their numbers, so purges read the start
  // of the table. hash: of the random part of the text. scope: null for the grant's scope.
  `CREATE TABLE IF NOT EXISTS access_tokens (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    hash text NOT NULL,
    grant_id text NOT NULL REFERENCES grants (id),
    scope text,
    retires text
  )`,
  `CREATE INDEX IF NOT EXISTS access_tokens_by_grant ON access_tokens (grant_id, seq)`,

  `CREATE TABLE IF NOT EXISTS refresh_tokens (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES grants (id),
    created_at bigint NOT NULL,
    rotated_at bigint,
    retired_at bigint
  )`,
  `CREATE INDEX IF NOT EXISTS refresh_tokens_by_grant ON refresh_tokens (grant_id)`,
  `CREATE INDEX IF NOT EXISTS refresh_tokens_by_rotation ON refresh_tokens (rotated_at) WHERE rotated_at IS NOT NULL`,

  // redirect_uris and secrets: JSON lists.
  `CREATE TABLE IF NOT EXISTS clients (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    redirect_uris text NOT NULL,
    secrets text NOT NULL,
    created_at bigint NOT NULL
  )`,

  `CREATE TABLE IF NOT EXISTS settings (name text PRIMARY KEY, value text NOT NULL)`,

  // The resource types that `doorhook.publish` accepts. Each process that opens the database writes its own types.
  // place: the order that messages list them in.
  `CREATE TABLE IF NOT EXISTS resource_types (
    name text PRIMARY KEY,
    actions text[] NOT NULL,
    urgent boolean NOT NULL,
    place integer NOT NULL
  )`
]

export const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement).unprepared
  yield* writeResourceTypes(sql, builtInTable, { isAgreed: true })
})
