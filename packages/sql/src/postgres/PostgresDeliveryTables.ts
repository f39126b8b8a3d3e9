/**
 * The tables of deliveries on PostgreSQL, where many transactions run at once.
 */
import type { Standing } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { StandingRow } from "../DeliveryRows.ts"
import type { Head, StateCount, TallyName } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { fromStored, toStored } from "./NulText.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import * as Claims from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import * as Lists from "./statements/ListStatements.ts"
import * as Tallies from "./statements/TallyStatements.ts"

const Integrations = integrationStatements(postgres)

/** After so many of its own transactions a process folds the rows of tallies. */
const foldEvery = 200

interface StoredAttempt {
  readonly response_excerpt: string | null
  readonly detail: string | null
}

/** Where deliveries stand, column by column: in the order in which statements name them. */
const standingColumns = (rows: ReadonlyArray<Standing.Standing>) => [
  texts(rows.map(({ state }) => state)),
  texts(rows.map(({ reason }) => reason)),
  int8s(rows.map(({ attempts }) => attempts)),
  int8s(rows.map(({ lane }) => lane)),
  int8s(rows.map(({ due_at }) => due_at)),
  texts(rows.map(({ lease_token }) => lease_token)),
  int8s(rows.map(({ resend }) => resend))
]

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let unfolded = 0

  return DeliveryTables.of({
    insertEvents: Effect.fnUntraced(function* (events) {
      const rows = yield* sql.unsafe<{ readonly seq: number }>(Statements.insertEvents, [
        texts(events.map(({ id }) => id)),
        texts(events.map(({ resource_type }) => resource_type)),
        texts(events.map(({ action }) => action)),
        int8s(events.map(({ building_id }) => building_id)),
        texts(events.map(({ tenant_ids }) => JSON.stringify(tenant_ids))),
        texts(events.map(({ data }) => data)),
        int8s(events.map(({ created_at }) => created_at))
      ])
      return rows.map(({ seq }) => seq).toSorted((a, b) => a - b)
    }),

    insertDeliveries: Effect.fnUntraced(function* (rows) {
      if (rows.length === 0) return []
      const inserted = yield* sql.unsafe<{ readonly id: StandingRow["id"] }>(Statements.insertDeliveries, [
        int8s(rows.map(({ event_seq }) => event_seq)),
        int8s(rows.map(({ integration_id }) => integration_id)),
        int8s(rows.map(({ created_at }) => created_at)),
        ...standingColumns(rows)
      ])
      return inserted.map(({ id }) => id).toSorted((a, b) => a - b)
    }),

    insertAttempts: (rows) =>
      sql.unsafe(Statements.insertAttempts, [
        int8s(rows.map(({ delivery_id }) => delivery_id)),
        int8s(rows.map(({ number }) => number)),
        int8s(rows.map(({ started_at }) => started_at)),
        int8s(rows.map(({ duration_ms }) => duration_ms)),
        texts(rows.map(({ outcome }) => outcome)),
        int8s(rows.map(({ status }) => status)),
        texts(rows.map(({ response_excerpt }) => toStored(response_excerpt))),
        texts(rows.map(({ detail }) => toStored(detail)))
      ]),

    statuses: (ids) =>
      ids.length === 0 ? Effect.succeed([]) : sql.unsafe(Statements.integrationStatuses, [int8s(ids)]),
    lockIntegrationsOf: (ids) => sql.unsafe(Statements.lockIntegrationsOf, [int8s(ids)]),
    lockWithActive: (ids, others) => sql.unsafe(Statements.lockWithActive, [int8s(ids), int8s(others)]),
    standings: (ids) => sql.unsafe<StandingRow>(Statements.standings, [int8s(ids)]),

    move: (rows) => sql.unsafe(Statements.moveDeliveries, [int8s(rows.map(({ id }) => id)), ...standingColumns(rows)]),

    disableIntegration: (id, reason, now) =>
      Effect.map(sql.unsafe(Integrations.disable, [reason, now, id]), (disabled) => disabled.length > 0),
    cancelActive: (integration, reason) => sql.unsafe<StateCount>(Statements.cancelActive, [integration, reason]),
    recover: (integration, since, now) => sql.unsafe<StateCount>(Statements.recover, [integration, since, now]),

    addToTallies: Effect.fnUntraced(function* (changes) {
      yield* sql.unsafe(
        Tallies.addToTallies,
        Tallies.tallyNames.map((name) => changes.get(name) ?? 0)
      )
      if (++unfolded < foldEvery) return
      unfolded = 0
      yield* sql.unsafe(Tallies.foldTallies)
    }),

    tallies: Effect.map(sql.unsafe<Record<TallyName, number>>(Tallies.tallies), ([sums]) =>
      Tallies.tallyNames.map((name) => ({ name, count: sums?.[name] ?? 0 }))
    ),

    dueHeads: (now) => sql.unsafe<Head>(Claims.dueHeads, [now]),
    firstDue: ({ depth, integrations, lane, now }) =>
      sql.unsafe<StandingRow>(Claims.firstDue, [int8s(integrations), lane, now, depth]),
    nextDue: Effect.map(
      sql.unsafe<{ readonly due_at: number | null }>(Claims.nextDue),
      (rows) => rows[0]?.due_at ?? null
    ),
    eventsBySeq: (seqs) => sql.unsafe<{ readonly seq: number }>(Claims.eventsBySeq, [int8s(seqs)]),
    integrationsById: (ids) => sql.unsafe<IntegrationRow>(Integrations.byIds, [int8s(ids)]),

    deliveryById: (id) => sql.unsafe(Lists.deliveryById, [id]),
    list: (filter) => {
      const { params, text } = Lists.list(filter)
      return sql.unsafe(text, params)
    },
    attemptsOf: Effect.fnUntraced(function* (id) {
      const rows = yield* sql.unsafe<StoredAttempt>(Lists.attemptsOf, [id])
      return rows.map((row) => ({
        ...row,
        response_excerpt: fromStored(row.response_excerpt),
        detail: fromStored(row.detail)
      }))
    }),
    eventById: (id) => sql.unsafe(Lists.eventById, [id])
  })
})

export const layer: Layer.Layer<DeliveryTables, never, SqlClient.SqlClient> = Layer.effect(DeliveryTables, make)
