/**
 * The database that a setting names, with the wake signals that go with it.
 */
import { MemoryStore, Wake } from "@doorhook/core"
import type {
  ClientStore,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  SettingStore,
  TokenStore
} from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import type { DatabaseUnusable } from "@doorhook/sql"
import { Effect, Layer, Redacted } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"

/** The database of a process that is given none. */
export const defaultDatabase = "doorhook.db"

/** Whether a database is a server's, which any number of processes share and wake each other over. */
export const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/.test(database)

type Services = DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore | Wake

/** Loaded when it is called for: its client would make every start on a file slower. */
const postgresLayer = (
  url: Redacted.Redacted,
  encryptionKey: Redacted.Redacted | undefined
): Layer.Layer<Services, DatabaseUnusable> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("@doorhook/sql/postgres")),
      ({ PostgresStore, PostgresWake }) =>
        PostgresWake.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url, encryptionKey })))
    )
  )

export const layer = (
  config: Pick<EngineConfig, "database" | "encryptionKey">
): Layer.Layer<Services, DatabaseUnusable> => {
  const database = config.database ?? defaultDatabase
  const encryptionKey = config.encryptionKey === undefined ? undefined : Redacted.make(config.encryptionKey)
  if (isPostgres(database)) {
    return postgresLayer(Redacted.make(database), encryptionKey)
  }
  const store = database === "memory" ? MemoryStore.layer : SqliteStore.layer({ filename: database, encryptionKey })
  return Layer.merge(store, Wake.layerLocal)
}
