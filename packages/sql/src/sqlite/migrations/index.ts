/**
 * The versions of the tables on SQLite.
 */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../Migrations.ts"
import { tables } from "./0001_Tables.ts"

/** Adds the texts that describe an integration to people. */
const labels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN name TEXT")
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN description TEXT")
})

/** Adds the resources that tokens are bound to, the last use of refresh tokens, and the assertions that were used. */
const audiences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE grants ADD COLUMN resource TEXT NOT NULL DEFAULT ''")
  yield* sql.unsafe("ALTER TABLE access_tokens ADD COLUMN resource TEXT")
  yield* sql.unsafe("ALTER TABLE refresh_tokens ADD COLUMN used_at INTEGER")
  yield* sql.unsafe("CREATE TABLE assertions (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID")
  yield* sql.unsafe("CREATE INDEX assertions_by_expiry ON assertions (expires_at)")
})

/** Adds how much of an event's data an integration gets. */
const detail = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN detail TEXT NOT NULL DEFAULT 'full'")
})

const forFeeds: ReadonlyArray<string> = [
  // For feeds, which are in storage order.
  `CREATE INDEX events_of_by_seq ON events_of (scope_type, scope_id, event_seq)`,

  // The purged items of each feed, by type: the last id of a delivery of an integration, or the last number of an event
  // of a building or tenant, and the latest time of publication.
  `CREATE TABLE purged (
    source_type TEXT NOT NULL,
    source_id INTEGER NOT NULL,
    resource_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (source_type, source_id, resource_type)
  ) STRICT, WITHOUT ROWID`
]

/** Adds what feeds read: the order of storage, and what was purged. */
const feeds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of forFeeds) yield* sql.unsafe(statement)
})

/** Adds the subscriptions of MCP clients, and an index to find those of a grant. */
const subscriptions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN subscription TEXT")
  yield* sql.unsafe("ALTER TABLE integrations ADD COLUMN grant_id TEXT")
  yield* sql.unsafe("CREATE INDEX integrations_by_grant ON integrations (grant_id, id) WHERE grant_id IS NOT NULL")
})

/** Adds the public keys of registered clients, as JSON. */
const clientKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE clients ADD COLUMN jwks TEXT")
})

export const SqliteMigrations = Context.Reference<Migrations>("@doorhook/sql/SqliteMigrations", {
  defaultValue: () => ({
    "1_tables": tables,
    "2_labels": labels,
    "3_audiences": audiences,
    "4_detail": detail,
    "5_feeds": feeds,
    "6_subscriptions": subscriptions,
    "7_client_keys": clientKeys
  })
})

/** The table that records the migrations that ran. */
export const table = "doorhook_migrations"

/** How to start again without the data of a build that was never released. */
export const startAgain = "Move the file away; the next start creates a new one."
