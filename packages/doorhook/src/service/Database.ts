/**
 * Opens the configured database, and provides its stores and wake signals.
 */
import {
  ClientStore,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  MemoryStore,
  SettingStore,
  StoreClock,
  StoreHealth,
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

/** The default database. */
export const defaultDatabase = "doorhook.db"

/** Whether a setting names a PostgreSQL database, which any number of processes can share. */
export const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/.test(database)

/** Whether a setting names a SQLite file, from which only one process can deliver. */
export const isFile = (database: string): boolean => database !== "memory" && !isPostgres(database)

type Services =
  | DeliveryStore
  | IntegrationStore
  | IdempotencyStore
  | TokenStore
  | ClientStore
  | SettingStore
  | WakeSignal

/** Picks the stores, their health, clock and wake signals. Leaves out the SQL client, because an Effect application might have its own. */
const services = Context.pick(
  DeliveryStore,
  IntegrationStore,
  IdempotencyStore,
  TokenStore,
  ClientStore,
  SettingStore,
  StoreClock,
  StoreHealth,
  WakeSignal
)

/** Imports the PostgreSQL stores on demand, because loading them would slow down every start on a SQLite file. */
const postgresStores = Effect.promise(() => import("@doorhook/sql/postgres"))

const postgresLayer = (
  url: Redacted.Redacted,
  encryptionKey: Redacted.Redacted | undefined,
  timeout: number | undefined
): Layer.Layer<Services, DatabaseUnusable> =>
  Layer.unwrap(
    Effect.map(postgresStores, ({ PostgresStore, PostgresWakeSignal }) =>
      Layer.effectContext(
        PostgresWakeSignal.layer.pipe(
          Layer.provideMerge(PostgresStore.layer({ url, encryptionKey, timeout })),
          Layer.build,
          Effect.map(services)
        )
      )
    )
  )

/** Takes clients, grants, tokens and secrets from the database that cells share, and everything else from the cell's own. */
const withShared = (
  own: Layer.Layer<Services, DatabaseUnusable>,
  url: Redacted.Redacted,
  encryptionKey: Redacted.Redacted | undefined,
  timeout: number | undefined
): Layer.Layer<Services, DatabaseUnusable> =>
  Layer.unwrap(
    Effect.map(postgresStores, ({ PostgresStore }) =>
      Layer.effectContext(
        Effect.gen(function* () {
          const cell = yield* Layer.build(own)
          const shared = yield* Layer.build(PostgresStore.authorizationLayer({ url, encryptionKey, timeout }))
          const { getOrCreateSecret, replaceSecret } = Context.get(shared, SettingStore)
          return Context.merge(cell, Context.pick(TokenStore, ClientStore)(shared)).pipe(
            Context.add(SettingStore, { ...Context.get(cell, SettingStore), getOrCreateSecret, replaceSecret }),
            Context.add(StoreHealth, {
              ...Context.get(cell, StoreHealth),
              probeShared: Context.get(shared, StoreHealth).probe
            })
          )
        })
      )
    )
  )

export const layer = (
  config: Pick<
    EngineConfig,
    "acceptLostFrames" | "authorizationDatabase" | "database" | "databaseTimeout" | "encryptionKey"
  > & {
    /** Fails when this process must stop using the file. */
    readonly evicted?: Effect.Effect<never, StoreLost>
  }
): Layer.Layer<Services, DatabaseUnusable | InvalidConfig> =>
  Layer.unwrap(
    Effect.map(
      Effect.fromResult(collect({ encryptionKey: encryptionKeyOf(config), timeout: databaseTimeoutOf(config) })),
      ({ encryptionKey, timeout }): Layer.Layer<Services, DatabaseUnusable> => {
        const { authorizationDatabase: shared, database = defaultDatabase } = config
        const sharing = (own: Layer.Layer<Services, DatabaseUnusable>) =>
          shared === undefined ? own : withShared(own, Redacted.make(shared), encryptionKey, timeout)
        if (isPostgres(database)) return sharing(postgresLayer(Redacted.make(database), encryptionKey, timeout))
        const store =
          database === "memory"
            ? MemoryStore.layer
            : SqliteStore.layer({
                filename: database,
                encryptionKey,
                acceptLostFrames: config.acceptLostFrames,
                evicted: config.evicted
              })
        return sharing(Layer.merge(store, WakeSignal.layerLocal))
      }
    )
  )
