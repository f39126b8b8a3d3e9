/**
 * The whole store on one SQLite file.
 */
import { Layer } from "effect"
import type { Redacted } from "effect"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlite } from "../Dialect.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteDatabase from "./SqliteDatabase.ts"
import * as SqliteDeliveryTables from "./SqliteDeliveryTables.ts"

export interface SqliteStoreConfig extends SqliteClientConfig {
  /** Seals the signing secrets of integrations. Without it they are stored readable. Of any length. */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

/**
 * All storage ports on a file, which is made when there is none and brought up to date when it is older.
 *
 * Several processes may use one file, each waiting while another writes; one process is faster than several.
 */
export const layer = (config: SqliteStoreConfig): Layer.Layer<SqlStore.Stores, DatabaseUnusable> =>
  SqlStore.layer({ dialect: sqlite, database: config.filename, encryptionKey: config.encryptionKey }).pipe(
    Layer.provide(SqliteDeliveryTables.layer),
    Layer.provide(SqliteDatabase.layer(config))
  )
