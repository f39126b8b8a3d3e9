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
  /** Encrypts the signing secrets of integrations. May have any length. Without it, they are stored in clear. */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

/**
 * How long publications may be matched from the cache, in milliseconds. Storing them verifies what they were matched with.
 */
const matchesFor = 60_000

/**
 * All storage ports on a database, and its client for `PostgresWakeSignal`. Creates the schema `doorhook` or migrates an
 * older one.
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
