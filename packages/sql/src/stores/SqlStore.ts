/**
 * Combines all storage ports on one database.
 */
import type {
  ClientStore,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  SettingStore,
  TokenStore
} from "@doorhook/core"
import { BuildingMoves } from "@doorhook/core"
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Dialect } from "../Dialect.ts"
import { sqlite } from "../Dialect.ts"
import type { IntegrationReader } from "../IntegrationReader.ts"
import * as IntegrationReaders from "../IntegrationReader.ts"
import type { SecretBox } from "../SecretBox.ts"
import * as SecretBoxes from "../SecretBox.ts"
import type { ReadConnection } from "../ReadConnection.ts"
import { marks } from "../move/MovedTables.ts"
import { readSealed } from "../statements/SealedSecrets.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import type { Cancellations } from "./Cancellations.ts"
import type { IntegrationLocks } from "./SqlIntegrationStore.ts"
import * as SqlClientStore from "./SqlClientStore.ts"
import * as SqlIdempotencyStore from "./SqlIdempotencyStore.ts"
import * as SqlIntegrationStore from "./SqlIntegrationStore.ts"
import * as SqlSettingStore from "./SqlSettingStore.ts"
import * as SqlTokenStore from "./SqlTokenStore.ts"
import type { TokenWrites } from "./SqlTokenStore.ts"

/** All storage ports. */
export type Stores = DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore

/** Refuses a file from which buildings are leaving. On PostgreSQL, their deliveries were taken away from the workers. */
const checkLeaving = Effect.fnUntraced(function* (dialect: Dialect, database: string) {
  if (dialect !== sqlite) return
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* Effect.mapError(
    sql.unsafe<{ readonly value: string }>(settingStatements(dialect).byName, [BuildingMoves.movesName]),
    (cause) => new DatabaseUnusable({ database, why: "failed", explanation: cause.message, cause })
  )
  const leaving = BuildingMoves.decodeMoves(row?.value ?? null)?.find(({ isDone, way }) => way === "out" && !isDone)
  if (leaving === undefined) return
  const explanation = `the move of buildings ${BuildingMoves.rangesText(leaving.buildings)} to ${leaving.other} is not complete. Repeat the same doorhook move, which continues it.`
  return yield* new DatabaseUnusable({ database, why: "moved", explanation })
})

/** Refuses a database that was moved to another one, or is the target of a move that is not complete. */
const checkMarks = Effect.fnUntraced(function* (dialect: Dialect, database: string) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* Effect.mapError(
    Effect.filter(Object.values(marks), (name) =>
      Effect.map(sql.unsafe(settingStatements(dialect).byName, [name]), (rows) => rows.length > 0)
    ),
    (cause) => new DatabaseUnusable({ database, why: "failed", explanation: cause.message, cause })
  )
  if (found.length === 0) return yield* checkLeaving(dialect, database)
  const explanation = found.includes(marks.target)
    ? "a move to it is not complete. Repeat the same doorhook move, which continues it."
    : "it was moved to another database (doorhook move). Start on that one."
  return yield* new DatabaseUnusable({ database, why: "moved", explanation })
})

/** Checks the encryption key at start instead of when the first delivery is signed. */
const checkSecrets = Effect.fnUntraced(function* (dialect: Dialect, secrets: SecretBox, database: string) {
  const failed = (cause: Error) =>
    new DatabaseUnusable({ database, why: "sealed_secrets", explanation: cause.message, cause })
  const sealed = yield* Effect.mapError(readSealed(yield* SqlClient.SqlClient, dialect), failed)
  yield* Effect.mapError(SecretBoxes.checkKey(secrets, sealed), failed)
})

interface AuthorizationOptions<R> {
  readonly dialect: Dialect
  /** Name of the database for error messages. */
  readonly database: string
  readonly encryptionKey: Redacted.Redacted<string> | undefined
  /** This database's implementation of token changes. */
  readonly tokenWrites: Layer.Layer<TokenWrites, never, R>
}

/** Provides clients, grants, tokens and settings. */
export const authorizationLayer = <R>({
  database,
  dialect,
  encryptionKey,
  tokenWrites
}: AuthorizationOptions<R>): Layer.Layer<
  TokenStore | ClientStore | SettingStore,
  DatabaseUnusable,
  SqlClient.SqlClient | ReadConnection | R
> => {
  const secrets = SecretBoxes.make(encryptionKey)
  return Layer.mergeAll(
    Layer.provide(SqlTokenStore.layer(dialect), tokenWrites),
    SqlClientStore.layer(dialect),
    SqlSettingStore.layer(dialect, secrets),
    Layer.effectDiscard(checkSecrets(dialect, secrets, database)),
    Layer.effectDiscard(checkMarks(dialect, database))
  )
}

/** Provides all storage ports. */
export const layer = <A, R>(
  options: AuthorizationOptions<R> & {
    /** This database's implementation of the delivery store and of the services for changing integrations. */
    readonly deliveries: (
      reader: IntegrationReader
    ) => Layer.Layer<DeliveryStore | Cancellations | IntegrationLocks | A, DatabaseUnusable, R>
    /** How long cached integrations of a scope may be used, in milliseconds; 0 to disable the cache. */
    readonly matchesFor?: number
  }
): Layer.Layer<Stores | A, DatabaseUnusable, SqlClient.SqlClient | ReadConnection | R> => {
  const { deliveries, dialect, encryptionKey, matchesFor = 0 } = options
  const secrets = SecretBoxes.make(encryptionKey)
  const reader = IntegrationReaders.make(secrets)
  return Layer.mergeAll(
    SqlIntegrationStore.layer(dialect, secrets, reader, matchesFor),
    SqlIdempotencyStore.layer(dialect),
    authorizationLayer(options)
  ).pipe(Layer.provideMerge(deliveries(reader)))
}
