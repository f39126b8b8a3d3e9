/**
 * The tables of deliveries on SQLite. There, transactions that write take turns: nothing needs a lock of its own.
 */
import type { Attempt } from "@doorhook/core"
import { DeliveryId } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { NewDeliveryRow, StandingRow } from "../DeliveryRows.ts"
import type { Head, StateCount, TallyName } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { sqlite } from "../Dialect.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import type { Services, Value } from "./SqliteClient.ts"
import { SqliteRows } from "./SqliteClient.ts"
import * as Endings from "./Endings.ts"
import * as Claims from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import * as Lists from "./statements/ListStatements.ts"

const Integrations = integrationStatements(sqlite)

/** The columns that name a delivery, and where an active one stands. */
const queuedValues = (id: DeliveryId, row: NewDeliveryRow): ReadonlyArray<Value> => [
  id,
  row.event_id,
  row.integration_id,
  row.created_at,
  row.state,
  row.reason,
  row.attempts,
  row.lane,
  row.due_at,
  row.lease_token,
  row.resend
]

const attemptValues = (attempt: Attempt): ReadonlyArray<Value> => [
  attempt.started_at,
  attempt.duration_ms,
  attempt.outcome,
  attempt.status,
  attempt.detail,
  attempt.response_excerpt
]

const noAttempt: ReadonlyArray<Value> = [null, null, null, null, null, null]

const endedValues = (id: DeliveryId, row: NewDeliveryRow, attempt: Attempt | null): ReadonlyArray<Value> => [
  id,
  row.event_id,
  row.integration_id,
  row.created_at,
  row.state,
  row.reason,
  row.attempts,
  row.lane,
  row.lease_token,
  ...(attempt === null ? noAttempt : attemptValues(attempt))
]

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* SqliteRows
  const endings = yield* Endings.make
  const ids = (values: ReadonlyArray<number>) => [JSON.stringify(values)]

  return DeliveryTables.of({
    atOnce: null,

    insert: Effect.fnUntraced(function* (records, changes) {
      const count = records.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
      const [taken] = yield* sql.unsafe<{ readonly last: number }>(Statements.takeIds, [count])
      let next = (taken?.last ?? 0) - count + 1
      const given: Array<DeliveryId> = []
      const events: Array<ReadonlyArray<Value>> = []
      const queued: Array<ReadonlyArray<Value>> = []
      const ended: Array<ReadonlyArray<Value>> = []
      for (const { deliveries, event } of records) {
        const first = next
        for (const row of deliveries) {
          const id = DeliveryId.make(next++)
          given.push(id)
          if (row.due_at === null) ended.push(endedValues(id, row, null))
          else queued.push(queuedValues(id, row))
        }
        events.push([
          event.id,
          event.resource_type,
          event.action,
          event.building_id,
          JSON.stringify(event.tenant_ids),
          event.created_at,
          next === first ? null : first,
          next === first ? null : next - 1,
          event.data
        ])
      }
      yield* rows.run(Statements.insertEvent, events)
      yield* rows.run(Statements.insertQueued, queued)
      yield* rows.run(Statements.insertEnded, ended)
      yield* rows.run(Statements.addToTally, changes)
      return given
    }),

    statuses: (integrations) => sql.unsafe(Statements.integrationStatuses, ids(integrations)),
    lockIntegrationsOf: () => Effect.void,
    lockWithActive: () => Effect.void,
    standings: Effect.fnUntraced(function* (deliveries) {
      const queued = yield* sql.unsafe<StandingRow>(Statements.queuedStandings, ids(deliveries))
      const found = new Set(queued.map(({ id }) => id))
      const others = deliveries.filter((id) => !found.has(id))
      if (others.length === 0) return queued
      yield* endings.settle(others)
      return [...queued, ...(yield* sql.unsafe<StandingRow>(Statements.endedStandings, ids(others)))]
    }),

    requeue: (moved) =>
      rows.run(
        Statements.requeue,
        moved.map((row) => [
          row.state,
          row.reason,
          row.attempts,
          row.lane,
          row.due_at,
          row.lease_token,
          row.resend,
          row.id
        ])
      ),

    end: Effect.fnUntraced(function* (moved) {
      yield* rows.run(
        Statements.deleteQueued,
        moved.map(({ id }) => [id])
      )
      yield* rows.run(
        Statements.insertEnded,
        moved.map((row) => endedValues(row.id, row, row.attempt))
      )
    }),

    amend: (moved) =>
      rows.run(
        Statements.amendEnded,
        moved.map(({ attempt, attempts, id, lease_token }) => [
          attempts,
          lease_token,
          ...(attempt === null ? noAttempt : attemptValues(attempt)),
          id
        ])
      ),

    revive: Effect.fnUntraced(function* (moved) {
      const revived = moved.map(({ id }) => [id])
      yield* rows.run(Statements.keepEndingAttempt, revived)
      yield* rows.run(Statements.deleteEnded, revived)
      yield* rows.run(
        Statements.insertQueued,
        moved.map((row) => queuedValues(row.id, row))
      )
    }),

    insertAttempts: (attempts) =>
      rows.run(
        Statements.insertAttempt,
        attempts.map((row) => [row.delivery_id, row.number, ...attemptValues(row)])
      ),

    disableIntegration: (id, reason, now) =>
      Effect.map(sql.unsafe(Integrations.disable, [reason, now, id]), (disabled) => disabled.length > 0),

    cancelActive: endings.begin,
    finishCancelling: endings.finish,

    recover: Effect.fnUntraced(function* (integration, since, now) {
      const counts = yield* sql.unsafe<StateCount>(Statements.countRecoverable, [integration, since])
      if (counts.length === 0) return counts
      yield* sql.unsafe(Statements.reviveRecoverable, [now, integration, since])
      yield* sql.unsafe(Statements.keepRecoverableAttempts, [integration, since])
      yield* sql.unsafe(Statements.deleteRecoverable, [integration, since])
      return counts
    }),

    addToTallies: (changes) => rows.run(Statements.addToTally, changes),
    tallies: sql.unsafe<{ readonly name: TallyName; readonly count: number }>(Statements.tallies),

    dueHeads: (now) => sql.unsafe<Head>(Claims.dueHeads, [now]),
    firstDue: ({ depth, integrations, lane, now }) =>
      sql.unsafe<StandingRow>(Claims.firstDue, [...ids(integrations), lane, now, depth]),
    nextDue: Effect.map(
      sql.unsafe<{ readonly due_at: number | null }>(Claims.nextDue),
      (rows) => rows[0]?.due_at ?? null
    ),
    eventsById: (events) => sql.unsafe(Lists.eventsById, [sqlite.texts(events)]),
    integrationsById: (integrations) => sql.unsafe<IntegrationRow>(Integrations.byIds, [sqlite.ids(integrations)]),

    deliveryById: (id) => sql.unsafe(Lists.deliveryById, [id, id]),
    list: Effect.fnUntraced(function* (filter) {
      if (filter.state !== undefined) yield* endings.finishAll
      const { params, text } = Lists.list(filter)
      return yield* sql.unsafe(text, params)
    }),
    attemptsOf: (id) => sql.unsafe(Lists.attemptsOf, [id, id])
  })
})

export const layer: Layer.Layer<DeliveryTables, never, Services> = Layer.effect(DeliveryTables, make)
