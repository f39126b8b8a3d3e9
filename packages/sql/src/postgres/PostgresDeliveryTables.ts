/**
 * The tables of deliveries on PostgreSQL, where many transactions run at once.
 */
import type { DeliveryId, IntegrationId } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { QueuedRow, StandingRow } from "../DeliveryRows.ts"
import type { AtOnce, Head, StateCount, TallyName } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { SqlReads } from "../SqlReads.ts"
import * as CommonTables from "../stores/CommonTables.ts"
import { startFolding } from "./Folding.ts"
import { horizon } from "./Horizon.ts"
import { lockIntegrations } from "./IntegrationLocks.ts"
import { fromStored } from "./NulText.ts"
import { attemptColumns, endedColumns, queuedColumns, standingColumns, withId } from "./DeliveryColumns.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import * as Claims from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import * as Endings from "./statements/EndingStatements.ts"
import * as Lists from "./statements/ListStatements.ts"
import * as Tallies from "./statements/TallyStatements.ts"

interface StoredAttempt {
  readonly response_excerpt: string | null
  readonly detail: string | null
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const common = CommonTables.make(sql, yield* SqlReads, postgres)
  const fold = yield* startFolding(sql)

  const insert: AtOnce["insert"] = Effect.fnUntraced(function* (records, integrations, changes) {
    const rows = records.flatMap(({ deliveries }) => deliveries)
    let at = 0
    const events = records.map(({ deliveries: { length }, event }) => {
      at += length
      return { event, first: length === 0 ? null : at - length + 1, last: length === 0 ? null : at }
    })
    const placed = rows.map((row, index) => ({ id: index + 1, row }))
    const tenants = records.flatMap(({ event }, index) =>
      Array.from(new Set(event.tenant_ids), (id) => ({ place: index + 1, id, type: event.resource_type }))
    )
    const matched = integrations.toSorted((a, b) => a.id - b.id)
    const taken = yield* sql.unsafe<{ readonly id: DeliveryId }>(Statements.insert, [
      int8s(matched.map(({ id }) => id)),
      int8s(matched.map(({ version }) => version)),
      rows.length,
      events.length,
      texts(events.map(({ event }) => event.id)),
      texts(events.map(({ event }) => event.resource_type)),
      texts(events.map(({ event }) => event.action)),
      int8s(events.map(({ event }) => event.building_id)),
      texts(events.map(({ event }) => JSON.stringify(event.tenant_ids))),
      texts(events.map(({ event }) => event.data)),
      int8s(events.map(({ event }) => event.created_at)),
      int8s(events.map(({ first }) => first)),
      int8s(events.map(({ last }) => last)),
      int8s(tenants.map(({ place }) => place)),
      int8s(tenants.map(({ id }) => id)),
      texts(tenants.map(({ type }) => type)),
      ...queuedColumns(placed.filter(({ row }) => row.due_at !== null)),
      ...endedColumns(placed.filter(({ row }) => row.due_at === null)),
      ...Tallies.countsOf(changes)
    ])
    return taken.length < rows.length ? null : taken.map(({ id }) => id)
  })

  const settle: AtOnce["settle"] = Effect.fnUntraced(function* (settled, integrations, changes) {
    // What is acknowledged ends. What goes on is stored in the other way.
    if (settled.some(({ to }) => to.due_at !== null)) return false
    const rows = settled.toSorted((a, b) => a.id - b.id)
    const moved = yield* sql.unsafe(Statements.settle, [
      int8s(rows.map(({ id }) => id)),
      texts(rows.map(({ token }) => token)),
      texts(rows.map(({ to }) => to.state)),
      texts(rows.map(({ to }) => to.reason)),
      int8s(rows.map(({ to }) => to.attempts)),
      int8s(rows.map(({ to }) => to.lane)),
      ...attemptColumns(rows.map(({ attempt }) => attempt)),
      int8s(integrations),
      ...Tallies.countsOf(changes)
    ])
    return moved.length > 0
  })

