/**
 * Integrations on SQLite.
 */
import type { Integration } from "@doorhook/core"
import { IntegrationId, IntegrationStore, Standing } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { fromRow, toValues } from "../IntegrationRows.ts"
import type { SecretBox } from "../SecretBox.ts"
import { failAs } from "../StoreFailure.ts"
import { cancelActiveOf } from "./DeliveryTable.ts"
import * as Statements from "./statements/IntegrationStatements.ts"
import { Tally } from "./Tally.ts"

const make = Effect.fnUntraced(function* (secrets: SecretBox) {
  const sql = yield* SqlClient.SqlClient

  const fromRows = (rows: ReadonlyArray<IntegrationRow>) => Effect.forEach(rows, (row) => fromRow(row, secrets))

  return IntegrationStore.of({
    create: Effect.fnUntraced(function* (integration) {
      const values = toValues(integration, secrets)
      const [row] = yield* sql.unsafe<{ readonly id: number }>(Statements.insertIntegration, values)
      return { id: IntegrationId.make(row?.id ?? 0), ...integration }
    }, failAs("IntegrationStore.create")),

    find: Effect.fnUntraced(function* (id) {
      const rows = yield* sql.unsafe<IntegrationRow>(Statements.integrationById, [id])
      const [integration] = yield* fromRows(rows)
      return integration ?? null
    }, failAs("IntegrationStore.find")),

    list: Effect.fnUntraced(
      function* (scope, { limit, offset }) {
        const place = [scope.type, scope.id]
        const rows = yield* sql.unsafe<IntegrationRow>(Statements.pageOfScope, [...place, limit, offset])
        const [count] = yield* sql.unsafe<{ readonly count: number }>(Statements.countOfScope, place)
        return { items: yield* fromRows(rows), total: count?.count ?? 0 }
      },
      sql.withTransaction,
      failAs("IntegrationStore.list")
    ),

    update: Effect.fnUntraced(
      function* (integration: Integration, expectedVersion) {
        const values = [...toValues(integration, secrets), integration.id, expectedVersion]
        const updated = yield* sql.unsafe(Statements.updateIntegration, values)
        if (updated.length > 0 && integration.status === "disabled") {
          const tally = new Tally()
          yield* cancelActiveOf(sql, tally, integration.id, Standing.reasonOfDisabled(integration))
          yield* tally.write(sql)
        }
        return updated.length > 0
      },
      sql.withTransaction,
      failAs("IntegrationStore.update")
    ),

    remove: Effect.fnUntraced(
      function* (id) {
        const removed = yield* sql.unsafe(Statements.deleteIntegration, [id])
        if (removed.length === 0) return false
        const tally = new Tally()
        yield* cancelActiveOf(sql, tally, id, "integration_deleted")
        yield* tally.write(sql)
        return true
      },
      sql.withTransaction,
      failAs("IntegrationStore.remove")
    ),

    ofScopes: Effect.fnUntraced(function* ({ buildings, tenants }) {
      const lists = [JSON.stringify(buildings), JSON.stringify(tenants)]
      return yield* fromRows(yield* sql.unsafe<IntegrationRow>(Statements.integrationsOfScopes, lists))
    }, failAs("IntegrationStore.ofScopes"))
  })
})

export const layer = (secrets: SecretBox): Layer.Layer<IntegrationStore, never, SqlClient.SqlClient> =>
  Layer.effect(IntegrationStore, make(secrets))
