/**
 * All storage on one SQLite file.
 */
import { StoreHealth } from "@doorhook/core"
import { Clock, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlite } from "../Dialect.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { failAs } from "../StoreFailure.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import * as KnownIntegrations from "./KnownIntegrations.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteDatabase from "./SqliteDatabase.ts"
import * as SqliteDeliveryStore from "./SqliteDeliveryStore.ts"
import { takeSpace } from "./SqliteFile.ts"
import * as SqliteTokenWrites from "./SqliteTokenWrites.ts"
import { SqliteTurns } from "./SqliteTurns.ts"

export interface SqliteStoreConfig extends SqliteClientConfig {
  /**
   * Key that encrypts the signing secrets of integrations, of any length. Without a key, secrets are stored in clear.
   */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

const { put } = settingStatements(sqlite)

/**
 * Adds the probe. A small change alone would not detect a full disk, because it fits into the log as long as the log is
 * shorter than it was before.
 */
const health = Effect.gen(function* () {
  const turns = yield* SqliteTurns
  const write = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const run = () => turns.prepare(put).run("health_probe", String(now))
    return turns.change({ run, isDurable: false, rows: 1 })
  })
  const space = Effect.try({ try: () => takeSpace(turns.location), catch: (cause) => cause })
  return { ...(yield* StoreHealth), probe: failAs("StoreHealth.probe")(Effect.andThen(space, write)) }
})

/**
 * Provides all storage ports on a file, and its `StoreHealth`. Creates a missing file, and migrates an older one.
 *
 * The file belongs to this process, which keeps leases and workers in memory, shared by all its stores on the file.
 * Deliveries that were leased when a process ended are due again when the next process opens the file.
 */
export const layer = (config: SqliteStoreConfig): Layer.Layer<SqlStore.Stores, DatabaseUnusable> =>
  KnownIntegrations.remembered.pipe(
    Layer.provideMerge(
      SqlStore.layer({
        dialect: sqlite,
        database: config.filename,
        encryptionKey: config.encryptionKey,
        tokenWrites: SqliteTokenWrites.layer,
        deliveries: (reader) =>
          SqliteDeliveryStore.layer.pipe(
            SqliteDatabase.orUnusable(config.filename),
            Layer.provideMerge(KnownIntegrations.KnownIntegrations.layer(reader))
          )
      })
    ),
    Layer.merge(Layer.effect(StoreHealth, health)),
    Layer.provide(SqliteDatabase.layer(config))
  )
