/**
 * All storage on one PostgreSQL database, shared by any number of processes.
 */
import type { ClientStore, SettingStore, TokenStore } from "@doorhook/core"
import { MeasuredClock, StoreClock, StoreHealth } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { Data, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlStateOf } from "../StoreFailure.ts"
import { failAs } from "../StoreFailure.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import type { PostgresDatabaseConfig } from "./PostgresDatabase.ts"
import * as PostgresDatabase from "./PostgresDatabase.ts"
import * as PostgresDeliveryStore from "./PostgresDeliveryStore.ts"
import { postgres } from "./PostgresDialect.ts"
import * as PostgresTokenWrites from "./PostgresTokenWrites.ts"
import * as SharedReads from "./SharedReads.ts"

export interface PostgresStoreConfig extends PostgresDatabaseConfig {
  /**
   * Key that encrypts the signing secrets of integrations, of any length. Without a key, secrets are stored in clear.
   */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

/**
 * How long integrations may be cached for matching events, in milliseconds. Storing an event verifies that its match is
 * still current.
 */
const matchesFor = 60_000

/** Ends the transaction of the probe. */
class RolledBack extends Data.TaggedError("RolledBack") {}

/** SQLSTATE of a server that limits the size of temporary files (`temp_file_limit`). */
const limited = "53400"

/**
 * The probe inserts an event, which fails while the table is locked or the database is read-only. Rows may fit into
 * free space of the table, so a sort that is too large for its memory then writes a temporary file to the same disk.
 */
const health = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const takeSpace = Effect.catchIf(
    sql.unsafe("SELECT n FROM generate_series(1, 4096) AS n ORDER BY md5(n::text) OFFSET 4095"),
    (error) => sqlStateOf(error) === limited,
    () => Effect.void
  )
  const probe = sql
    .unsafe(
      `SELECT set_config('lock_timeout', '1s', true), set_config('work_mem', '64kB', true),
        set_config('temp_tablespaces', '', true)`
    )
    .pipe(
      Effect.andThen(
        sql.unsafe(
          `INSERT INTO events (seq, id, building_id, created_at, resource_type, action, tenant_ids, data)
            SELECT -n, 'probe_' || n, 0, 0, '', '', '[]', '' FROM (SELECT (random() * 1e15)::bigint AS n) AS random`
        )
      ),
      Effect.andThen(takeSpace),
      Effect.andThen(Effect.fail(new RolledBack())),
      sql.withTransaction,
      Effect.catchTag("RolledBack", () => Effect.void)
    )
  return { ...(yield* StoreHealth), probe: failAs("StoreHealth.probe")(probe) }
})

/** Measures the server's clock. The statement takes no locks, so that its round trip is short. */
export const measureClock = (sql: SqlClient.SqlClient, database: string) => {
  const read = sql
    .unsafe<{ readonly now: number }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now")
    .pipe(
      Effect.flatMap(([row]) =>
        row === undefined ? Effect.fail(new Error("the server returned no time")) : Effect.succeed(row.now)
      ),
      failAs("StoreClock.measure")
    )
  return Effect.mapError(
    MeasuredClock.make(read),
    (cause) => new DatabaseUnusable({ database, why: "unreachable", explanation: cause.message, cause })
  )
}

/**
 * Provides all storage ports on a database, its clock, and the client that `PostgresWakeSignal` needs. Creates or migrates the
 * schema `doorhook`.
 */
export const layer = (
  config: PostgresStoreConfig
): Layer.Layer<SqlStore.Stores | PgClient | SqlClient.SqlClient, DatabaseUnusable> =>
  SqlStore.layer({
    dialect: postgres,
    database: PostgresDatabase.nameOf(config.url),
    encryptionKey: config.encryptionKey,
    deliveries: PostgresDeliveryStore.layer,
    tokenWrites: PostgresTokenWrites.layer,
    matchesFor
  }).pipe(
    Layer.provide(SharedReads.layer),
    Layer.merge(Layer.effect(StoreHealth, health)),
    Layer.merge(
      Layer.effect(
        StoreClock,
        Effect.flatMap(SqlClient.SqlClient, (sql) => measureClock(sql, PostgresDatabase.nameOf(config.url)))
      )
    ),
    Layer.provideMerge(PostgresDatabase.layer(config))
  )

/** Maximum number of connections to a database that is only used for clients, tokens and settings. */
const authorizationConnections = 4

/**
 * Provides the clients, grants, tokens and settings of a database, and its health, for processes whose other rows are in
 * another one.
 */
export const authorizationLayer = (
  config: PostgresStoreConfig
): Layer.Layer<TokenStore | ClientStore | SettingStore, DatabaseUnusable> =>
  SqlStore.authorizationLayer({
    dialect: postgres,
    database: PostgresDatabase.nameOf(config.url),
    encryptionKey: config.encryptionKey,
    tokenWrites: PostgresTokenWrites.layer
  }).pipe(
    Layer.provide(SharedReads.layer),
    Layer.merge(Layer.effect(StoreHealth, health)),
    Layer.provide(PostgresDatabase.layer({ maxConnections: authorizationConnections, ...config }))
  )
