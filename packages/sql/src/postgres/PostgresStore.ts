/**
 * The whole store on one PostgreSQL database, shared by as many processes as wanted.
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
import * as PostgresTokenWrites from "./PostgresTokenWrites.ts"
import { postgres } from "./PostgresDialect.ts"

export interface PostgresStoreConfig extends PostgresDatabaseConfig {
  /** Seals the signing secrets of integrations. Without it they are stored readable. Of any length. */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

/** For how long publications may be matched from memory, in milliseconds: storing them checks what they were matched with. */
const matchesFor = 60_000

/**
 * All storage ports on a database, whose schema `doorhook` is made when there is none and brought up to date when it is
 * older; and the client under them, for who listens (`PostgresWakeSignal`).
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
