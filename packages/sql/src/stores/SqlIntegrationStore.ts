/**
 * Integrations in a SQL database.
 */
import type { Integration, Scope, UnreadableMatch } from "@doorhook/core"
import { IntegrationId, IntegrationStore, KeyTaken, LimitReached, Standing } from "@doorhook/core"
import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { DeliveryTables } from "../DeliveryTables.ts"
import type { Dialect } from "../Dialect.ts"
import type { IntegrationReader, IntegrationUnreadable } from "../IntegrationReader.ts"
import type { IntegrationRow, LocatedRow } from "../IntegrationRows.ts"
import { bindingsOf, failingOf, locatedFromRow, toValues } from "../IntegrationRows.ts"
import type { SecretBox } from "../SecretBox.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { SqlReads } from "../SqlReads.ts"
import { failAs, storeErrorOf } from "../StoreFailure.ts"
import { takeKeys } from "./Keys.ts"
import { Endings } from "./Endings.ts"
import { explain, makeTelling } from "./Telling.ts"

const make = Effect.fnUntraced(function* (dialect: Dialect, secrets: SecretBox, reader: IntegrationReader) {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* SqlReads
  const tables = yield* DeliveryTables
  const endings = yield* Endings
  const statements = integrationStatements(dialect)

  const countOf = ({ id, type }: Scope) =>
    Effect.map(sql.unsafe<{ readonly count: number }>(statements.countOfScope, [type, id]), ([row]) => row?.count ?? 0)

  const surveyed = (row: IntegrationRow) =>
    Effect.map(reader.read(row), (integration) => ({ integration, failing: failingOf(row) }))

  const surveyedIfReadable = (row: IntegrationRow) =>
    Effect.catchTag(surveyed(row), "IntegrationUnreadable", ({ why }) =>
      Effect.map(locatedFromRow(row), ({ id, scope }) => ({ id, scope, unreadable: why }))
    )

  const isTimeToTell = makeTelling()

  /** As much of one that can't be read as events are matched with; says so where that is not enough to send them later. */
  const matchOf = Effect.fnUntraced(function* (row: IntegrationRow, cause: IntegrationUnreadable) {
    const located = yield* locatedFromRow(row)
    const bindings = Option.getOrNull(bindingsOf(row))
    const fault = { name: `integration ${row.id}`, cause }
    if (bindings === null && isTimeToTell(fault, yield* Clock.currentTimeMillis)) {
      yield* Effect.logError(
        "Events of an integration whose bindings can't be read are stored as skipped. " +
          `Recover it since this time once its row is put right. ${explain(fault)}`
      )
    }
    const status = row.status === "disabled" ? "disabled" : "enabled"
    return { ...located, status, bindings, unreadable: cause.why } satisfies UnreadableMatch
  })

  const matchable = (row: IntegrationRow) =>
    Effect.catchTag(reader.read(row), "IntegrationUnreadable", (cause) => matchOf(row, cause))

  const changeTo = Effect.fnUntraced(function* (integration: Integration, expectedVersion: number) {
    const { id, status } = integration
    yield* tables.lockForChange(id)
    const updated = yield* sql.unsafe(statements.update, [...toValues(integration, secrets), id, expectedVersion])
    if (updated.length === 0) return false
    if (status === "enabled") yield* endings.finish(id)
    else yield* endings.begin(id, Standing.reasonOfDisabled(integration))
    return true
  })

  const removeOne = Effect.fnUntraced(function* ({ id, version }: Pick<Integration, "id" | "version">) {
    const removed = yield* sql.unsafe(statements.remove, [id, version])
    if (removed.length === 0) return false
    yield* endings.begin(id, "integration_deleted")
    return true
  })

  return IntegrationStore.of({
    create: Effect.fnUntraced(
      function* (integration, key, limit) {
        const { scope } = integration
        if (limit !== undefined) yield* tables.lockScope(scope)
        const values = toValues(integration, secrets)
        const [row] = yield* sql.unsafe<{ readonly id: number }>(statements.insert, values)
        const id = IntegrationId.make(row?.id ?? 0)
        if (key !== undefined) yield* takeKeys(tables, [{ ...key, answer: String(id) }])
        if (limit !== undefined && (yield* countOf(scope)) > limit) return yield* new LimitReached({ scope, limit })
        return { id, ...integration }
      },
      sql.withTransaction,
      Effect.mapError((cause) =>
        cause instanceof KeyTaken || cause instanceof LimitReached
          ? cause
          : storeErrorOf("IntegrationStore.create", cause)
      )
    ),

    find: Effect.fnUntraced(function* (id) {
      const [row] = yield* reads.rows<IntegrationRow>(statements.byId, [id])
      return row === undefined ? null : yield* reader.read(row)
    }, failAs("IntegrationStore.find")),

    locate: Effect.fnUntraced(function* (id) {
      const [row] = yield* reads.rows<LocatedRow>(statements.locate, [id])
      return row === undefined ? null : yield* locatedFromRow(row)
    }, failAs("IntegrationStore.locate")),

    list: Effect.fnUntraced(
      function* (scope, { limit, offset }) {
        const rows = yield* sql.unsafe<IntegrationRow>(statements.pageOfScope, [scope.type, scope.id, limit, offset])
        return { items: yield* reader.readAll(rows), total: yield* countOf(scope) }
      },
      sql.withTransaction,
      failAs("IntegrationStore.list")
    ),

    update: Effect.fnUntraced(function* (integration: Integration, expectedVersion) {
      const { id, status } = integration
      if (status === "enabled") yield* endings.prepare(id)
      const updated = yield* sql.withTransaction(changeTo(integration, expectedVersion))
      if (updated && status === "disabled") yield* endings.goOn
      return updated
    }, failAs("IntegrationStore.update")),

    remove: Effect.fnUntraced(function* (found) {
      const removed = yield* sql.withTransaction(removeOne(found))
      if (removed) yield* endings.goOn
      return removed
    }, failAs("IntegrationStore.remove")),

    ofScopes: Effect.fnUntraced(function* ({ buildings, tenants }) {
      const lists = [dialect.ids(buildings), dialect.ids(tenants)]
      const rows = yield* sql.unsafe<IntegrationRow>(statements.ofScopes, lists)
      return yield* Effect.catchTag(reader.readAll(rows), "IntegrationUnreadable", () =>
        Effect.forEach(rows, matchable)
      )
    }, failAs("IntegrationStore.ofScopes")),

    survey: Effect.fnUntraced(function* ({ after, limit, status }) {
      const rows =
        status === "enabled" || status === "disabled"
          ? sql.unsafe<IntegrationRow>(statements.surveyOfStatus, [after, status, limit])
          : sql.unsafe<IntegrationRow>(status === undefined ? statements.survey : statements.surveyOfTroubled, [
              after,
              limit
            ])
      return yield* Effect.forEach(yield* rows, surveyedIfReadable)
    }, failAs("IntegrationStore.survey")),

    surveyOne: Effect.fnUntraced(function* (id) {
      const [row] = yield* sql.unsafe<IntegrationRow>(statements.byId, [id])
      return row === undefined ? null : yield* surveyed(row)
    }, failAs("IntegrationStore.surveyOne"))
  })
})

export const layer = (
  dialect: Dialect,
  secrets: SecretBox,
  reader: IntegrationReader
): Layer.Layer<IntegrationStore, never, SqlClient.SqlClient | SqlReads | DeliveryTables | Endings> =>
  Layer.effect(IntegrationStore, make(dialect, secrets, reader))
