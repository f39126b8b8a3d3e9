/**
 * The whole store on one SQLite file.
 */
import type { DeliveryStore, IntegrationStore, SettingStore, TokenStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { SecretBox } from "../SecretBox.ts"
import * as SecretBoxes from "../SecretBox.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteDatabase from "./SqliteDatabase.ts"
import * as SqliteDeliveryStore from "./SqliteDeliveryStore.ts"
import * as SqliteIntegrationStore from "./SqliteIntegrationStore.ts"
import * as SqliteSettingStore from "./SqliteSettingStore.ts"
import * as SqliteTokenStore from "./SqliteTokenStore.ts"
import { anySealedSecret } from "./statements/IntegrationStatements.ts"

export interface SqliteStoreConfig extends SqliteClientConfig {
  /** Seals the signing secrets of integrations. Without it they are stored readable. Of any length. */
  readonly encryptionKey?: Redacted.Redacted<string> | undefined
}

/** Sealed secrets need their key at once, not when the first delivery is signed. */
const checkSecrets = Effect.fnUntraced(function* (secrets: SecretBox, database: string) {
  const sql = yield* SqlClient.SqlClient
  const failed = (cause: Error) =>
    new DatabaseUnusable({ database, why: "sealed_secrets", explanation: cause.message, cause })
  const rows = yield* sql
    .unsafe<{ readonly signing_secret: string }>(anySealedSecret, [`${SecretBoxes.sealedPrefix}%`])
    .pipe(Effect.mapError(failed))
  for (const { signing_secret } of rows) yield* Effect.mapError(secrets.open(signing_secret), failed)
})

/**
 * All storage ports on a file, which is made when there is none and brought up to date when it is older.
 *
 * Several processes may use one file, each waiting while another writes; one process is faster than several.
 */
export const layer = (
  config: SqliteStoreConfig
): Layer.Layer<DeliveryStore | IntegrationStore | TokenStore | SettingStore, DatabaseUnusable> => {
  const secrets = SecretBoxes.make(config.encryptionKey)
  return Layer.mergeAll(
    SqliteDeliveryStore.layer(secrets),
    SqliteIntegrationStore.layer(secrets),
    SqliteTokenStore.layer,
    SqliteSettingStore.layer,
    Layer.effectDiscard(checkSecrets(secrets, config.filename))
  ).pipe(Layer.provide(SqliteDatabase.layer(config)))
}
