/**
 * The database that a setting names, with the wake signals that go with it.
 */
import { MemoryStore, Wake } from "@doorhook/core"
import type { DeliveryStore, IntegrationStore, SettingStore, TokenStore } from "@doorhook/core"
import { PostgresStore, PostgresWake, SqliteStore } from "@doorhook/sql"
import type { DatabaseUnusable } from "@doorhook/sql"
import { Layer, Redacted } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"

/** The database of a process that is given none. */
export const defaultDatabase = "doorhook.db"

/** Whether a database is a server's, which any number of processes share and wake each other over. */
export const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/.test(database)

type Services = DeliveryStore | IntegrationStore | TokenStore | SettingStore | Wake

export const layer = (
  config: Pick<EngineConfig, "database" | "encryptionKey">
): Layer.Layer<Services, DatabaseUnusable> => {
  const database = config.database ?? defaultDatabase
  const encryptionKey = config.encryptionKey === undefined ? undefined : Redacted.make(config.encryptionKey)
  if (isPostgres(database)) {
    const store = PostgresStore.layer({ url: Redacted.make(database), encryptionKey })
    return PostgresWake.layer.pipe(Layer.provideMerge(store))
  }
  const store = database === "memory" ? MemoryStore.layer : SqliteStore.layer({ filename: database, encryptionKey })
  return Layer.merge(store, Wake.layerLocal)
}
