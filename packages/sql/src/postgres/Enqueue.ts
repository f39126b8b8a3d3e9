/**
 * Stores events with their deliveries. Usually one statement is enough. A transaction is needed if an integration has
 * changed since the events were matched.
 */
import type {
  DeliveryId,
  DeliveryStore,
  Enqueued,
  EventId,
  IntegrationId,
  MatchCandidate,
  NewDelivery,
  NewEventRecord,
  IdempotencyRecord,
  StoreError
} from "@doorhook/core"
import { IdempotencyConflict, StaleMatch, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import type { NewDeliveryRow } from "../DeliveryRows.ts"
import { storeErrorOf } from "../StoreFailure.ts"
import { makeTakeKeys } from "../stores/SqlIdempotencyStore.ts"
import { endedColumns, queuedColumns } from "./Columns.ts"
import type { Sql, Tally } from "./DeliveryTables.ts"
import { count, freeTargetsOf } from "./DeliveryTables.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import { busyKeys, insert, noteCalls as noteCallsOf } from "./statements/DeliveryStatements.ts"
import { countsOf } from "./statements/TallyStatements.ts"

/** A matched integration. `active`: whether at least one of its deliveries requires the integration to be enabled. */
interface Matched {
  readonly version: number
  readonly active: boolean
}

/** The matched integrations by id; null if events were matched with different versions of one integration. */
const matchedOf = (records: ReadonlyArray<NewEventRecord>): ReadonlyMap<IntegrationId, Matched> | null => {
  const matched = new Map<IntegrationId, Matched>()
  for (const { deliveries } of records) {
    for (const { initial, integration_id, matched_version: version } of deliveries) {
      const known = matched.get(integration_id)
      if (known !== undefined && known.version !== version) return null
      const active = initial.state !== "skipped"
      if (known === undefined || (active && !known.active)) matched.set(integration_id, { version, active })
    }
  }
  return matched
}

const nothingMatched: ReadonlyMap<IntegrationId, Matched> = new Map()

/** Stores events and deliveries. Returns the delivery ids, or null if a matched integration has changed. */
const insertAll = Effect.fnUntraced(function* (
  sql: Sql,
  records: ReadonlyArray<NewEventRecord>,
  standings: ReadonlyArray<Transitions.QueueEntry>,
  matched: ReadonlyMap<IntegrationId, Matched>,
  candidates: ReadonlyArray<MatchCandidate> | null
) {
  const tally: Tally = new Map([["events", records.length]])
  const queued: Array<{ readonly id: number; readonly row: NewDeliveryRow }> = []
  const ended: typeof queued = []
  const firsts: Array<number | null> = []
  const lasts: Array<number | null> = []
  const tenants: Array<{ readonly place: number; readonly id: number; readonly type: string }> = []
  let place = 0
  let isWaiting = false
  const workers = new Set<string>()
  records.forEach(({ deliveries, event }, index) => {
    firsts.push(deliveries.length === 0 ? null : place + 1)
    for (const { integration_id } of deliveries) {
      const standing = standings[place++]
      if (standing === undefined) continue
      count(tally, standing.state, 1)
      isWaiting ||= standing.state === "pending"
      if (standing.worker !== null) workers.add(standing.worker)
      const row = { ...standing, event_id: event.id, integration_id, created_at: event.created_at }
      const rows = standing.due_at === null ? ended : queued
      rows.push({ id: place, row })
    }
    lasts.push(deliveries.length === 0 ? null : place)
    for (const id of new Set(event.tenant_ids)) tenants.push({ place: index + 1, id, type: event.resource_type })
  })
  const sorted = [...matched].toSorted(([a], [b]) => a - b)
  const known = candidates === null ? null : candidates.toSorted((a, b) => a.id - b.id)
  const scopes = known === null ? [] : records
  const events = records.map(({ event }) => event)
  const rows = yield* sql.unsafe<{ readonly id: DeliveryId | null; readonly stale: boolean }>(insert, [
    int8s(sorted.map(([id]) => id)),
    int8s(sorted.map(([, { version }]) => version)),
    place,
    events.length,
    texts(events.map(({ id }) => id)),
    texts(events.map(({ resource_type }) => resource_type)),
    texts(events.map(({ action }) => action)),
    int8s(events.map(({ building_id }) => building_id)),
    texts(events.map(({ tenant_ids }) => JSON.stringify(tenant_ids))),
    texts(events.map(({ data }) => data)),
    int8s(events.map(({ created_at }) => created_at)),
    int8s(firsts),
    int8s(lasts),
    int8s(tenants.map((tenant) => tenant.place)),
    int8s(tenants.map(({ id }) => id)),
    texts(tenants.map(({ type }) => type)),
    ...queuedColumns(queued),
    ...endedColumns(ended),
    known === null ? null : int8s(known.map(({ id }) => id)),
    known === null ? null : int8s(known.map(({ version }) => version)),
    int8s(new Set(scopes.map(({ event }) => event.building_id))),
    int8s(new Set(scopes.flatMap(({ event }) => event.tenant_ids))),
    int8s(sorted.map(([, { active }]) => (active ? 1 : 0))),
    isWaiting ? 1 : 0,
    texts(workers),
    ...countsOf(tally)
  ])
  if (rows.length === 0) return null
  if (rows[0]?.stale === true) return yield* new StaleMatch()
  return rows.flatMap(({ id }) => id ?? [])
})

const answerOf = (
  records: ReadonlyArray<NewEventRecord>,
  standings: ReadonlyArray<Transitions.QueueEntry>,
  ids: ReadonlyArray<DeliveryId>
): ReadonlyArray<ReadonlyArray<Enqueued>> => {
  let place = 0
  return records.map(({ deliveries }) =>
    deliveries.flatMap((): ReadonlyArray<Enqueued> => {
      const id = ids[place]
      const standing = standings[place++]
      return id === undefined || standing === undefined ? [] : [{ id, state: standing.state }]
    })
  )
}

const standingsOf = (
  records: ReadonlyArray<NewEventRecord>,
  targetOf: (delivery: NewDelivery) => Transitions.Target,
  ended: ReadonlySet<EventId> = new Set()
): ReadonlyArray<Transitions.QueueEntry> =>
  records.flatMap(({ deliveries, event }) =>
    deliveries.map((delivery) => Transitions.enqueue(delivery, event, targetOf(delivery), ended.has(event.id)))
  )

/**
 * Cancels the deliveries of calls that these events end. Returns the ids of those events that are calls and have ended.
 * Runs in a transaction.
 */
const noteCalls = Effect.fnUntraced(function* (sql: Sql, records: ReadonlyArray<NewEventRecord>) {
  const calls = records.flatMap(({ call, event }) => (call === undefined ? [] : [{ ...call, event }]))
  if (calls.length === 0) return new Set<EventId>()
  const rows = yield* sql.unsafe<{ readonly has_ended: boolean }>(noteCallsOf, [
    int8s(calls.map(({ event }) => event.building_id)),
    texts(calls.map(({ id }) => id)),
    int8s(calls.map(({ isEnd }) => (isEnd ? 1 : 0))),
    int8s(calls.map(({ event }) => event.created_at))
  ])
  return new Set(calls.filter((_, place) => rows[place]?.has_ended === true).map(({ event }) => event.id))
})

export const makeEnqueue = (sql: Sql): DeliveryStore["Service"]["enqueue"] => {
  const takeKeys = makeTakeKeys(sql, postgres)

  /** Stores everything in one statement; returns null if a matched integration has changed. */
  const atOnce = Effect.fnUntraced(function* (
    records: ReadonlyArray<NewEventRecord>,
    candidates: ReadonlyArray<MatchCandidate> | null
  ) {
    const matched = matchedOf(records)
    if (matched === null) return null
    const standings = standingsOf(records, ({ matched_version: version }) => ({ status: "enabled", version }))
    const ids = yield* insertAll(sql, records, standings, matched, candidates)
    return ids === null ? null : answerOf(records, standings, ids)
  })

  const inTransaction = Effect.fnUntraced(function* (
    records: ReadonlyArray<NewEventRecord>,
    keys: ReadonlyArray<IdempotencyRecord>,
    candidates: ReadonlyArray<MatchCandidate> | null
  ) {
    if (candidates !== null && keys.length > 0) {
      const rows = yield* sql.unsafe<{ readonly key: string }>(busyKeys, [texts(keys.map(({ key }) => key))])
      const busy = rows.map(({ key }) => key)
      if (busy[0] !== undefined) return yield* new IdempotencyConflict({ key: busy[0], busy })
    }
    yield* takeKeys(keys)
    const wanted = new Set(records.flatMap(({ deliveries }) => deliveries.map(({ integration_id }) => integration_id)))
    const targets = yield* freeTargetsOf(sql, [...wanted])
    const ended = yield* noteCalls(sql, records)
    const standings = standingsOf(records, ({ integration_id }) => targets.get(integration_id), ended)
    if (records.length === 0) return []
    const ids = yield* insertAll(sql, records, standings, nothingMatched, candidates)
    return answerOf(records, standings, ids ?? [])
  })

  const enqueueAll = Effect.fnUntraced(
    function* (
      records: ReadonlyArray<NewEventRecord>,
      keys: ReadonlyArray<IdempotencyRecord>,
      candidates: ReadonlyArray<MatchCandidate> | null
    ) {
      if (records.length === 0 && keys.length === 0) return []
      const needsTransaction = keys.length > 0 || records.some(({ call }) => call !== undefined)
      const stored = needsTransaction ? null : yield* atOnce(records, candidates)
      return stored ?? (yield* sql.withTransaction(inTransaction(records, keys, candidates)))
    },
    Effect.mapError((cause) =>
      cause._tag === "IdempotencyConflict" || cause._tag === "StaleMatch"
        ? cause
        : storeErrorOf("DeliveryStore.enqueue", cause)
    )
  )

  type Answer = ReadonlyArray<ReadonlyArray<Enqueued>>
  type Records = ReadonlyArray<NewEventRecord>
  type Keys = ReadonlyArray<IdempotencyRecord>
  type Candidates = ReadonlyArray<MatchCandidate>
  function enqueue(
    records: Records,
    keys: Keys,
    candidates: Candidates
  ): Effect.Effect<Answer, StoreError | IdempotencyConflict | StaleMatch>
  function enqueue(records: Records, keys?: Keys): Effect.Effect<Answer, StoreError | IdempotencyConflict>
  function enqueue(
    records: Records,
    keys: Keys = [],
    candidates?: Candidates
  ): Effect.Effect<Answer, StoreError | IdempotencyConflict | StaleMatch> {
    return enqueueAll(records, keys, candidates ?? null)
  }
  return enqueue
}
