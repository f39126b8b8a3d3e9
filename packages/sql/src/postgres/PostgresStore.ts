/**
 * All storage on one PostgreSQL database, shared by any number of processes.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { Layer } from "effect"
import type { Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { SqlReads } from "../SqlReads.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import type { PostgresDatabaseConfig } from "./PostgresDatabase.ts"
import * as PostgresDatabase from "./PostgresDatabase.ts"
import * as PostgresDeliveryStore from "./PostgresDeliveryStore.ts"
import { postgres } from "./PostgresDialect.ts"
import * as PostgresTokenWrites from "./PostgresTokenWrites.ts"

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

/**
 * Provides all storage ports on a database, and the client that `PostgresWakeSignal` needs. Creates or migrates the
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
  }).pipe(Layer.provide(SqlReads.layerClient), Layer.provideMerge(PostgresDatabase.layer(config)))
