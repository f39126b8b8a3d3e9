/**
 * The tables of deliveries on SQLite. There, transactions that write take turns: nothing needs a lock of its own.
 */
import type { DeliveryState, IntegrationId } from "@doorhook/core"
import { DeliveryId, inTurn } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { QueuedRow, StandingRow } from "../DeliveryRows.ts"
import type { Head, TallyName } from "../DeliveryTables.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { sqlite } from "../Dialect.ts"
import { fleeting } from "../Durability.ts"
import { SqlReads } from "../SqlReads.ts"
import * as CommonTables from "../stores/CommonTables.ts"
import type { Services, Value } from "./SqliteClient.ts"
import { SqliteRows } from "./SqliteClient.ts"
import { attemptValues, endedValues, eventValues, noAttempt, queuedValues } from "./RowValues.ts"
import * as Claims from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import * as Lists from "./statements/ListStatements.ts"

/** After so many events without one who reads them, they are made ready to be read. */
const indexEvery = 4_096

interface Numbers {
  readonly event: number
  readonly indexed: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* SqliteRows
  const ids = (values: ReadonlyArray<number>) => [JSON.stringify(values)]

  const reads = yield* SqlReads
  const common = CommonTables.make(sql, reads, sqlite)

  const hasUnindexed = (numbers: Numbers | undefined): numbers is Numbers =>
    numbers !== undefined && numbers.event > numbers.indexed

  /** Fills `events_of` for all events that are new. In a transaction. */
  const indexEvents = Effect.gen(function* () {
    const [numbers] = yield* sql.unsafe<Numbers>(Statements.unindexed)
    if (!hasUnindexed(numbers)) return
    yield* sql.unsafe(Statements.index, [numbers.indexed, numbers.event])
    yield* sql.unsafe(Statements.setIndexed, [numbers.event])
  })

  return DeliveryTables.of({
    ...common,
    events: Effect.fnUntraced(function* (filter) {
      const [numbers] = yield* reads.rows<Numbers>(Statements.unindexed, [])
      if (hasUnindexed(numbers)) yield* fleeting(sql.withTransaction(indexEvents))
      return yield* inTurn(common.events(filter))
    }),
    atOnce: null,

    insert: Effect.fnUntraced(function* (records, changes) {
      const count = records.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
      const [taken] = yield* sql.unsafe<Numbers & { readonly delivery: number }>(Statements.takeNumbers, [
        records.length,
        count
      ])
      let seq = (taken?.event ?? 0) - records.length
      let next = (taken?.delivery ?? 0) - count + 1
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
        events.push(eventValues(++seq, event, next === first ? null : first, next === first ? null : next - 1))
      }
      yield* rows.run(Statements.insertEvent, events)
      yield* rows.run(Statements.insertQueued, queued)
      yield* rows.run(Statements.insertEnded, ended)
      yield* rows.run(Statements.addToTally, changes)
      if (taken !== undefined && taken.event - taken.indexed >= indexEvery) yield* indexEvents
      return given
    }),

    targets: (integrations) => sql.unsafe(Statements.targets, ids(integrations)),
    lockIntegrations: () => Effect.void,
    lockForChange: () => Effect.void,
    lockFreeForChange: (integrations) => Effect.succeed(integrations),
    lockScope: () => Effect.void,
    integrationsOf: () => Effect.succeed([]),
    queuedStandings: (deliveries) => sql.unsafe<QueuedRow>(Statements.queuedStandings, ids(deliveries)),
    endedStandings: (deliveries) => sql.unsafe<StandingRow>(Statements.endedStandings, ids(deliveries)),

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

    beginEnding: (id, reason) =>
      Effect.map(sql.unsafe(Statements.beginEnding, [id, reason]), ({ length }) => length > 0),
    endings: CommonTables.idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.endings)),
    takeTurn: Effect.succeed(true),
    someOfEnding: ({ after, integration, limit, state }) =>
      CommonTables.idsOf(
        sql.unsafe<{ readonly id: DeliveryId }>(Statements.someOfEnding, [integration, state, after, limit])
      ),
    restOfEnding: (id) => CommonTables.idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Statements.restOfEnding, [id])),
    endThese: Effect.fnUntraced(function* (deliveries) {
      yield* sql.unsafe(Statements.endThese, ids(deliveries))
      const moved = yield* sql.unsafe<{ readonly state: DeliveryState }>(Statements.deleteThese, ids(deliveries))
      return Array.from(
        Map.groupBy(moved, ({ state }) => state),
        ([state, { length }]) => ({ state, count: length })
      )
    }),
    finishEnding: (id) => Effect.asVoid(sql.unsafe(Statements.finishEnding, [id])),

    recoverable: ({ after, integration, limit }) =>
      sql.unsafe<{ readonly id: DeliveryId; readonly created_at: number }>(Statements.recoverable, [
        integration,
        after,
        limit
      ]),

    addToTallies: (changes) => rows.run(Statements.addToTally, changes),
    tallies: sql.unsafe<{ readonly name: TallyName; readonly count: number }>(Statements.tallies),

    dueHeads: (now) => sql.unsafe<Head>(Claims.dueHeads, [now]),
    firstDue: ({ depth, integrations, lane, now }) =>
      sql.unsafe<StandingRow>(Claims.firstDue, [...ids(integrations), lane, now, depth]),
    pause: Effect.void,
    nextDue: Effect.map(
      sql.unsafe<{ readonly due_at: number | null }>(Claims.nextDue),
      (rows) => rows[0]?.due_at ?? null
    ),
    eventsById: (events) => sql.unsafe(Lists.eventsById, [sqlite.texts(events)]),

    deliveryById: (id) => sql.unsafe(Lists.deliveryById, [id, id]),
    list: (filter) => {
      const { params, text } = Lists.list(filter)
      return sql.unsafe(text, params)
    },
    feed: (integration_id, after, limit) => {
      const { params, text } = Lists.list({ integration_id, limit, ...(after !== 0 && { after }) })
      return sql.unsafe(text, params)
    },
    newestUnacknowledged: (id, leasedUntil) =>
      Effect.map(
        sql.unsafe<{ readonly id: DeliveryId | null }>(Statements.newestUnacknowledged, [id, leasedUntil]),
        ([newest]) => newest?.id ?? null
      ),
    attemptsOf: (id) => sql.unsafe(Lists.attemptsOf, [id, id])
  })
})

export const layer: Layer.Layer<DeliveryTables, never, Services> = Layer.effect(DeliveryTables, make)
