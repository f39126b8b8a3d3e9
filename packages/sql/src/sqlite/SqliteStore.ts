/**
 * The whole store on one SQLite file.
 */
import { StoreHealth } from "@doorhook/core"
import { Clock, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlite } from "../Dialect.ts"
import { fleeting } from "../Durability.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteDatabase from "./SqliteDatabase.ts"
import * as SqliteDeliveryTables from "./SqliteDeliveryTables.ts"

export interface SqliteStoreConfig extends SqliteClientConfig {
  /** Seals the signing secrets of integrations. Without it they are stored readable. Of any length. */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
  /**
   * Whoever held deliveries in the file is dead, as the caller knows: they are due at once rather than when their leases
   * end. Default false.
   */
  readonly clearsUp?: boolean | undefined
}

/** What a process that is dead has left: leases, and its place among the workers. */
const clearUp = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const now = yield* Clock.currentTimeMillis
    yield* sql
      .unsafe("UPDATE queue SET due_at = ? WHERE state = 'delivering' AND due_at > ?", [now, now])
      .pipe(Effect.andThen(sql.unsafe("DELETE FROM workers")), sql.withTransaction, fleeting)
  }).pipe(
    Effect.catchTag("SqlError", (error) =>
      Effect.logWarning(`What was under way when the service ended is sent again when its leases end: ${error.message}`)
    )
  )
)

/**
 * All storage ports on a file, which is made when there is none and brought up to date when it is older, and its
 * `StoreHealth`.
 *
 * Several processes may use one file, each waiting while another writes; one process is faster than several.
 */
export const layer = (config: SqliteStoreConfig): Layer.Layer<SqlStore.Stores, DatabaseUnusable> =>
  SqlStore.layer({ dialect: sqlite, database: config.filename, encryptionKey: config.encryptionKey }).pipe(
    Layer.provide(SqliteDeliveryTables.layer),
    Layer.provide(config.clearsUp === true ? clearUp : Layer.empty),
    Layer.merge(Layer.effect(StoreHealth, StoreHealth)),
    Layer.provide(SqliteDatabase.layer(config))
  )
