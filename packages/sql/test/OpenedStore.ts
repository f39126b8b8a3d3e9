/**
 * Opens stores for tests, and changes their files without a store.
 */
import type { DeliveryStore, IdempotencyStore, IntegrationStore, SettingStore, TokenStore } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import { DatabaseSync } from "node:sqlite"

/** Runs an effect on a new store, then closes the store. */
export const onStore = <A, E>(
  config: SqliteStore.SqliteStoreConfig,
  use: Effect.Effect<
    A,
    E,
    DeliveryStore | IntegrationStore | SettingStore | IdempotencyStore | TokenStore | Scope.Scope
  >
) => Effect.provide(use, Layer.fresh(SqliteStore.layer(config)))

/** Opens a store and closes it again. */
export const open = (config: SqliteStore.SqliteStoreConfig) => onStore(config, Effect.void)

/** Tries to open a store that can't be opened, and returns the error. */
export const refusal = (config: SqliteStore.SqliteStoreConfig) => Effect.flip(open(config))

/** Runs SQL statements on a file, without a store. */
export const tamper = (filename: string, statements: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(filename, { timeout: 10_000 })
    db.exec(statements)
    db.close()
  })
