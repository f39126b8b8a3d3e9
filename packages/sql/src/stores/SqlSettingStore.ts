/**
 * Settings in a SQL database.
 */
import { SettingStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { failAs } from "../StoreFailure.ts"

interface SettingRow {
  readonly value: string
}

const make = Effect.fnUntraced(function* (dialect: Dialect) {
  const sql = yield* SqlClient.SqlClient
  const statements = settingStatements(dialect)

  return SettingStore.of({
    getOrCreate: Effect.fnUntraced(
      function* (name, candidate) {
        const [created] = yield* sql.unsafe<SettingRow>(statements.insert, [name, candidate])
        if (created !== undefined) return { value: created.value, created: true }
        const [found] = yield* sql.unsafe<SettingRow>(statements.byName, [name])
        return { value: found?.value ?? candidate, created: false }
      },
      sql.withTransaction,
      failAs("SettingStore.getOrCreate")
    )
  })
})

export const layer = (dialect: Dialect): Layer.Layer<SettingStore, never, SqlClient.SqlClient> =>
  Layer.effect(SettingStore, make(dialect))
