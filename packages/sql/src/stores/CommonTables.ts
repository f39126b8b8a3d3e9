/**
 * What of the delivery tables is the same in every dialect: what belongs to integrations, and what is kept as records.
 */
import type { DeliveryId, EventId, IntegrationId, NoticeId, Roll } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { EventRow } from "../DeliveryRows.ts"
import type { Answer, DeliveryTables, OldEvent, StateCount, StoredLastAttempt } from "../DeliveryTables.ts"
import type { Dialect } from "../Dialect.ts"
import type { IntegrationRow, SubjectRow } from "../IntegrationRows.ts"
import { toRow } from "../NoticeRows.ts"
import type { SqlReads } from "../SqlReads.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { keyStatements } from "../statements/KeyStatements.ts"
import { recordStatements } from "../statements/RecordStatements.ts"

type Tables = DeliveryTables["Service"]

/** The ids of the deliveries of events: all between the first and the last of each, which may be others, too. */
const deliveriesOf = (events: ReadonlyArray<OldEvent>): ReadonlyArray<number> => {
  const ids = new Set<number>()
  for (const { first_delivery: first, last_delivery: last } of events) {
    if (first === null || last === null) continue
    for (let id = first; id <= last; id++) ids.add(id)
  }
  return [...ids]
}

/** The ids that a query answers. */
export const idsOf = <Id>(rows: Answer<ReadonlyArray<{ readonly id: Id }>>): Answer<ReadonlyArray<Id>> =>
  Effect.map(rows, (found) => found.map(({ id }) => id))

/** Where an event stands in the lists of those who may read it. */
interface Place {
  readonly created_at: number
  readonly event_seq: number
}