  return DeliveryTables.of({
    ...common,
    atOnce: { insert, settle },

    insert: (records, changes) => Effect.map(insert(records, [], changes), (ids) => ids ?? []),

    targets: (ids) => (ids.length === 0 ? Effect.succeed([]) : sql.unsafe(Statements.targets, [int8s(ids)])),
    lockIntegrations: (ids) => lockIntegrations(sql, ids),
    lockForChange: (id) => Effect.asVoid(sql.unsafe(Statements.lockForChange, [id])),
    lockFreeForChange: (ids) =>
      CommonTables.idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.lockFreeForChange, [int8s(ids)])),
    lockScope: ({ id, type }) => Effect.asVoid(sql.unsafe(Statements.lockScope, [`${type} ${id}`])),
    integrationsOf: (ids) =>
      CommonTables.idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.integrationsOfDeliveries, [int8s(ids)])),
    queuedStandings: (ids) => sql.unsafe<QueuedRow>(Statements.queuedStandings, [int8s(ids)]),
    endedStandings: (ids) => sql.unsafe<StandingRow>(Statements.endedStandings, [int8s(ids)]),

    requeue: (rows) => sql.unsafe(Statements.requeue, [int8s(rows.map(({ id }) => id)), ...standingColumns(rows)]),

    end: (rows) =>
      sql.unsafe(Statements.end, [
        ...endedColumns(rows.map(withId)),
        ...attemptColumns(rows.map(({ attempt }) => attempt))
      ]),

    amend: (rows) =>
      sql.unsafe(Statements.amend, [
        int8s(rows.map(({ id }) => id)),
        int8s(rows.map(({ attempts }) => attempts)),
        texts(rows.map(({ lease_token }) => lease_token)),
        ...attemptColumns(rows.map(({ attempt }) => attempt))
      ]),

    revive: Effect.fnUntraced(function* (rows) {
      yield* sql.unsafe(Statements.takeEnded, [int8s(rows.map(({ id }) => id))])
      yield* sql.unsafe(Statements.insertQueued, queuedColumns(rows.map(withId)))
    }),

    insertAttempts: (rows) =>
      sql.unsafe(Statements.insertAttempts, [
        int8s(rows.map(({ delivery_id }) => delivery_id)),
        int8s(rows.map(({ number }) => number)),
        ...attemptColumns(rows)
      ]),

    beginEnding: (id, reason) => Effect.map(sql.unsafe(Endings.beginEnding, [id, reason]), ({ length }) => length > 0),
    endings: CommonTables.idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Endings.endings)),
    takeTurn: Effect.map(sql.unsafe<{ readonly mine: boolean }>(Endings.takeTurn), ([turn]) => turn?.mine === true),
    someOfEnding: ({ after, integration, limit, state }) =>
      CommonTables.idsOf(
        sql.unsafe<{ readonly id: DeliveryId }>(Endings.someOfEnding, [integration, state, after, limit])
      ),
    restOfEnding: (id) => CommonTables.idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Endings.restOfEnding, [id])),
    endThese: (ids) => sql.unsafe<StateCount>(Endings.endThese, [int8s(ids)]),
    finishEnding: (id) => Effect.asVoid(sql.unsafe(Endings.finishEnding, [id])),

    recoverable: ({ after, integration, limit }) =>
      sql.unsafe<{ readonly id: DeliveryId; readonly created_at: number }>(Statements.recoverable, [
        integration,
        after,
        limit
      ]),

    beat: (...beating) => Effect.tap(common.beat(...beating), fold),

    addToTallies: (changes) => Effect.asVoid(sql.unsafe(Tallies.addToTallies, Tallies.countsOf(changes))),

    tallies: Effect.map(sql.unsafe<Record<TallyName, number>>(Tallies.tallies), ([sums]) =>
      Tallies.tallyNames.map((name) => ({ name, count: sums?.[name] ?? 0 }))
    ),

    dueHeads: (now) => sql.unsafe<Head>(Claims.dueHeads, [now]),
    firstDue: ({ depth, integrations, lane, now }) =>
      sql.unsafe<StandingRow>(Claims.firstDue, [int8s(integrations), lane, now, depth]),
    pause: Effect.asVoid(sql.unsafe("SELECT pg_sleep(0.003)")),
    nextDue: Effect.map(
      sql.unsafe<{ readonly due_at: number | null }>(Claims.nextDue),
      (rows) => rows[0]?.due_at ?? null
    ),
    eventsById: (ids) => sql.unsafe(Lists.eventsById, [texts(ids)]),

    deliveryById: (id) => sql.unsafe(Lists.deliveryById, [id]),
    list: (filter) => {
      const { params, text } = Lists.list(filter)
      return sql.unsafe(text, params)
    },
    feed: Effect.fnUntraced(function* (integration_id, after, limit) {
      const end = yield* horizon(sql)
      const { params, text } = Lists.list({ integration_id, limit, ...(after !== 0 && { after }) })
      const rows = yield* sql.unsafe<{ readonly id: number }>(text, params)
      return rows.filter(({ id }) => id <= end)
    }),
    newestUnacknowledged: (id, leasedUntil) =>
      Effect.map(
        sql.unsafe<{ readonly id: DeliveryId | null }>(Statements.newestUnacknowledged, [id, leasedUntil]),
        ([newest]) => newest?.id ?? null
      ),
    lastAttempts: (deliveries) =>
      Effect.map(common.lastAttempts(deliveries), (rows) =>
        rows.map((row) => ({ ...row, detail: fromStored(row.detail) }))
      ),
    attemptsOf: Effect.fnUntraced(function* (id) {
      const rows = yield* sql.unsafe<StoredAttempt>(Lists.attemptsOf, [id])
      return rows.map((row) => ({
        ...row,
        response_excerpt: fromStored(row.response_excerpt),
        detail: fromStored(row.detail)
      }))
    })
  })
})

export const layer: Layer.Layer<DeliveryTables, never, SqlClient.SqlClient | SqlReads> = Layer.effect(
  DeliveryTables,
  make
)
