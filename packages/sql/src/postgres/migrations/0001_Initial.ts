/**
 * The tables of the first version, in the schema `doorhook`.
 *
 * Times are integer milliseconds since the epoch; lists and documents are JSON text, never `jsonb`, which would rewrite
 * them. Rows are meant to be read with `psql` too, so states and reasons are words. The tables that grow have no foreign
 * keys: each would look a row up, and lock it, for every row written.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publishFunction } from "./PublishFunction.ts"

/** Rows here come and go: dead versions are cleared by number, not by share, and at full speed. */
const soonVacuumed = `autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0`

const statements: ReadonlyArray<string> = [
  // An id is never used again, also after its row is deleted.
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

  // The deliveries of an event have ids between those that its row names; null for none.
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

  // What a building, and each tenant that an event involves, may read.
  `CREATE TABLE events_of (
    scope_id bigint NOT NULL,
    event_seq bigint NOT NULL,
    scope_type text NOT NULL,
    resource_type text NOT NULL,
    PRIMARY KEY (scope_id, scope_type, resource_type, event_seq)
  )`,

  // No number is used again, also after its row is deleted.
  `CREATE SEQUENCE event_numbers`,
  `CREATE SEQUENCE delivery_ids`,

  // A delivery is in the first of the next two tables as long as it is active, and in the second once it has ended.
  // Under a lease, due_at is the lease's end. resend is explained in core's delivery/Transitions.
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
  // What can be claimed. Lane first: a claim stops at the first lanes that fill it, and never sees the backlogs behind.
  `CREATE INDEX queue_due ON queue (lane, integration_id, due_at, id)`,
  // The id at the end of this and the following: they list in the order of ids.
  `CREATE INDEX queue_by_integration ON queue (integration_id, state, id)`,

  // attempt_...: the attempt that ended it, null when there was none; its number is that of attempts. lease_token: of one
  // that was cancelled under its lease, until its attempt is recorded.
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
  // The few that ended without an acknowledgement, among the many that were delivered.
  `CREATE INDEX deliveries_unacknowledged ON deliveries (state, id) WHERE state <> 'delivered'`,
  `CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration_id, state, id)
    WHERE state <> 'delivered'`,

  // The attempts that did not end their delivery.
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

  // What those who run the service are told of integrations. details: the members that only some kinds have, as JSON.
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

  // Who sends deliveries now, until when without a further sign of life.
  `CREATE TABLE workers (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL)`,

  // How many events there are, and deliveries in each state: the sum of all rows. Each transaction adds a row of what
  // it changed, so that no two ever wait for a counter; now and then some rows are folded into one.
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