export const make = (sql: SqlClient.SqlClient, reads: SqlReads["Service"], dialect: Dialect) => {
  const integrations = integrationStatements(dialect)
  const keys = keyStatements(dialect)
  const records = recordStatements(dialect)

  return {
    integrationsById: (ids) => sql.unsafe<IntegrationRow>(integrations.byIds, [dialect.ids(ids)]),
    subjects: (ids) =>
      ids.length === 0 ? Effect.succeed([]) : sql.unsafe<SubjectRow>(integrations.subjects, [dialect.ids(ids)]),
    disableIntegration: (id, reason, now) =>
      Effect.map(sql.unsafe(integrations.disable, [reason, now, id]), ({ length }) => length > 0),
    enableIntegration: (id, now) => Effect.map(sql.unsafe(integrations.enable, [now, id]), ({ length }) => length > 0),
    setFailing: (id, failing) =>
      Effect.asVoid(sql.unsafe(integrations.setFailing, [failing?.since ?? null, failing?.noticed ?? 0, id])),

    toBeWarned: (since, limit) =>
      idsOf(sql.unsafe<{ readonly id: IntegrationId }>(integrations.toBeWarned, [...since, limit])),

    insertKeys: Effect.fnUntraced(function* (wanted) {
      const stored: Array<string> = []
      for (const { answer, created_at, expires_at, fingerprint, key } of wanted) {
        const rows = yield* sql.unsafe(keys.insert, [key, fingerprint, answer, created_at, expires_at])
        if (rows.length > 0) stored.push(key)
      }
      return stored
    }),

    insertNotices: Effect.fnUntraced(function* (notices) {
      const ids: Array<NoticeId> = []
      for (const notice of notices) {
        const row = toRow(notice)
        const values = [row.kind, row.integration_id, row.scope_type, row.scope_id, row.at, row.details]
        for (const { id } of yield* sql.unsafe<{ readonly id: NoticeId }>(records.insertNotice, values)) ids.push(id)
      }
      return ids
    }),
    notices: ({ after, integration_id, limit, order }) => {
      const newest = order === "newest"
      const [ofAll, ofOne] = newest
        ? [records.newestNotices, records.newestNoticesOfIntegration]
        : [records.notices, records.noticesOfIntegration]
      const from = after ?? (newest ? Number.MAX_SAFE_INTEGER : 0)
      return integration_id === undefined
        ? sql.unsafe(ofAll, [from, limit])
        : sql.unsafe(ofOne, [integration_id, from, limit])
    },
    deleteNotices: (before, limit) => Effect.asVoid(sql.unsafe(records.deleteNotices, [limit, before])),

    oldEvents: (after, limit) => sql.unsafe<OldEvent>(records.oldEvents, [after, limit]),
    endedOf: (events) =>
      idsOf(
        sql.unsafe<{ readonly id: DeliveryId }>(records.endedOf, [
          dialect.ids(deliveriesOf(events)),
          dialect.texts(events.map(({ id }) => id))
        ])
      ),
    withActive: Effect.fnUntraced(function* (events) {
      const params = [dialect.ids(deliveriesOf(events)), dialect.texts(events.map(({ id }) => id))]
      const find = (statement: string, given: ReadonlyArray<unknown>) =>
        Effect.map(sql.unsafe<{ readonly event_id: EventId }>(statement, given), (rows) =>
          rows.map(({ event_id }) => event_id)
        )
      if (dialect.lock === "") return yield* find(records.withActive, params)
      const kept = yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(records.lockEndedOf, params))
      return yield* find(records.withUnkept, [...params, ...params, dialect.ids(kept)])
    }),
    deleteEvents: Effect.fnUntraced(function* (events) {
      const deleted = yield* sql.unsafe<{ readonly id: DeliveryId; readonly state: StateCount["state"] }>(
        records.deleteEndedOf,
        [dialect.ids(deliveriesOf(events)), dialect.texts(events.map(({ id }) => id))]
      )
      const seqs = dialect.ids(events.map(({ seq }) => seq))
      yield* sql.unsafe(records.deleteAttempts, [dialect.ids(deleted.map(({ id }) => id))])
      yield* sql.unsafe(records.deleteOfBuildings, [seqs])
      yield* sql.unsafe(records.deleteOfTenants, [seqs])
      yield* sql.unsafe(records.deleteEvents, [seqs])
      return Array.from(
        Map.groupBy(deleted, ({ state }) => state),
        ([state, { length }]) => ({ state, count: length })
      )
    }),

    // Three statements: an event that is stored or purged in between may shift the count by one.
    events: Effect.fnUntraced(function* ({ countUpTo, limit, offset, resource_type, scope, since, until }) {
      const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER]
      const head = [...of, until ?? Number.MAX_SAFE_INTEGER, 0]
      const countFrom = (place: ReadonlyArray<unknown>, most: number) =>
        Effect.map(
          reads.rows<{ readonly count: number | null }>(records.countOf, [...place, most, ...place]),
          ([row]) => row?.count ?? null
        )
      if (offset === 0) {
        const items = yield* reads.rows<EventRow>(records.eventsOf, [...head, limit])
        return { items, total: yield* countFrom(head, countUpTo) }
      }
      const [first] = yield* reads.rows<Place>(records.eventBehind, [...head, offset])
      if (first === undefined) return { items: [], total: yield* countFrom(head, offset) }
      const place = [...of, first.created_at, first.event_seq]
      const items = yield* reads.rows<EventRow>(records.eventsOf, [...place, limit])
      const rest = yield* countFrom(place, countUpTo - offset)
      return { items, total: rest === null ? null : offset + rest }
    }),

    lastAttempts: (deliveries) =>
      sql.unsafe<StoredLastAttempt>(records.lastAttempts, [dialect.ids(deliveries), dialect.ids(deliveries)]),

    beat: Effect.fnUntraced(function* (worker, now, until) {
      yield* sql.unsafe(records.beat, [worker, until])
      yield* sql.unsafe(records.deleteDead, [now])
      const [roll] = yield* sql.unsafe<Roll>(records.roll, [worker])
      return roll ?? { workers: 0, rank: 0 }
    }),
    leave: (worker) => Effect.asVoid(sql.unsafe(records.leave, [worker]))
  } satisfies Partial<Tables>
}
