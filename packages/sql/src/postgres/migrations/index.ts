/**
 * The versions of the tables on PostgreSQL.
 */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../Migrations.ts"
import { feedOf } from "../statements/ListStatements.ts"
import { tables } from "./0001_Tables.ts"

/** Adds the texts that describe an integration to people. Can be repeated, like the first version. */
const labels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN IF NOT EXISTS name text").unprepared
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN IF NOT EXISTS description text").unprepared
})

/** Adds the resources that tokens are bound to, the last use of refresh tokens, and the assertions that were used. */
const audiences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [
    "ALTER TABLE grants ADD COLUMN IF NOT EXISTS resource text NOT NULL DEFAULT ''",
    "ALTER TABLE access_tokens ADD COLUMN IF NOT EXISTS resource text",
    "ALTER TABLE refresh_tokens ADD COLUMN IF NOT EXISTS used_at bigint",
    'CREATE TABLE IF NOT EXISTS assertions (id text COLLATE "C" PRIMARY KEY, expires_at bigint NOT NULL)',
    "CREATE INDEX IF NOT EXISTS assertions_by_expiry ON assertions (expires_at)",
    "DROP FUNCTION IF EXISTS refresh_access"
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

/** Adds what was purged from feeds. */
const feeds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of forFeeds) yield* sql.unsafe(statement).unprepared
})

/** Adds the subscriptions of MCP clients, and an index to find those of a grant. */
const subscriptions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [
    "ALTER TABLE integrations ADD COLUMN IF NOT EXISTS subscription text",
    'ALTER TABLE integrations ADD COLUMN IF NOT EXISTS grant_id text COLLATE "C"',
    "CREATE INDEX IF NOT EXISTS integrations_by_grant ON integrations (grant_id, id) WHERE grant_id IS NOT NULL"
  ]) {
    yield* sql.unsafe(statement).unprepared
  }
})

/** Adds the order of feeds, with entries that are cheaper to write than those of an earlier index. */
const feedOrder = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("DROP INDEX IF EXISTS events_of_by_seq").unprepared
  yield* sql.unsafe(`CREATE INDEX IF NOT EXISTS events_of_by_feed ON events_of ((${feedOf}), event_seq)`).unprepared
})

/** Adds the public keys of registered clients, as JSON. */
const clientKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE clients ADD COLUMN IF NOT EXISTS jwks text").unprepared
})

/** `Switches` installs most functions. A version that changes nothing else keeps older processes away from them. */
export const PostgresMigrations = Context.Reference<Migrations>("@doorhook/sql/PostgresMigrations", {
  defaultValue: () => ({
    "1_tables": tables,
    "2_labels": labels,
    "3_call_ends": Effect.void,
    "4_audiences": audiences,
    "5_detail": detail,
    "6_feeds": feeds,
    "7_subscriptions": subscriptions,
    "8_feed_order": feedOrder,
    "9_client_keys": clientKeys
  })
})

/** The table that records the migrations that ran, in doorhook's schema. */
export const table = "migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain =
  "Use another database, or delete the tables with DROP SCHEMA doorhook CASCADE; the next start creates new ones."
