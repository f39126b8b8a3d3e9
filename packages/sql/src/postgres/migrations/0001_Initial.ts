/**
 * The tables of the first version, in the schema `doorhook`.
 *
 * Times are integer milliseconds since the epoch. Lists and documents are JSON text, because `jsonb` would rewrite
 * them. States and reasons are words, so that rows are readable in `psql`. The tables that grow have no foreign keys,
 * because writing a row would look up and lock another row.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publishFunction } from "./PublishFunction.ts"

/**
 * Storage parameters of tables with short-lived rows: vacuum starts after a number of dead rows instead of a share of
 * the table, and runs at full speed.
 */
const soonVacuumed = `autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0`

const statements: ReadonlyArray<string> = [
  // An id is never reused, even after its row is deleted.
  `CREATE TABLE integrations (
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
    previous_secret text,
    previous_secret_until bigint,
    overrides text NOT NULL,
    failing_since bigint,
    failing_noticed integer NOT NULL,
    version integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  )`,
  `CREATE INDEX integrations_by_scope ON integrations (scope_type, scope_id, id)`,

  // first_delivery, last_delivery: the first and last id of the event's deliveries; null if it has none.
  `CREATE TABLE events (
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

  // The events that a building or a tenant may read.
  `CREATE TABLE events_of (
    scope_id bigint NOT NULL,
    event_seq bigint NOT NULL,
    scope_type text NOT NULL,
    resource_type text NOT NULL,
    PRIMARY KEY (scope_id, scope_type, resource_type, event_seq)
  )`,

  // Numbers are never reused, even after the row is deleted.
  `CREATE SEQUENCE event_numbers`,
  `CREATE SEQUENCE delivery_ids`,

  // A delivery is in `queue` while it is active, and in `deliveries` once it has ended. Under a lease, due_at is the end of
  // the lease. resend: see core's delivery/Transitions.
  `CREATE TABLE queue (
    id bigint PRIMARY KEY,
    integration_id bigint NOT NULL,
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,
    attempts integer NOT NULL,
    lane smallint NOT NULL,
    resend smallint NOT NULL,
    event_id text NOT NULL,
    state text NOT NULL,
    reason text,
    lease_token text
  ) WITH (${soonVacuumed})`,
  // Deliveries that can be claimed. The lane comes first, so a claim that is full after the first lanes does not read
  // the backlogs of the others.
  `CREATE INDEX queue_due ON queue (lane, integration_id, due_at, id)`,
  // The id is last in this and the following indexes, so they list rows in order of id.
  `CREATE INDEX queue_by_integration ON queue (integration_id, state, id)`,

  // attempt_...: the last attempt, null if there was none; its number is `attempts`. lease_token: set while an attempt of a
  // cancelled delivery is not recorded yet.
  `CREATE TABLE deliveries (
    id bigint PRIMARY KEY,
    integration_id bigint NOT NULL,
    created_at bigint NOT NULL,
    attempt_started_at bigint,
    attempt_duration_ms bigint,
    attempts integer NOT NULL,
    attempt_status integer,
    lane smallint NOT NULL,
    event_id text NOT NULL,
    state text NOT NULL,
    reason text,
    lease_token text,
    attempt_outcome text,
    attempt_detail text,
    attempt_excerpt text
  )`,
  `CREATE INDEX deliveries_by_integration ON deliveries (integration_id, id)`,
  // The few deliveries that ended without an acknowledgement.
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state, id) WHERE state <> 'delivered'`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration_id, state, id)
    WHERE state <> 'delivered'`,

  // Earlier attempts, which did not end their delivery.
  `CREATE TABLE attempts (
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
  `CREATE TABLE notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    integration_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    scope_type text NOT NULL,
    details text NOT NULL
  )`,
  `CREATE INDEX notices_by_integration ON notices (integration_id, id)`,

  `CREATE TABLE idempotency_keys (
    key text PRIMARY KEY,
    fingerprint text NOT NULL,
    answer text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at)`,

  // Active workers. until: when the worker counts as gone if no further heartbeat arrives.
  `CREATE TABLE workers (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL)`,

  // Counts of events and of deliveries by state: the sum of all rows. Each transaction appends a row with its changes,
  // so that none waits for a shared counter. Rows are replaced by their sum from time to time.
  `CREATE TABLE tallies (
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

  `CREATE TABLE grants (
    id text PRIMARY KEY,
    user_id text NOT NULL,
    client_id text NOT NULL,
    scope text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
  )`,

  `CREATE INDEX grants_by_client ON grants (client_id) WHERE revoked_at IS NULL`,

  `CREATE TABLE codes (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES grants (id),
    client_id text NOT NULL,
    redirect_uri text NOT NULL,
    redirect_uri_given boolean NOT NULL,
    code_challenge text,
    expires_at bigint NOT NULL,
    used_at bigint
  )`,
  `CREATE INDEX codes_by_expiry ON codes (expires_at)`,
  `CREATE INDEX codes_by_grant ON codes (grant_id)`,

  `CREATE TABLE access_tokens (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES grants (id),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    retires text
  )`,
  `CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at)`,
  `CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)`,

  `CREATE TABLE refresh_tokens (
    hash text PRIMARY KEY,
    grant_id text NOT NULL REFERENCES grants (id),
    created_at bigint NOT NULL,
    rotated_at bigint,
    retired_at bigint
  )`,
  `CREATE INDEX refresh_tokens_by_grant ON refresh_tokens (grant_id)`,

  // redirect_uris and secrets: JSON lists.
  `CREATE TABLE clients (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    redirect_uris text NOT NULL,
    secrets text NOT NULL,
    created_at bigint NOT NULL
  )`,

  `CREATE TABLE settings (name text PRIMARY KEY, value text NOT NULL)`,

  ...publishFunction
]

export const initial = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement).unprepared
})
