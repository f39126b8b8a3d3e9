/**
 * The tables of deliveries on SQLite. There, transactions that write take turns: nothing needs a lock of its own.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import type { Head, StateCount, TallyName } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { sqlite } from "../Dialect.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import * as Claims from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import * as Lists from "./statements/ListStatements.ts"

const Integrations = integrationStatements(sqlite)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ids = (values: ReadonlyArray<number>) => [JSON.stringify(values)]

  return DeliveryTables.of({
    // Rows are numbered in the order given, but SQLite does not promise to return them in it.
    insertEvents: Effect.fnUntraced(function* (events) {
      const rows = yield* Statements.insertEvents.run(
        sql,
        events.map(({ action, building_id, created_at, data, id, resource_type, tenant_ids }) => [
          id,
          resource_type,
          action,
          building_id,
          JSON.stringify(tenant_ids),
          data,
          created_at
        ])
      )
      return rows.map(({ seq }) => seq).toSorted((a, b) => a - b)
    }),

    insertDeliveries: Effect.fnUntraced(function* (rows) {
      const inserted = yield* Statements.insertDeliveries.run(
        sql,
        rows.map((row) => [
          row.event_seq,
          row.integration_id,
          row.created_at,
          row.state,
          row.reason,
          row.attempts,
          row.lane,
          row.due_at,
          row.lease_token,
          row.resend
        ])
      )
      return inserted.map(({ id }) => id).toSorted((a, b) => a - b)
    }),

    insertAttempts: (rows) =>
      Statements.insertAttempts.run(
        sql,
        rows.map((row) => [
          row.delivery_id,
          row.number,
          row.started_at,
          row.duration_ms,
          row.outcome,
          row.status,
          row.response_excerpt,
          row.detail
        ])
      ),

    statuses: (integrations) => sql.unsafe(Statements.integrationStatuses, ids(integrations)),
    lockIntegrationsOf: () => Effect.void,
    lockWithActive: () => Effect.void,
    standings: (deliveries) => sql.unsafe<StandingRow>(Statements.standings, ids(deliveries)),

    move: (rows) =>
      Statements.moveDeliveries.run(
        sql,
        rows.map((row) => [
          row.id,
          row.state,
          row.reason,
          row.attempts,
          row.lane,
          row.due_at,
          row.lease_token,
          row.resend
        ])
      ),

    disableIntegration: (id, reason, now) =>
      Effect.map(sql.unsafe(Integrations.disable, [reason, now, id]), (disabled) => disabled.length > 0),

    cancelActive: Effect.fnUntraced(function* (integration, reason) {
      const counts = yield* sql.unsafe<StateCount>(Statements.countActive, [integration])
      if (counts.length > 0) yield* sql.unsafe(Statements.cancelActive, [reason, integration])
      return counts
    }),

    recover: Effect.fnUntraced(function* (integration, since, now) {
      const counts = yield* sql.unsafe<StateCount>(Statements.countRecoverable, [integration, since])
      if (counts.length > 0) yield* sql.unsafe(Statements.recover, [now, integration, since])
      return counts
    }),

    addToTallies: (changes) => Statements.addToTallies.run(sql, [...changes]),
    tallies: sql.unsafe<{ readonly name: TallyName; readonly count: number }>(Statements.tallies),

    dueHeads: (now) => sql.unsafe<Head>(Claims.dueHeads, [now]),
    firstDue: ({ depth, integrations, lane, now }) =>
      sql.unsafe<StandingRow>(Claims.firstDue, [...ids(integrations), lane, now, depth]),
    nextDue: Effect.map(
      sql.unsafe<{ readonly due_at: number | null }>(Claims.nextDue),
      (rows) => rows[0]?.due_at ?? null
    ),
    eventsBySeq: (seqs) => sql.unsafe<{ readonly seq: number }>(Claims.eventsBySeq, ids(seqs)),
    integrationsById: (integrations) => sql.unsafe<IntegrationRow>(Integrations.byIds, [sqlite.ids(integrations)]),

    deliveryById: (id) => sql.unsafe(Lists.deliveryById, [id]),
    list: (filter) => {
      const { params, text } = Lists.list(filter)
      return sql.unsafe(text, params)
    },
    attemptsOf: (id) => sql.unsafe(Lists.attemptsOf, [id]),
    eventById: (id) => sql.unsafe(Lists.eventById, [id])
  })
})

export const layer: Layer.Layer<DeliveryTables, never, SqlClient.SqlClient> = Layer.effect(DeliveryTables, make)
