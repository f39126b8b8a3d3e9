/**
 * Inspects a PostgreSQL database without changing it.
 */
import * as PgClients from "@effect/sql-pg/PgClient"
import { Clock, Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Inspection } from "../Inspection.ts"
import { readSealed } from "../statements/SealedSecrets.ts"
import * as Migrations from "./migrations/index.ts"
import type { PostgresDatabaseConfig } from "./PostgresDatabase.ts"
import { explain, nameOf, schema, versionOf } from "./PostgresDatabase.ts"
import { postgres } from "./PostgresDialect.ts"

interface Found {
  readonly engine: string
  readonly now: number
  readonly writable: boolean
}

// The database is writable if the user may create the schema, or objects in the existing one, and the server is neither
// a standby nor read-only.
const statement = `SELECT current_setting('server_version') AS engine,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
  NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' AND coalesce(
    (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'doorhook'),
    has_database_privilege(current_database(), 'CREATE')) AS writable`

/** Inspects a database; fails when it can't be reached or refuses this user. */
export const inspect = (config: PostgresDatabaseConfig): Effect.Effect<Inspection, DatabaseUnusable> =>
  Effect.gen(function* () {
    const sql: SqlClient.SqlClient = yield* PgClients.make({
      url: config.url,
      maxConnections: 1,
      applicationName: "doorhook",
      startupParameters: { search_path: schema }
    })
    const version = yield* versionOf(sql)
    const before = yield* Clock.currentTimeMillis
    const [found] = yield* sql.unsafe<Found>(statement)
    const after = yield* Clock.currentTimeMillis
    const ahead = (found?.now ?? before) - (before + after) / 2
    return {
      exists: version > 0,
      version,
      newest: Migrations.newest,
      engine: `PostgreSQL ${found?.engine ?? ""}`,
      isWritable: found?.writable === true,
      isReadableByOthers: null,
      // A difference smaller than the round-trip time can't be measured.
      clockAhead: Math.abs(ahead) <= after - before ? 0 : Math.round(ahead),
      sealed: version > 0 && version <= Migrations.newest ? yield* readSealed(sql, postgres) : []
    }
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) => explain(nameOf(config.url), error)),
    Effect.provide(Reactivity.layer)
  )
