/**
 * The versions of the tables on PostgreSQL.
 */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../Migrations.ts"
import { tables } from "./0001_Tables.ts"

/** Adds the texts that describe an integration to people. Can be repeated, like the first version. */
const labels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN IF NOT EXISTS name text").unprepared
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN IF NOT EXISTS description text").unprepared
})

/**
 * Refreshes a token in one round trip. The last parameter has a default, so that processes that still run an earlier
 * version can call the function, too.
 */
const refreshAccess = `CREATE OR REPLACE FUNCTION refresh_access(
    presented text, refreshed_at bigint, most integer, new_hash text, new_created_at bigint, new_expires_at bigint,
    new_scope text, new_retires text, successor text, successor_created_at bigint, new_resource text DEFAULT NULL
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    its_grant text;
    its_seq bigint;
  BEGIN
    SELECT g.id INTO its_grant FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id
      WHERE t.hash = presented AND t.retired_at IS NULL AND g.revoked_at IS NULL FOR UPDATE;
    IF its_grant IS NULL THEN
      RETURN NULL;
    END IF;
    DELETE FROM access_tokens WHERE seq IN (
      SELECT seq FROM access_tokens WHERE grant_id = its_grant ORDER BY seq DESC LIMIT 500 OFFSET most - 1
    );
    INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, retires, resource)
      VALUES (its_grant, new_hash, new_created_at, new_expires_at, new_scope, new_retires, new_resource)
      RETURNING seq INTO its_seq;
    IF successor IS NULL THEN
      UPDATE refresh_tokens SET used_at = refreshed_at WHERE hash = presented;
    ELSE
      UPDATE refresh_tokens SET rotated_at = refreshed_at WHERE hash = presented AND rotated_at IS NULL;
      INSERT INTO refresh_tokens (hash, grant_id, created_at) VALUES (successor, its_grant, successor_created_at);
    END IF;
    RETURN its_seq;
  END
$$`

/** Adds the resources that tokens are bound to, the last use of refresh tokens, and the assertions that were used. */
const audiences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [
    "ALTER TABLE grants ADD COLUMN IF NOT EXISTS resource text NOT NULL DEFAULT ''",
    "ALTER TABLE access_tokens ADD COLUMN IF NOT EXISTS resource text",
    "ALTER TABLE refresh_tokens ADD COLUMN IF NOT EXISTS used_at bigint",
    'CREATE TABLE IF NOT EXISTS assertions (id text COLLATE "C" PRIMARY KEY, expires_at bigint NOT NULL)',
    "CREATE INDEX IF NOT EXISTS assertions_by_expiry ON assertions (expires_at)",
    "DROP FUNCTION IF EXISTS refresh_access",
    refreshAccess
  ]) {
    yield* sql.unsafe(statement).unprepared
  }
})

/** Adds how much of an event's data an integration gets. */
const detail = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN IF NOT EXISTS detail text NOT NULL DEFAULT 'full'").unprepared
})

const forFeeds: ReadonlyArray<string> = [
  // For feeds, which are in storage order.
  `CREATE INDEX IF NOT EXISTS events_of_by_seq ON events_of (scope_id, scope_type, event_seq)`,

  // The purged items of each feed, by type: the last id of a delivery of an integration, or the last number of an event
  // of a building or tenant, and the latest time of publication.
  `CREATE TABLE IF NOT EXISTS purged (
    source_id bigint NOT NULL,
    position bigint NOT NULL,
    created_at bigint NOT NULL,
    source_type text NOT NULL,
    resource_type text NOT NULL,
    PRIMARY KEY (source_type, source_id, resource_type)
  )`
]

/** Adds what feeds read: the order of storage, and what was purged. */
const feeds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of forFeeds) yield* sql.unsafe(statement).unprepared
})

/** `Switches` installs most functions. A version that changes nothing else keeps older processes away from them. */
export const PostgresMigrations = Context.Reference<Migrations>("@doorhook/sql/PostgresMigrations", {
  defaultValue: () => ({
    "1_tables": tables,
    "2_labels": labels,
    "3_call_ends": Effect.void,
    "4_audiences": audiences,
    "5_detail": detail,
    "6_feeds": feeds
  })
})

/** The table that records the migrations that ran, in doorhook's schema. */
export const table = "migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain =
  "Use another database, or delete the tables with DROP SCHEMA doorhook CASCADE; the next start creates new ones."
