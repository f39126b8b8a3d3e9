/**
 * Settings in a SQL database.
 */
import { SettingStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import type { SecretBox } from "../SecretBox.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { failAs } from "../StoreFailure.ts"

interface SettingRow {
  readonly value: string
}

const make = Effect.fnUntraced(function* (dialect: Dialect, secrets: SecretBox) {
  const sql = yield* SqlClient.SqlClient
  const statements = settingStatements(dialect)

  const find = (name: string) =>
    Effect.map(sql.unsafe<SettingRow>(statements.byName, [name]), ([found]) => found?.value)

  const insertOrFind = Effect.fnUntraced(function* (name: string, candidate: string) {
    const [created] = yield* sql.unsafe<SettingRow>(statements.insert, [name, candidate])
    if (created !== undefined) return { value: created.value, created: true }
    return { value: (yield* find(name)) ?? candidate, created: false }
  })

  /**
   * Stores a secret if there is none, or replaces one stored in clear. Returns the secret in the store, which may be
   * one that another process stored at the same time.
   */
  const supersede = Effect.fnUntraced(function* (name: string, exposed: string | undefined, sealed: string) {
    if (exposed !== undefined) yield* sql.unsafe(statements.replace, [sealed, name, exposed])
    return (yield* insertOrFind(name, sealed)).value
  }, sql.withTransaction)

  return SettingStore.of({
    getOrCreate: (name, candidate) =>
      insertOrFind(name, candidate).pipe(sql.withTransaction, failAs("SettingStore.getOrCreate")),
    find: (name) => Effect.map(find(name), (value) => value ?? null).pipe(failAs("SettingStore.find")),
    put: (name, value) =>
      sql.unsafe(statements.put, [name, value]).pipe(sql.withTransaction, Effect.asVoid, failAs("SettingStore.put")),
    // Uses no transaction if the secret exists, as it almost always does.
    getOrCreateSecret: Effect.fnUntraced(function* (name, candidate) {
      const found = yield* find(name)
      const isGood = found !== undefined && !secrets.isExposed(found)
      return yield* secrets.open(isGood ? found : yield* supersede(name, found, secrets.seal(candidate)))
    }, failAs("SettingStore.getOrCreateSecret")),
    replaceSecret: (name, secret) =>
      sql
        .unsafe(statements.put, [name, secrets.seal(secret)])
        .pipe(sql.withTransaction, Effect.asVoid, failAs("SettingStore.replaceSecret"))
  })
})

export const layer = (dialect: Dialect, secrets: SecretBox): Layer.Layer<SettingStore, never, SqlClient.SqlClient> =>
  Layer.effect(SettingStore, make(dialect, secrets))
