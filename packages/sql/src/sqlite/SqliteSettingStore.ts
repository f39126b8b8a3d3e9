/**
 * Settings on SQLite.
 */
import { SettingStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { failAs } from "../StoreFailure.ts"
import { insertSetting, settingByName } from "./statements/SettingStatements.ts"

interface SettingRow {
  readonly value: string
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  return SettingStore.of({
    getOrCreate: Effect.fnUntraced(
      function* (name, candidate) {
        const [created] = yield* sql.unsafe<SettingRow>(insertSetting, [name, candidate])
        if (created !== undefined) return { value: created.value, created: true }
        const [found] = yield* sql.unsafe<SettingRow>(settingByName, [name])
        return { value: found?.value ?? candidate, created: false }
      },
      sql.withTransaction,
      failAs("SettingStore.getOrCreate")
    )
  })
})

export const layer: Layer.Layer<SettingStore, never, SqlClient.SqlClient> = Layer.effect(SettingStore, make)
