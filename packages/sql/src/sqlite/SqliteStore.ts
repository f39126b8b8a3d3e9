/**
 * All storage on one SQLite file.
 */
import { DeliveryStore, StoreHealth } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlite } from "../Dialect.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { failAs } from "../StoreFailure.ts"
import type { SqlError } from "effect/sql"
import { Cancellations } from "../stores/Cancellations.ts"
import { IntegrationLocks } from "../stores/SqlIntegrationStore.ts"
import { makeCancellations } from "./Cancellations.ts"
import { makeClaim } from "./Claim.ts"
import { makeEnqueue } from "./Enqueue.ts"
import { makeFileOwner } from "./FileOwner.ts"
import { makeRecords } from "./Records.ts"
import { makeRedeliver } from "./Redeliver.ts"
import { makeSettle } from "./Settle.ts"
import * as SqlStore from "../stores/SqlStore.ts"
import * as IntegrationCache from "./IntegrationCache.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteDatabase from "./SqliteDatabase.ts"
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
 * The delivery store, made of synchronous functions and prepared statements. Each call is one change of `SqliteTurns`.
 *
 * `Enqueue` stores events, `Claim` leases deliveries, `Settle` records attempts, `Redeliver` makes deliveries due
 * again, `Cancellations` cancels the deliveries of an integration, `Records` reads and purges. They share the memory of
 * the file's `FileOwner`. Core's `delivery/Transitions` decides state changes, and `delivery/HealthRules` the consequences
 * for integrations.
 */
const deliveryStore: Layer.Layer<
  DeliveryStore | Cancellations | IntegrationLocks,
  SqlError.SqlError,
  SqliteTurns | IntegrationCache.IntegrationCache
> = Layer.effectContext(
  Effect.gen(function* () {
    const owner = yield* makeFileOwner
    const cancellations = yield* makeCancellations(owner)
    const enqueue = makeEnqueue(owner)
    const claim = makeClaim(owner)
    const store = DeliveryStore.of({
      enqueue: enqueue.enqueue,
      claim: claim.claim,
      ...makeSettle(owner, cancellations),
      redeliver: makeRedeliver(owner, cancellations),
      heartbeat: (beat) =>
        Effect.tap(owner.heartbeat(beat), () =>
          owner.state.cancellations.size > 0 ? cancellations.resume : Effect.void
        ),
      ...makeRecords(owner, cancellations, enqueue, claim)
    })
    return Context.make(DeliveryStore, store).pipe(
      Context.add(Cancellations, cancellations.service),
      // No locks are needed: only one transaction writes at a time.
      Context.add(IntegrationLocks, { forChange: () => Effect.void, scope: () => Effect.void })
    )
  })
)

/**
 * Provides all storage ports on a file, and its `StoreHealth`. Creates a missing file, and migrates an older one.
 *
 * The file belongs to this process, which keeps leases and workers in memory, shared by all its stores on the file.
 * Deliveries that were leased when a process ended are due again when the next process opens the file.
 */
export const layer = (config: SqliteStoreConfig): Layer.Layer<SqlStore.Stores, DatabaseUnusable> =>
  IntegrationCache.remembered.pipe(
    Layer.provideMerge(
      SqlStore.layer({
        dialect: sqlite,
        database: config.filename,
        encryptionKey: config.encryptionKey,
        tokenWrites: SqliteTokenWrites.layer,
        deliveries: (reader) =>
          deliveryStore.pipe(
            SqliteDatabase.orUnusable(config.filename),
            Layer.provideMerge(IntegrationCache.IntegrationCache.layer(reader))
          )
      })
    ),
    Layer.merge(Layer.effect(StoreHealth, health)),
    Layer.provide(SqliteDatabase.layer(config))
  )
