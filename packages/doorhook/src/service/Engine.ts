/**
 * The whole of doorhook for one process, put together from its packages.
 */
import {
  Authorization,
  AuthorizationSettings,
  Deliveries,
  DeliverySettings,
  Dispatcher,
  Integrations,
  MemoryStore,
  Publisher,
  Wake
} from "@doorhook/core"
import type { DeliveryStore, Directory, IntegrationStore, SettingStore, TokenStore } from "@doorhook/core"
import { NodeCrypto, NodeNameResolver, UndiciTransport } from "@doorhook/node"
import { ApiSettings, HealthSettings, OperatorKey } from "@doorhook/server"
import { SqliteStore } from "@doorhook/sql"
import { Effect, Layer, Redacted } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { deliveryOverrides, InvalidConfig } from "../config/EngineConfig.ts"

/** The database of a process that is given none. */
export const defaultDatabase = "doorhook.db"

type Store = DeliveryStore | IntegrationStore | TokenStore | SettingStore

const storeLayer = (config: EngineConfig) => {
  const database = config.database ?? defaultDatabase
  if (database === "memory") return MemoryStore.layer
  if (/^postgres(?:ql)?:/.test(database)) {
    return Layer.unwrap<Store, InvalidConfig, never, InvalidConfig, never>(
      new InvalidConfig({
        message: "PostgreSQL is not supported by this version; give a SQLite file or memory as database"
      })
    )
  }
  return SqliteStore.layer({
    filename: database,
    ...(config.encryptionKey === undefined ? {} : { encryptionKey: Redacted.make(config.encryptionKey) })
  })
}

/** Everything but HTTP: stores, rules, publishing, sending, tokens. Closing its scope drains it. */
export const layer = <E, R = never>(config: EngineConfig, directory: Layer.Layer<Directory, E, R>) => {
  const settings = Layer.unwrap(
    Effect.map(Effect.fromResult(deliveryOverrides(config)), (overrides) => DeliverySettings.layer(overrides))
  )
  const ports = Layer.mergeAll(
    storeLayer(config),
    directory,
    settings,
    UndiciTransport.layer(),
    NodeNameResolver.layer,
    Wake.layerLocal,
    AuthorizationSettings.layer()
  ).pipe(Layer.provideMerge(NodeCrypto.layer))
  const operatorKey =
    config.operatorKey === undefined ? OperatorKey.layerStored : OperatorKey.layer(Redacted.make(config.operatorKey))
  const services = Layer.mergeAll(Publisher.layer, Deliveries.layer, Integrations.layer, Authorization.layer)
  return Layer.mergeAll(services, operatorKey, ApiSettings.layer(), HealthSettings.layer()).pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(ports)
  )
}
