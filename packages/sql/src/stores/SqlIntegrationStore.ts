/**
 * Integrations in a SQL database.
 */
import type { ClientId, Integration, Scope, StatusFilter } from "@doorhook/core"
import {
  GrantId,
  IntegrationId,
  IntegrationStore,
  IdempotencyConflict,
  isSearch,
  isSubscribed,
  isUnreadable,
  LimitReached,
  matchesSearch,
  Transitions
} from "@doorhook/core"
import { Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import type { IntegrationReader, IntegrationUnreadable } from "../IntegrationReader.ts"
import type { IntegrationRow, LocatedRow } from "../IntegrationRows.ts"
import { bindingsOf, failingOf, locatedFromRow, toValues } from "../IntegrationRows.ts"
import type { SecretBox } from "../SecretBox.ts"
import { ReadConnection } from "../ReadConnection.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { failAs, storeErrorOf } from "../StoreFailure.ts"
import { Cancellations } from "./Cancellations.ts"
import type { Scopes } from "./ScopeCache.ts"
import { ScopeCache } from "./ScopeCache.ts"
import { makeTakeKeys } from "./SqlIdempotencyStore.ts"

/**
 * Locks for changes of integrations, in the caller's transaction. On SQLite they do nothing, because transactions run
 * one at a time.
 */
export class IntegrationLocks extends Context.Service<
  IntegrationLocks,
  {
    /**
     * Locks an integration for change: waits for earlier publications, and makes later ones wait until the transaction
     * ends.
     */
    readonly forChange: (id: IntegrationId) => Effect.Effect<void, SqlError.SqlError>
    /** Prevents others from creating integrations of a scope until the transaction ends. */
    readonly scope: (scope: Scope) => Effect.Effect<void, SqlError.SqlError>
  }
>()("@doorhook/sql/IntegrationLocks") {}

/** Number of rows to read at a time when searching. The search compares them here, by the same rule in all stores. */
const searchedRows = 1_000

const none = Effect.succeed(null)
const asFind = failAs("IntegrationStore.find")
const asFindRef = failAs("IntegrationStore.findRef")

const make = Effect.fnUntraced(function* (
  dialect: Dialect,
  secrets: SecretBox,
  reader: IntegrationReader,
  matchesFor: number
) {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* ReadConnection
  const locks = yield* IntegrationLocks
  const endings = yield* Cancellations
  const statements = integrationStatements(dialect)
  const takeKeys = makeTakeKeys(sql, dialect)

  const counted = (statement: string, params: ReadonlyArray<string | number | null>) =>
    Effect.map(sql.unsafe<{ readonly count: number }>(statement, params), ([row]) => row?.count ?? 0)

  const countOf = ({ id, type }: Scope, client?: ClientId) =>
    client === undefined
      ? counted(statements.countOfScope, [type, id])
      : counted(statements.countOfClient, [type, id, client])

  const survey = (status: StatusFilter | undefined, after: IntegrationId | 0, limit: number) =>
    status === "enabled" || status === "disabled"
      ? sql.unsafe<IntegrationRow>(statements.surveyOfStatus, [after, status, limit])
      : sql.unsafe<IntegrationRow>(status === undefined ? statements.survey : statements.listUnhealthy, [after, limit])

  const surveyed = (row: IntegrationRow) =>
    Effect.map(reader.read(row), (integration) => ({ integration, failing: failingOf(row) }))

  const unreadable = (row: IntegrationRow, { why }: IntegrationUnreadable) =>
    Effect.map(locatedFromRow(row), ({ id, scope, version }) => ({
      id,
      scope,
      version,
      bindings: bindingsOf(row),
      unreadable: why
    }))

  const surveyedIfReadable = (row: IntegrationRow) =>
    Effect.catchTag(surveyed(row), "IntegrationUnreadable", (cause) => unreadable(row, cause))

  const matchable = (row: IntegrationRow) =>
    Effect.catchTag(reader.read(row), "IntegrationUnreadable", (cause) => unreadable(row, cause))

  const scopes = new ScopeCache()

  const readScopes = Effect.fnUntraced(function* ({ buildings, tenants }: Scopes) {
    const params = [dialect.ids(buildings), dialect.ids(tenants)]
    const rows = yield* sql.unsafe<IntegrationRow>(statements.findByScopes, params)
    const read = yield* Effect.result(reader.readAll(rows))
    return Result.isSuccess(read) ? read.success : yield* Effect.forEach(rows, matchable)
  })

  const changeTo = Effect.fnUntraced(function* (integration: Integration, expectedVersion: number) {
    const { id, status } = integration
    yield* locks.forChange(id)
    const updated = yield* sql.unsafe(statements.update, [...toValues(integration, secrets), id, expectedVersion])
    if (updated.length === 0) return false
    if (status === "enabled") yield* endings.finish(id)
    else yield* endings.begin(id, Transitions.reasonOfDisabled(integration))
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
        const { scope, subscription } = integration
        if (limit !== undefined) yield* locks.scope(scope)
        const values = toValues(integration, secrets)
        const [row] = yield* sql.unsafe<{ readonly id: number }>(statements.insert, values)
        const id = IntegrationId.make(row?.id ?? 0)
        if (key !== undefined) yield* takeKeys([{ ...key, answer: String(id) }])
        const ofKind = counted(statements.countOfKind, [scope.type, scope.id, subscription?.grant_id ?? null])
        if (limit !== undefined && (yield* ofKind) > limit) return yield* new LimitReached({ scope, limit })
        return { id, ...integration }
      },
      sql.withTransaction,
      Effect.mapError((cause) =>
        cause instanceof IdempotencyConflict || cause instanceof LimitReached
          ? cause
          : storeErrorOf("IntegrationStore.create", cause)
      )
    ),

    find: (id) =>
      asFind(
        Effect.flatMapEager(reads.row<IntegrationRow>(statements.byId, { column: "id", value: id }), (row) =>
          row === undefined ? none : reader.read(row)
        )
      ),

    findRef: (id) =>
      asFindRef(
        Effect.flatMapEager(reads.rows<LocatedRow>(statements.locate, [id]), ([row]) =>
          row === undefined ? none : locatedFromRow(row)
        )
      ),

    list: Effect.fnUntraced(
      function* (scope, { client_id, limit, offset }) {
        const { id, type } = scope
        const [statement, of] =
          client_id === undefined
            ? [statements.pageOfScope, [type, id]]
            : [statements.pageOfClient, [type, id, client_id]]
        const rows = yield* sql.unsafe<IntegrationRow>(statement, [...of, limit, offset])
        return { items: yield* reader.readAll(rows), total: yield* countOf(scope, client_id) }
      },
      sql.withTransaction,
      failAs("IntegrationStore.list")
    ),

    update: Effect.fnUntraced(function* (integration: Integration, expectedVersion) {
      const { id, status } = integration
      if (status === "enabled") yield* endings.prepare(id)
      const updated = yield* sql.withTransaction(changeTo(integration, expectedVersion))
      if (updated && status === "disabled") yield* endings.resume
      return updated
    }, failAs("IntegrationStore.update")),

    remove: Effect.fnUntraced(function* (found) {
      const removed = yield* sql.withTransaction(removeOne(found))
      if (removed) yield* endings.resume
      return removed
    }, failAs("IntegrationStore.remove")),

    findByScopes: ({ cached = false, ...of }) =>
      Effect.suspend(() => {
        if (matchesFor === 0) return readScopes(of)
        return scopes.find(of, cached ? performance.now() - matchesFor : Number.POSITIVE_INFINITY, readScopes)
      }).pipe(failAs("IntegrationStore.findByScopes")),

    listAll: Effect.fnUntraced(function* ({ after, limit, status, ...search }) {
      const found: Array<IntegrationRow> = []
      const size = isSearch(search) ? searchedRows : limit
      for (let last: IntegrationId | 0 | undefined = after; last !== undefined && found.length < limit;) {
        const rows: ReadonlyArray<IntegrationRow> = yield* survey(status, last, size)
        for (const row of rows) {
          if (matchesSearch({ client_id: row.created_by_client, name: row.name, url: row.url }, search)) found.push(row)
        }
        last = rows.length < size ? undefined : rows.at(-1)?.id
      }
      return yield* Effect.forEach(found.slice(0, limit), surveyedIfReadable)
    }, failAs("IntegrationStore.listAll")),

    subscriptions: Effect.fnUntraced(function* ({ grant_id, id }, limit) {
      const rows = yield* sql.unsafe<IntegrationRow>(statements.subscriptions, [grant_id, id, limit])
      const read = yield* Effect.forEach(rows, matchable)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        items: read.flatMap((one) => (isUnreadable(one) || !isSubscribed(one) ? [] : [one])),
        next: last === undefined ? null : { grant_id: GrantId.make(last.grant_id ?? ""), id: last.id }
      }
    }, failAs("IntegrationStore.subscriptions")),

    findWithHealth: Effect.fnUntraced(function* (id) {
      const row = yield* reads.row<IntegrationRow>(statements.byId, { column: "id", value: id })
      return row === undefined ? null : yield* surveyed(row)
    }, failAs("IntegrationStore.findWithHealth"))
  })
})

export const layer = (
  dialect: Dialect,
  secrets: SecretBox,
  reader: IntegrationReader,
  matchesFor: number
): Layer.Layer<IntegrationStore, never, SqlClient.SqlClient | ReadConnection | IntegrationLocks | Cancellations> =>
  Layer.effect(IntegrationStore, make(dialect, secrets, reader, matchesFor))
