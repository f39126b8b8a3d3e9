/**
 * Opens stores for tests, and changes their files without a store.
 */
import type { DeliveryStore, IdempotencyStore, SettingStore, TokenStore } from "@doorhook/core"
import { IntegrationStore } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { assert } from "@effect/vitest"
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

/** Returns a statement that stores an integration in a table of version 1. */
export const integrationOfVersion1 = (table: string): string =>
  `INSERT INTO ${table} (scope_type, scope_id, integrator, url, method, bindings, status, created_by_user,
    created_by_client, signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts, version,
    created_at, updated_at)
  VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'user', 'client', 'whsec_c2VjcmV0',
    '[]', '{}', 0, 0, 1, 0, 0)`

/** Names the only integration, which had no name before. */
export const namesTheFirst = Effect.gen(function* () {
  const store = yield* IntegrationStore
  const [found] = yield* store.listAll({ after: 0, limit: 10 })
  if (found === undefined || !("integration" in found)) return assert.fail("no integration")
  const { integration } = found
  assert.deepStrictEqual([integration.name, integration.description], [null, null])
  const named = { ...integration, name: "Concierge", version: 2 }
  assert.isTrue(yield* store.update(named, 1))
  assert.deepStrictEqual(yield* store.find(integration.id), named)
})

/** Runs SQL statements on a file, without a store. */
export const tamper = (filename: string, statements: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(filename, { timeout: 10_000 })
    db.exec(statements)
    db.close()
  })
