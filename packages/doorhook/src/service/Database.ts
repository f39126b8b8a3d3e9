/**
 * The database that a setting names, with the wake signals that go with it.
 */
import {
  ClientStore,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  MemoryStore,
  SettingStore,
  TokenStore,
  WakeSignal
} from "@doorhook/core"
import type { StoreLost } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import type { DatabaseUnusable } from "@doorhook/sql"
import { Context, Effect, Layer, Redacted } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { databaseTimeoutOf } from "../config/EngineConfig.ts"
import { encryptionKeyOf } from "../config/KeySettings.ts"
import type { InvalidConfig } from "../config/ReadingSettings.ts"
import { collect } from "../config/ReadingSettings.ts"

/** The database of a process that is given none. */
export const defaultDatabase = "doorhook.db"

/** Whether a database is a server's, which any number of processes share and wake each other over. */
export const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/.test(database)

/** Whether it is a file, which one process delivers from. */
export const isFile = (database: string): boolean => database !== "memory" && !isPostgres(database)

type Services =
  | DeliveryStore
  | IntegrationStore
  | IdempotencyStore
  | TokenStore
  | ClientStore
  | SettingStore
  | WakeSignal

/** Not the client under them: a host that is written in Effect has one of its own, with settings of its own. */
const services = Context.pick(
  DeliveryStore,
  IntegrationStore,
  IdempotencyStore,
  TokenStore,
  ClientStore,
  SettingStore,
  WakeSignal
)

/** Loaded when it is called for: its client would make every start on a file slower. */
const postgresLayer = (
  url: Redacted.Redacted,
  encryptionKey: Redacted.Redacted | undefined,
  timeout: number | undefined
): Layer.Layer<Services, DatabaseUnusable> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("@doorhook/sql/postgres")),
      ({ PostgresStore, PostgresWakeSignal }) =>
        Layer.effectContext(
          PostgresWakeSignal.layer.pipe(
            Layer.provideMerge(PostgresStore.layer({ url, encryptionKey, timeout })),
            Layer.build,
            Effect.map(services)
          )
        )
    )
  )

export const layer = (
  config: Pick<EngineConfig, "database" | "databaseTimeout" | "encryptionKey"> & {
    /** Fails when this process may not use a file any more. */
    readonly evicted?: Effect.Effect<never, StoreLost>
  }
): Layer.Layer<Services, DatabaseUnusable | InvalidConfig> =>
  Layer.unwrap(
    Effect.map(
      Effect.fromResult(collect({ encryptionKey: encryptionKeyOf(config), timeout: databaseTimeoutOf(config) })),
      ({ encryptionKey, timeout }): Layer.Layer<Services, DatabaseUnusable> => {
        const { database = defaultDatabase } = config
        if (isPostgres(database)) return postgresLayer(Redacted.make(database), encryptionKey, timeout)
        const store =
          database === "memory"
            ? MemoryStore.layer
            : SqliteStore.layer({
                filename: database,
                encryptionKey,
                evicted: config.evicted
              })
        return Layer.merge(store, WakeSignal.layerLocal)
      }
    )
  )
