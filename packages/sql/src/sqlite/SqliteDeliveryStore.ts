/**
 * Deliveries in a SQLite file that this process owns.
 *
 * Plain functions over prepared statements, each call one change of `SqliteTurns`. Leases, workers and counts are in memory
 * (`OwnerState`), where a delivery stands is decided by core's `rules/Standing`, and what follows for an integration by
 * `rules/Consequences`.
 */
import type {
  Attempt,
  Claimed,
  ClaimRequest,
  DeliveryFilter,
  Enqueued,
  EventFilter,
  EventPage,
  FeedItem,
  FoundDelivery,
  Heartbeat,
  IntegrationId,
  IntegrationNotice,
  Lane,
  LeasedDelivery,
  ListedDelivery,
  Membership,
  NewEventRecord,
  NewNotice,
  Notice,
  NoticeFilter,
  Outcomes,
  Purged,
  PurgeRequest,
  Recovery,
  RedeliverRequest,
  RedeliverResult,
  RememberedRequest,
  Settled,
  Settlement
} from "@doorhook/core"
import {
  Attempt as AttemptSchema,
  Consequences,
  Delivery,
  DeliveryId,
  DeliveryReason,
  DeliveryStore,
  Event,
  Failing,
  IntegrationId as IntegrationIds,
  inTurn,
  isUrgentLane,
  KeyTaken,
  lanes,
  lasting,
  latest,
  NoticeId,
  Settling,
  Standing
} from "@doorhook/core"
import { Cause, Context, Effect, Exit, Layer, Queue, Schema } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import type { SqlError } from "effect/sql"
import type { StatementSync } from "node:sqlite"
import { sqlite } from "../Dialect.ts"
import { failingValues } from "../IntegrationRows.ts"
import { fromRows as noticesFromRows, toRow } from "../NoticeRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { keyStatements } from "../statements/KeyStatements.ts"
import { failAs, failAsBegun, failAsUnlessTaken } from "../StoreFailure.ts"
import { EndingBatch, Endings } from "../stores/Endings.ts"
import { IntegrationLocks } from "../stores/IntegrationLocks.ts"
import type { Fault } from "../stores/Telling.ts"
import { explain, makeTelling, quietTime } from "../stores/Telling.ts"
import * as Sql from "./DeliverySql.ts"
import { codes, storedStates } from "./DeliverySql.ts"
import { KnownIntegrations } from "./KnownIntegrations.ts"
import type { Head, Lease } from "./OwnerState.ts"
import { acquire, isOpen } from "./OwnerState.ts"
import { SqliteTurns } from "./SqliteTurns.ts"

type Service = DeliveryStore["Service"]
/** A row as it is read: values in the order of the columns. */
type Row = NonNullable<ReturnType<StatementSync["get"]>>

/** New events and deliveries are listed by what they belong to once there are this many events. */
const listEvery = 4_096

/** The most deliveries that are made due again in one transaction: some ten milliseconds. */
const redeliveryBatch = 1_000

/** How often a claim goes on after it chose deliveries that can't be read. */
const refills = 3

/** How many rows a line of the log names. */
const maxNamed = 5

const Events = Schema.Array(Event)
// Each claimed delivery comes by here. Only a schema that transforms nothing is compiled: so the list is parsed before.
SchemaJITCompiler.enable(Events.ast)
const decodeEvents = Schema.decodeUnknownExit(Events)
const { response_excerpt: _, ...withoutExcerpt } = AttemptSchema.fields
const LastAttempt = Schema.Struct(withoutExcerpt)
const decodeListed = Schema.decodeUnknownEffect(
  Schema.Array(Schema.Struct({ ...Delivery.fields, last_attempt: Schema.NullOr(LastAttempt) }))
)
const decodeFound = Schema.decodeUnknownEffect(
  Schema.Struct({ delivery: Delivery, event: Schema.NullOr(Event), attempts: Schema.Array(AttemptSchema) })
)
const decodeFeed = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ delivery: Delivery, event: Event })))
const isReason = Schema.is(DeliveryReason)

const deliveryId = (value: unknown): DeliveryId => DeliveryId.make(Number(value), { disableChecks: true })
const laneOf = (value: unknown): Lane => lanes.find((lane) => lane === value) ?? 3

/** JSON, or the text itself if it is none: then its schema refuses it. */
const parsed = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return text
  }
}

/** An event of a row, from a column on; to be decoded. */
const eventFrom = (row: Row, at: number): object => ({
  id: row[at],
  resource_type: row[at + 1],
  action: row[at + 2],
  building_id: row[at + 3],
  tenant_ids: parsed(row[at + 4]),
  data: row[at + 5],
  created_at: row[at + 6]
})

/** An attempt of a row, from a column on; to be decoded. */
const attemptFrom = (row: Row, at: number): object => ({
  number: row[at],
  started_at: row[at + 1],
  duration_ms: row[at + 2],
  outcome: row[at + 3],
  status: row[at + 4],
  detail: row[at + 5],
  response_excerpt: row[at + 6]
})

const byIntegration = <A extends { readonly integration_id: IntegrationId }>(items: Iterable<A>) =>
  Map.groupBy(items, ({ integration_id }) => integration_id)

/** A delivery that a claim has chosen. */
interface Chosen {
  readonly id: DeliveryId
  readonly due: number
}

const make = Effect.gen(function* () {
  const turns = yield* SqliteTurns
  const known = yield* KnownIntegrations
  const endingBatch = yield* EndingBatch
  const { prepare } = turns
  const state = yield* acquire(turns.location)
  const { cancellations, leases, members } = state
  const integrationSql = integrationStatements(sqlite)
  const isTimeToTell = makeTelling()
  const isTimeToTellOfDeliveries = makeTelling()
  const q = {
    owner: prepare(Sql.owner),
    setOwner: prepare(Sql.setOwner),
    beat: prepare(Sql.beat),
    countCancelled: prepare(Sql.countCancelled),
    cancellations: prepare(Sql.cancellations),
    recoverLeases: prepare(Sql.recoverLeases),
    insertEvent: prepare(Sql.insertEvent),
    insertHeld: prepare(Sql.insertHeld),
    insertDelivery: prepare(Sql.insertDelivery),
    listByBuilding: prepare(Sql.listByBuilding),
    listByTenant: prepare(Sql.listByTenant),
    listByIntegration: prepare(Sql.listByIntegration),
    findKey: prepare(Sql.findKey),
    insertKey: prepare(keyStatements(sqlite).insert),
    end: prepare(Sql.end),
    wait: prepare(Sql.wait),
    amend: prepare(Sql.amend),
    cancelOne: prepare(Sql.cancelOne),
    insertAttempt: prepare(Sql.insertAttempt),
    keepEndingAttempt: prepare(Sql.keepEndingAttempt),
    revive: prepare(Sql.revive),
    standing: prepare(Sql.standing),
    heads: prepare(Sql.heads),
    dueAfter: prepare(Sql.dueAfter),
    retries: prepare(Sql.retries),
    claimed: prepare(Sql.claimed),
    cancelPending: prepare(Sql.cancelPending),
    cancelRetrying: prepare(Sql.cancelRetrying),
    countOpen: prepare(Sql.countOpen),
    beginCancellation: prepare(Sql.beginCancellation),
    endCancellation: prepare(Sql.endCancellation),
    newestUnacknowledged: prepare(Sql.newestUnacknowledged),
    recoverable: prepare(Sql.recoverable),
    findDelivery: prepare(Sql.findDelivery),
    attemptsOf: prepare(Sql.attemptsOf),
    lastAttempt: prepare(Sql.lastAttempt),
    findEvent: prepare(Sql.findEvent),
    rangeOfEvent: prepare(Sql.rangeOfEvent),
    feed: prepare(Sql.feed),
    eventBehind: prepare(Sql.eventBehind),
    eventsOf: prepare(Sql.eventsOf),
    countOf: prepare(Sql.countOf),
    oldEvents: prepare(Sql.oldEvents),
    deliveriesOfEvent: prepare(Sql.deliveriesOfEvent),
    deleteDelivery: prepare(Sql.deleteDelivery),
    unlistDelivery: prepare(Sql.unlistDelivery),
    deleteAttempts: prepare(Sql.deleteAttempts),
    deleteOfBuildings: prepare(Sql.deleteOfBuildings),
    deleteOfTenants: prepare(Sql.deleteOfTenants),
    deleteEvent: prepare(Sql.deleteEvent),
    insertNotice: prepare(Sql.insertNotice),
    deleteNotices: prepare(Sql.deleteNotices),
    disable: prepare(integrationSql.disable),
    enable: prepare(integrationSql.enable),
    setFailing: prepare(integrationSql.setFailing),
    toBeWarned: prepare(integrationSql.toBeWarned)
  }
  const lists = new Map<string, StatementSync>()
  const listed = (text: string): StatementSync => {
    const statement = lists.get(text) ?? prepare(text)
    lists.set(text, statement)
    return statement
  }

  // ---- What is in memory, as the file says

  /** Integrations whose deliveries a transaction of the client's has cancelled, unless it was rolled back. */
  const uncertain = new Set<IntegrationId>()

  const loadCancellations = () => {
    cancellations.clear()
    for (const [id, last, reason] of q.cancellations.all().map(Object.values))
      cancellations.set(integrationId(id), {
        last: Number(last),
        reason: isReason(reason) ? reason : "integration_disabled"
      })
  }

  const load = () => {
    state.load(Object.values(q.owner.get() ?? {}).map(Number))
    loadCancellations()
  }

  /** Looks up what a transaction of the client's did. */
  const settleUncertain = () => {
    if (uncertain.size === 0) return
    load()
    for (const lease of leases.values())
      if (uncertain.has(lease.integration)) lease.state = Number(q.standing.get(lease.id)?.[1] ?? codes.cancelled)
    for (const id of uncertain) {
      known.forget(id)
      for (const lane of lanes) state.lookAgain(lane, id)
    }
    uncertain.clear()
  }

  /** Makes the memory true for what comes next. */
  const refresh = () => {
    known.refresh()
    settleUncertain()
  }

  turns.surround({
    begin: () => {
      state.begin()
      refresh()
      releaseUnlearned()
    },
    end: () => {
      if (state.isChanged) q.setOwner.run(...state.row())
    },
    rolledBack: () => {
      state.rollBack()
      load()
      known.forgetAll()
    }
  })

  // ---- Moving deliveries

  const setEnd = (id: DeliveryId, to: Standing.Standing, attempt: Attempt | null) => {
    const { attempts, early, lane, reason } = to
    if (attempt === null) q.end.run(codeOf(to), reason, lane, attempts, early, null, null, null, null, null, null, id)
    else {
      const { detail, duration_ms, outcome, response_excerpt, started_at, status } = attempt
      q.end.run(
        codeOf(to),
        reason,
        lane,
        attempts,
        early,
        started_at,
        duration_ms,
        outcome,
        status,
        detail,
        response_excerpt,
        id
      )
    }
  }

  const setWaiting = (id: DeliveryId, integration: IntegrationId, to: Standing.Standing) => {
    const due = Math.min(to.due_at ?? 0, latest)
    q.wait.run(codeOf(to), to.lane, to.attempts, to.early, to.resend, due, id)
    state.noteDue(to.lane, integration, due, id)
  }

  const addAttempt = (id: DeliveryId, attempt: Attempt) => {
    const { detail, duration_ms, number, outcome, response_excerpt, started_at, status } = attempt
    q.insertAttempt.run(id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)
  }

  const standingOf = (lease: Lease): Standing.Standing => ({
    state: isOpen(lease.state) ? "delivering" : "cancelled",
    reason: null,
    attempts: lease.attempts,
    early: lease.early,
    lane: lease.lane,
    due_at: isOpen(lease.state) ? lease.due_at : null,
    worker: lease.worker,
    resend: lease.resend
  })

  /** Gives back a lease that has been taken out of the leases. A cancelled delivery stays cancelled. */
  const giveBack = (lease: Lease, dueAt: number) => {
    if (!isOpen(lease.state)) return
    const to = Standing.released(standingOf(lease), dueAt)
    const isAsStored = dueAt === lease.stored_due_at && codeOf(to) === lease.state && lease.resend !== 2
    if (isAsStored) state.noteDue(lease.lane, lease.integration, dueAt, lease.id)
    else {
      state.move(lease.state, codeOf(to))
      setWaiting(lease.id, lease.integration, to)
    }
  }

  const releaseUnlearned = () => {
    const ids = state.unlearned
    if (ids.length === 0) return
    state.unlearned = []
    state.undo(() => state.unlearned.push(...ids))
    const held = ids.flatMap((id) => leases.get(id) ?? [])
    state.unlease(held)
    for (const lease of held) giveBack(lease, lease.due_at)
  }

  // ---- Cancelling all of an integration

  /** Cancels the first open deliveries of an integration up to an id; says how many, pending and retrying ones. */
  const cancelSome = (
    id: IntegrationId,
    last: number,
    reason: DeliveryReason,
    most: number
  ): readonly [number, number] => {
    const pending = Number(q.cancelPending.run(id, last, reason, most).changes)
    const retrying = pending < most ? Number(q.cancelRetrying.run(id, last, reason, most - pending).changes) : 0
    return [pending, retrying]
  }

  /** Cancels what is open, or begins to; answers how many, pending and retrying ones. Leases stay until their attempts end. */
  const cancelAll = (
    id: IntegrationId,
    reason: DeliveryReason,
    onLease: (lease: Lease) => void
  ): readonly [number, number] => {
    let [pending, retrying] = [0, 0]
    for (const lease of leases.values()) {
      if (lease.integration !== id || !isOpen(lease.state)) continue
      q.cancelOne.run(reason, lease.id)
      if (lease.state === codes.pending) pending++
      else retrying++
      onLease(lease)
    }
    if (cancellations.has(id)) return [pending, retrying]
    const last = state.delivery
    const some = cancelSome(id, last, reason, endingBatch)
    pending += some[0]
    retrying += some[1]
    if (some[0] + some[1] < endingBatch) return [pending, retrying]
    const [open = 0, retries = 0] = Object.values(q.countOpen.get(id) ?? {}).map(Number)
    q.beginCancellation.run(id, last, reason)
    return [pending + open - retries, retrying + retries]
  }

  /** The same in a turn. */
  const cancelNow = (id: IntegrationId, reason: DeliveryReason) => {
    const held: Array<readonly [Lease, number]> = []
    const [pending, retrying] = cancelAll(id, reason, (lease) => held.push([lease, lease.state]))
    for (const [lease] of held) lease.state = codes.cancelled
    state.undo(() => held.forEach(([lease, before]) => (lease.state = before)))
    state.count(codes.pending, -pending)
    state.count(codes.retrying, -retrying)
    state.count(codes.cancelled, pending + retrying)
    loadCancellations()
    for (const lane of lanes) state.removeHead({ integration: id, lane })
  }

  /** Goes on cancelling; says whether there may be more. */
  const cancelMore = (id: IntegrationId): boolean => {
    const cancellation = cancellations.get(id)
    if (cancellation === undefined) return false
    const [pending, retrying] = cancelSome(id, cancellation.last, cancellation.reason, endingBatch)
    if (pending + retrying > 0 && pending + retrying === endingBatch) return true
    q.endCancellation.run(id)
    return false
  }

  const cancelInParts = Effect.fnUntraced(function* (id: IntegrationId) {
    const run = () => {
      const hasMore = cancelMore(id)
      loadCancellations()
      return hasMore
    }
    while (cancellations.has(id) && (yield* turns.change({ run, isDurable: false, rows: endingBatch })))
      yield* Effect.yieldNow
  })

  const finishCancellations = (filter: DeliveryFilter): Effect.Effect<void, SqlError.SqlError> =>
    filter.states === undefined || cancellations.size === 0
      ? Effect.void
      : Effect.forEach(
          [...cancellations.keys()].filter((id) => (filter.integration_id ?? id) === id),
          cancelInParts,
          { discard: true }
        )

  const isCancelled = (id: number, integration: IntegrationId): boolean =>
    id <= (cancellations.get(integration)?.last ?? -1)

  // ---- Publishing

  const enqueue = (
    records: ReadonlyArray<NewEventRecord>,
    keys: ReadonlyArray<RememberedRequest>
  ): KeyTaken | ReadonlyArray<ReadonlyArray<Enqueued>> => {
    // Before anything is written: nothing need be taken back.
    const taken = keys.find(({ created_at, key }) => q.findKey.get(key, created_at) !== undefined)
    if (taken !== undefined) return new KeyTaken({ key: taken.key })
    for (const { answer, created_at, expires_at, fingerprint, key } of new Map(
      keys.map((each) => [each.key, each])
    ).values())
      q.insertKey.run(key, fingerprint, answer, created_at, expires_at)
    const held: Array<DeliveryId> = []
    state.undo(() => held.forEach((id) => leases.delete(id)))
    const targets = new Map<IntegrationId, Standing.Target>()
    const targetOf = (id: IntegrationId): Standing.Target => {
      if (targets.has(id)) return targets.get(id)
      const row = known.get(id)?.row
      const status = row?.status === "disabled" ? "disabled" : "enabled"
      const target: Standing.Target = row && { status, version: row.version }
      targets.set(id, target)
      return target
    }
    const stored = records.map(({ deliveries, event }) => {
      const seq = ++state.event
      const first = state.delivery + 1
      const ids = deliveries.map((delivery): Enqueued => {
        const { integration_id: integration, lane } = delivery
        const to = Standing.begun(delivery, event, targetOf(integration))
        const id = deliveryId(++state.delivery)
        const code = to.worker === null ? codeOf(to) : codes.pending
        if (to.worker === null) q.insertDelivery.run(id, seq, integration, code, to.reason, lane, to.due_at)
        else q.insertHeld.run(id, seq, integration, lane)
        state.count(code, 1)
        if (to.worker !== null) {
          const { created_at } = event
          const of = {
            id,
            integration,
            lane,
            attempts: 0,
            early: 0,
            created_at,
            due_at: created_at,
            stored_due_at: null
          }
          state.lease({ ...of, worker: to.worker, state: codes.pending, resend: 0 })
          held.push(id)
        } else if (to.due_at !== null) state.noteDue(lane, integration, to.due_at, id)
        return { id, state: to.state }
      })
      const { action, building_id, created_at, data, id, resource_type, tenant_ids } = event
      const range = ids.length === 0 ? [null, null] : [first, state.delivery]
      q.insertEvent.run(
        seq,
        id,
        resource_type,
        action,
        building_id,
        JSON.stringify(tenant_ids),
        created_at,
        ...range,
        data
      )
      return ids
    })
    state.events += records.length
    state.isChanged = true
    if (state.event - state.listedEvent >= listEvery) listNew()
    return stored
  }

  /** Lists all new events by who may read them, and all new deliveries by integration. */
  const listNew = () => {
    if (state.event === state.listedEvent) return
    q.listByBuilding.run(state.listedEvent, state.event)
    q.listByTenant.run(state.listedEvent, state.event)
    q.listByIntegration.run(state.listedDelivery, state.delivery)
    state.listedEvent = state.event
    state.listedDelivery = state.delivery
    state.isChanged = true
  }

  // ---- Claiming

  const loadHeads = () => {
    if (state.hasHeads) return
    state.heads.clear()
    for (const [lane, integration] of q.heads.all().map(Object.values))
      state.lookAgain(laneOf(lane), integrationId(integration))
    state.hasHeads = true
  }

  /** The first deliveries of a head that are due and not leased. Steps over leased ones at its beginning once. */
  const peek = (head: Head, now: number, most: number): ReadonlyArray<Chosen> => {
    const found: Array<Chosen> = []
    const { integration, lane } = head
    let isEmpty = true
    for (const row of q.dueAfter.iterate(lane, integration, head.cursorDue, head.cursorId)) {
      const [due, id] = [Number(row[0]), deliveryId(row[1])]
      if (leases.has(id)) {
        if (isEmpty) Object.assign(head, { cursorDue: due, cursorId: id })
        continue
      }
      if (isEmpty) Object.assign(head, { next: due, isExact: true })
      isEmpty = false
      if (due > now) break
      found.push({ id, due })
      if (found.length >= most) break
    }
    if (isEmpty) state.removeHead(head)
    return found
  }

  /** The heads of which anything can be claimed; those of cancelled integrations are passed over. */
  const exactHeads = (): ReadonlyArray<Head> => {
    loadHeads()
    const heads: Array<Head> = []
    for (const head of state.heads.values()) {
      if (cancellations.has(head.integration)) continue
      if (!head.isExact) peek(head, Number.NEGATIVE_INFINITY, 1)
      if (head.isExact) heads.push(head)
    }
    return heads
  }

  const nextDue = (): number | null => {
    let next: number | null = null
    for (const head of exactHeads()) if (next === null || head.next < next) next = head.next
    return next
  }

  /** Chooses lane by lane, and within a lane in rounds: one delivery of each integration in a round, the earliest due first. */
  const choose = ({ limit, limitPerIntegration, limits, now }: ClaimRequest): ReadonlyArray<Chosen> => {
    const places = new Map(limits)
    const placesOf = (id: IntegrationId): number => places.get(id) ?? limitPerIntegration
    const chosen: Array<Chosen> = []
    for (const lane of lanes) {
      const room = limit - chosen.length
      if (room <= 0) break
      const open = exactHeads().filter(
        (head) => head.lane === lane && head.next <= now && placesOf(head.integration) > 0
      )
      if (open.length === 0) continue
      const byDue = (a: Head, b: Head): number => a.next - b.next || a.integration - b.integration
      // With more integrations than room there is one round, and the heads say who is in it.
      const wanted = open.length > room ? open.toSorted(byDue).slice(0, room) : open
      const deepest = Math.min(room, Math.max(...wanted.map(({ integration }) => placesOf(integration))))
      let rounds: ReadonlyArray<readonly [Head, Chosen]> = []
      for (let depth = Math.ceil(room / wanted.length); ; depth *= 4) {
        const most = Math.min(depth, deepest)
        rounds = inRounds(
          wanted.map((head) => [head, peek(head, now, Math.min(most, placesOf(head.integration)))] as const)
        )
        if (rounds.length >= room || most >= deepest) break
      }
      for (const [head, each] of rounds.slice(0, room)) {
        places.set(head.integration, placesOf(head.integration) - 1)
        Object.assign(head, { cursorDue: each.due, cursorId: each.id, isExact: false })
        chosen.push(each)
      }
    }
    return chosen
  }

  const chooseEarly = (integration: IntegrationId, request: ClaimRequest): ReadonlyArray<Chosen> => {
    const { limit, limitPerIntegration, limits, now } = request
    const most = Math.min(limit, limits.get(integration) ?? limitPerIntegration)
    const chosen: Array<Chosen> = []
    if (cancellations.has(integration)) return chosen
    for (const row of most > 0 ? q.retries.iterate(integration) : []) {
      const each = { due: Number(row[0]), id: deliveryId(row[1]) }
      if (each.due <= now || leases.has(each.id)) continue
      chosen.push(each)
      if (chosen.length === most) break
    }
    return chosen
  }

  interface Unsendable extends Fault {
    readonly lease: Lease
  }

  /** Leases what was chosen, with what an attempt needs. What can't be read is leased, too. */
  const leaseAll = (chosen: ReadonlyArray<Chosen>, { early, worker }: ClaimRequest) => {
    const rows = chosen.flatMap(({ id }) => {
      const row = q.claimed.get(id)
      return row === undefined ? [] : [{ id, row }]
    })
    const sent = rows.filter(({ row }) => row[7] !== null)
    const all = decodeEvents(sent.map(({ row }) => eventFrom(row, 7)))
    const each = Exit.isSuccess(all) ? null : sent.map(({ row }) => decodeEvents([eventFrom(row, 7)]))
    const sendable: Array<LeasedDelivery> = []
    const unsendable: Array<Unsendable> = []
    let at = 0
    for (const { id, row } of rows) {
      const lease: Lease = {
        id,
        integration: integrationId(row[0]),
        lane: laneOf(row[2]),
        attempts: Number(row[3]),
        early: Number(row[4]),
        created_at: Number(row[13] ?? 0),
        due_at: Number(row[6]),
        stored_due_at: Number(row[6]),
        worker,
        state: Number(row[1]),
        resend: row[5] === 1 ? 1 : 0
      }
      state.lease(lease)
      state.noteGone(lease.lane, lease.integration, lease.due_at)
      const read = row[7] === null ? null : (each?.[at] ?? all)
      const event = read !== null && Exit.isSuccess(read) ? read.value[each === null ? at : 0] : undefined
      if (row[7] !== null) at++
      const integration = known.get(lease.integration)?.integration
      if (event === undefined) {
        const name = `event ${row[7] === null ? eventIdOf(row[14]) : String(row[7])}`
        unsendable.push({ lease, name, cause: read !== null && Exit.isFailure(read) ? failureOf(read) : undefined })
      } else if (integration === undefined || Exit.isFailure(integration)) {
        const cause = integration === undefined ? undefined : failureOf(integration)
        unsendable.push({ lease, name: `integration ${lease.integration}`, cause })
      } else {
        sendable.push({
          id,
          lane: lease.lane,
          attempts: lease.attempts,
          early: lease.early,
          early_due_at: early === undefined ? null : lease.due_at,
          resend: lease.resend > 0,
          event,
          integration: integration.value
        })
      }
    }
    return { sendable, unsendable }
  }

  const claimNow = (request: ClaimRequest) => {
    refresh()
    const sendable: Array<LeasedDelivery> = []
    const unsendable: Array<Unsendable> = []
    let wanted = request
    // A caller that gets less than it asked for takes it for all that is due: what can't be sent leaves its room to others.
    for (let more = refills; more >= 0 && wanted.limit > 0; more--) {
      loadHeads()
      const chosen = wanted.early === undefined ? choose(wanted) : chooseEarly(wanted.early, wanted)
      const leased = leaseAll(chosen, wanted)
      sendable.push(...leased.sendable)
      unsendable.push(...leased.unsendable)
      if (leased.unsendable.length === 0) break
      const limits = new Map(wanted.limits)
      for (const { integration } of leased.sendable)
        limits.set(integration.id, (limits.get(integration.id) ?? wanted.limitPerIntegration) - 1)
      for (const { lease, name } of leased.unsendable)
        if (name.startsWith("integration")) limits.set(lease.integration, 0)
      wanted = { ...wanted, limit: wanted.limit - leased.sendable.length, limits }
    }
    return { claimed: { deliveries: sendable, next_due: nextDue() }, unsendable }
  }

  /** Puts off what was claimed and can't be sent, and logs each row that can't be read once in a while. */
  const putOff = Effect.fnUntraced(function* (unsendable: ReadonlyArray<Unsendable>, now: number) {
    const run = () => {
      const held = unsendable.flatMap(({ lease }) => (leases.get(lease.id) === lease ? [lease] : []))
      state.unlease(held)
      for (const lease of held) giveBack(lease, now + quietTime)
    }
    yield* turns.change({ run, isDurable: false, rows: unsendable.length })
    for (const faults of Map.groupBy(unsendable, ({ name }) => name).values()) {
      const [first] = faults
      if (first === undefined || !isTimeToTellOfDeliveries(first, now)) continue
      yield* Effect.logError(
        `Deliveries wait because what they are made of can't be read, and are looked at again in ${quietTime / 1_000} s ` +
          `(${idsIn(faults.map(({ lease }) => lease.id))}). ${explain(first)}`
      )
    }
  })

  // ---- Settling

  const subjectOf = (id: IntegrationId, now: number, logs: Array<string>, why: string): Consequences.Subject | null => {
    const subject = known.get(id)?.subject
    if (subject === undefined) return null
    if (Exit.isSuccess(subject)) return subject.value
    const fault = { name: `integration ${id}`, cause: failureOf(subject) }
    if (isTimeToTell(fault, now)) logs.push(`${why} ${explain(fault)}`)
    return null
  }

  const writeNotices = <Kind extends NewNotice>(notices: ReadonlyArray<Kind>): ReadonlyArray<Notice<Kind>> =>
    notices.map((notice) => {
      const { at, details, integration_id, kind, scope_id, scope_type } = toRow(notice)
      const id = q.insertNotice.get(kind, integration_id, scope_type, scope_id, at, details)?.[0]
      return { ...notice, id: NoticeId.make(Number(id)) }
    })

  const setFailing = (id: IntegrationId, failing: Failing.Failing | null) => {
    q.setFailing.all(...failingValues(failing), id)
    known.forgetFailing(id)
  }

  /** Records an outcome of a current lease; answers where the delivery stands. */
  const settleOne = (lease: Lease, settlement: Settlement, now: number, toEnd: DeliveryReason | null) => {
    const { attempt } = settlement
    const from = standingOf(lease)
    const to = Standing.settled(from, settlement, now, toEnd)
    const { id } = lease
    if (!isOpen(lease.state)) {
      if (attempt === null) return { from, to }
      const { detail, duration_ms, outcome, response_excerpt, started_at, status } = attempt
      q.amend.run(to.attempts, to.early, started_at, duration_ms, outcome, status, detail, response_excerpt, id)
    } else if (to.due_at === null) {
      setEnd(id, to, attempt)
      state.move(lease.state, codeOf(to))
    } else {
      setWaiting(id, lease.integration, to)
      if (attempt !== null) addAttempt(id, attempt)
      state.move(lease.state, codeOf(to))
    }
    return { from, to }
  }

  const settle = ({ releases, settlements, worker }: Outcomes, now: number, disableAfter: number) => {
    const logs: Array<string> = []
    /** The integrations that something may follow for; null: they can't be read. */
    const affected = new Map<IntegrationId, Consequences.Subject | null>()
    const ends = new Map<IntegrationId, DeliveryReason | null>()
    const unreadable =
      "What becomes of deliveries is recorded, but an integration that can't be read is neither disabled nor enabled by it, and nobody is told that it fails."
    for (const [id, batch] of byIntegration(settlements)) {
      const found = known.get(id)
      const subject = found?.subject
      if (found === undefined) ends.set(id, "integration_deleted")
      else if (subject !== undefined && Exit.isSuccess(subject)) {
        ends.set(id, Standing.reasonToEnd(subject.value.integration))
        if (Consequences.mayHaveConsequences(subject.value, batch)) affected.set(id, subject.value)
      } else if (
        batch.some(({ attempt, gone, state: to }) => gone || to === "exhausted" || attempt?.outcome !== "acknowledged")
      )
        affected.set(id, subjectOf(id, now, logs, unreadable))
    }
    const applied = new Set<DeliveryId>()
    const ended: Array<Lease> = []
    state.undo(() => ended.forEach(state.lease))
    const batches = new Map<IntegrationId, Array<Consequences.Applied>>()
    let dueAgain = false
    for (const item of settlements) {
      const lease = leases.get(item.delivery_id)
      if (lease === undefined || !Standing.isCurrent(lease, item, worker)) continue
      const { integration } = lease
      const settlement = affected.get(integration) === null ? Settling.askedAgain(item, now) : item
      const { from, to } = settleOne(lease, settlement, now, ends.get(integration) ?? null)
      leases.delete(lease.id)
      ended.push(lease)
      applied.add(lease.id)
      dueAgain ||= to.state === "pending" || settlement !== item
      if (!affected.has(integration)) continue
      const batch = batches.get(integration)
      if (batch === undefined) batches.set(integration, [{ settlement, from, to }])
      else batch.push({ settlement, from, to })
    }
    for (const { delivery_id, due_at } of releases) {
      const lease = leases.get(delivery_id)
      if (lease?.worker !== worker) continue
      leases.delete(delivery_id)
      ended.push(lease)
      giveBack(lease, due_at)
    }
    const changed: Array<IntegrationId> = []
    const recovered: Array<Recovery> = []
    const notices: Array<Notice<IntegrationNotice>> = []
    // Afterwards, so that what was acknowledged in the same batch stays so.
    for (const id of [...batches.keys()].toSorted((a, b) => a - b)) {
      const [subject, batch] = [affected.get(id), batches.get(id)]
      if (subject === undefined || subject === null || batch === undefined) continue
      const follows = Consequences.consequencesOf(subject, batch, now, disableAfter)
      if (!isSameFailing(follows.failing, subject.failing)) setFailing(id, follows.failing)
      if (follows.disable !== null && q.disable.get(follows.disable, now, id) !== undefined) {
        changed.push(id)
        cancelNow(id, Standing.reasonOfDisabled({ disabled_reason: follows.disable }))
      }
      if (follows.enable && q.enable.get(now, id) !== undefined) changed.push(id)
      if (follows.recovered !== null) {
        const { retry_after, since } = follows.recovered
        recovered.push({ integration_id: id, failing_since: since, retry_after })
      }
      notices.push(...writeNotices(follows.notices))
    }
    for (const id of changed) known.forget(id)
    const settled: Settled = { applied, changed, recovered, notices, dueAgain }
    return { settled, logs }
  }

  const warn = (now: number, disableAfter: number, limit: number) => {
    const logs: Array<string> = []
    const notices: Array<IntegrationNotice> = []
    for (const row of q.toBeWarned.all(...Failing.warnedSince(now, disableAfter), limit)) {
      const id = integrationId(row[0])
      const subject = subjectOf(id, now, logs, "An integration that can't be read fails, and nobody is warned of it.")
      const warning = subject === null ? null : Consequences.warningOf(subject, now, disableAfter)
      if (warning === null) continue
      setFailing(id, warning.failing)
      notices.push(warning.notice)
    }
    return { notices: writeNotices(notices), logs }
  }

  // ---- Workers

  const beat = ({
    holds,
    now,
    until,
    worker
  }: Heartbeat): { readonly membership: Membership; readonly freed: ReadonlyArray<Lease> } => {
    const before = [...members]
    for (const [name, end] of before) if (end <= now) members.delete(name)
    const continued = members.has(worker)
    const held = holds === undefined ? null : new Set(holds.ids)
    const freed: Array<Lease> = []
    for (const lease of leases.values()) {
      const isOwn = lease.worker === worker
      const isLost = isOwn && held !== null && !held.has(lease.id) && lease.created_at < (holds?.before ?? 0)
      // Also what was claimed by a worker that did not know that its membership had lapsed.
      if (!members.has(lease.worker) || (isOwn && until === null) || isLost) freed.push(lease)
    }
    if (until === null) members.delete(worker)
    else members.set(worker, until)
    state.undo(() => {
      members.clear()
      for (const [name, end] of before) members.set(name, end)
    })
    let rank = 0
    for (const name of members.keys()) if (name < worker) rank++
    return { membership: { workers: members.size, rank, continued }, freed }
  }

  const heartbeat = (heart: Heartbeat): Membership => {
    const { freed, membership } = beat(heart)
    state.unlease(freed)
    for (const lease of freed) giveBack(lease, lease.due_at)
    // With nothing to send this is the only write: it shows a full disk before an event comes.
    q.beat.run(heart.now)
    return membership
  }

  // ---- Sending again

  /** Makes a delivery due, whatever its state; false if there is none. */
  const resend = (id: DeliveryId, now: number): boolean => {
    const lease = leases.get(id)
    if (lease !== undefined && isOpen(lease.state)) {
      const { due_at, resend: before } = lease
      state.undo(() => Object.assign(lease, { due_at, resend: before }))
      Object.assign(lease, { due_at: Math.min(due_at, now), resend: 2 })
      return true
    }
    const row = q.standing.get(id)
    if (row === undefined) return false
    const [integration, from, lane] = [integrationId(row[0]), Number(row[1]), laneOf(row[3])]
    state.move(from, codes.pending)
    // Cancelled during an attempt, which may still be under way.
    if (lease !== undefined) {
      state.unlease([lease])
      state.lease({ ...lease, state: codes.pending, due_at: now, stored_due_at: now, resend: 2 })
    }
    if (isOpen(from)) state.noteGone(lane, integration, Number(row[7]))
    else q.keepEndingAttempt.run(id)
    q.revive.run(now, id)
    state.noteDue(lane, integration, now, id)
    return true
  }

  const statusOf = (id: IntegrationId) => known.get(id)?.row.status

  const redeliverOne = (id: DeliveryId, now: number): RedeliverResult => {
    const row = q.standing.get(id)
    if (row === undefined) return refused("not_found")
    const status = statusOf(integrationId(row[0]))
    if (status === undefined) return refused("integration_deleted")
    if (status === "disabled") return refused("integration_disabled")
    resend(id, now)
    return { _tag: "Redelivered", count: 1, delivery_id: id }
  }

  /** Makes some deliveries due after one; says how many, and after which there may be more; null if it is disabled or gone. */
  const redeliverSome = (id: IntegrationId, since: number, now: number, after: number) => {
    if (statusOf(id) === undefined || statusOf(id) === "disabled") return null
    const rows = q.recoverable.all(id, after, redeliveryBatch)
    const last = rows.at(-1)
    let count = 0
    for (const row of rows) {
      const delivery = deliveryId(row[0])
      const lease = leases.get(delivery)
      if (Number(row[1] ?? 0) < since || (lease !== undefined && isOpen(lease.state))) continue
      if (resend(delivery, now)) count++
    }
    return { count, next: rows.length === redeliveryBatch && last !== undefined ? Number(last[0]) : null }
  }

  const redeliverAll = Effect.fnUntraced(function* (id: IntegrationId, since: number, now: number, note: () => void) {
    let [count, after]: [number, number | null] = [0, 0]
    let why: "not_found" | "integration_disabled" | null = null
    while (after !== null) {
      const from: number = after
      const part: ReturnType<typeof redeliverSome> = yield* turns.change({
        run: () => {
          const some = redeliverSome(id, since, now, from)
          if (some === null) why = statusOf(id) === undefined ? "not_found" : "integration_disabled"
          return some
        },
        isDurable: true,
        rows: redeliveryBatch
      })
      count += part?.count ?? 0
      if ((part?.count ?? 0) > 0) note()
      after = part?.next ?? null
      // By turns with everything else.
      yield* Effect.yieldNow
    }
    return why !== null && count === 0
      ? refused(why)
      : ({ _tag: "Redelivered", count, delivery_id: null } satisfies RedeliverResult)
  })

  const probe = (id: IntegrationId, now: number): RedeliverResult => {
    const row = known.get(id)?.row
    if (row === undefined) return refused("not_found")
    if (row.status !== "disabled" || row.disabled_reason === "manual") return refused("not_disabled")
    while (cancellations.has(id)) {
      cancelMore(id)
      loadCancellations()
    }
    let before = Number.MAX_SAFE_INTEGER
    for (;;) {
      const rows = q.newestUnacknowledged.all(id, before, 100)
      const free = rows.find((each) => !leases.has(deliveryId(each[0])))
      if (free !== undefined) {
        const delivery = deliveryId(free[0])
        resend(delivery, now)
        return { _tag: "Redelivered", count: 1, delivery_id: delivery }
      }
      const last = rows.at(-1)
      if (last === undefined) return refused("nothing_to_send")
      before = Number(last[0])
    }
  }

  // ---- Reading

  /** A delivery of a row as callers see it; to be decoded. */
  const shownOf = (row: Row) => {
    const [id, code, due] = [deliveryId(row[0]), Number(row[4]), row[7]]
    const integration = integrationId(row[3])
    const lease = leases.get(id)
    const isLeased = lease !== undefined && isOpen(lease.state)
    const ending = isOpen(code) && !isLeased && isCancelled(id, integration)
    return {
      id,
      event_id: row[2] ?? eventIdOf(row[1]),
      integration_id: integration,
      state: isLeased ? "delivering" : ending ? "cancelled" : storedStates[code],
      reason: ending ? cancellations.get(integration)?.reason : row[5],
      attempts: row[6],
      next_attempt_at: isLeased || ending ? null : due,
      created_at: row[8] ?? 0
    }
  }

  const endingAttemptOf = (row: Row): object | null =>
    row[11] === null
      ? null
      : {
          number: row[6],
          started_at: row[9],
          duration_ms: row[10],
          outcome: row[11],
          status: row[12],
          detail: row[13],
          response_excerpt: row[14]
        }

  const find = (id: DeliveryId) => {
    const row = q.findDelivery.get(id)
    if (row === undefined) return null
    const event = q.findEvent.get(Number(row[1]))
    const last = endingAttemptOf(row)
    const attempts = q.attemptsOf.all(id).map((each) => attemptFrom(each, 0))
    return {
      delivery: shownOf(row),
      event: event === undefined ? null : eventFrom(event, 0),
      attempts: last === null ? attempts : [...attempts, last]
    }
  }

  const list = (filter: DeliveryFilter): ReadonlyArray<object> => {
    const { after, event_id, integration_id, limit, order, states = [undefined] } = filter
    const isNewest = order === "newest"
    const from = after ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0)
    const range = event_id === undefined ? [] : Object.values(q.rangeOfEvent.get(event_id) ?? {}).map(Number)
    if (event_id !== undefined && range.length === 0) return []
    const [seq = 0, first = 0, last = 0] = range
    const found: Array<Row> = []
    for (const each of states) {
      if (each === "delivering") {
        const ids: Array<DeliveryId> = []
        for (const lease of leases.values())
          if (isOpen(lease.state) && (integration_id ?? lease.integration) === lease.integration) ids.push(lease.id)
        const held = ids
          .filter((id) => (isNewest ? id < from : id > from) && (event_id === undefined || (id >= first && id <= last)))
          .toSorted((a, b) => (isNewest ? b - a : a - b))
        for (const id of held.slice(0, limit)) {
          const row = q.findDelivery.get(id)
          if (row !== undefined && (event_id === undefined || row[1] === seq)) found.push(row)
        }
        continue
      }
      const isWaiting = each === "pending" || each === "retrying"
      const params: Record<string, number> = { "1": from, "2": isWaiting ? -1 : limit }
      if (integration_id !== undefined) params["3"] = integration_id
      if (event_id !== undefined) Object.assign(params, { "4": first, "5": last, "6": seq })
      let count = 0
      for (const row of listed(Sql.list(each, filter)).iterate(prefixed(params))) {
        if (isWaiting && leases.has(deliveryId(row[0]))) continue
        found.push(row)
        if (++count === limit) break
      }
    }
    return found
      .toSorted((a, b) => (isNewest ? Number(b[0]) - Number(a[0]) : Number(a[0]) - Number(b[0])))
      .slice(0, limit)
      .map((row) => {
        const id = deliveryId(row[0])
        const before = row[11] === null && row[6] !== 0 ? q.lastAttempt.get(id) : undefined
        return { ...shownOf(row), last_attempt: before === undefined ? endingAttemptOf(row) : attemptFrom(before, 0) }
      })
  }

  const events = ({ countUpTo, limit, offset, resource_type, scope, since, until }: EventFilter) => {
    const of = [scope.type, scope.id, resource_type, since ?? Number.MIN_SAFE_INTEGER] as const
    const countFrom = (due: number, seq: number, most: number): number | null => {
      const count = q.countOf.get(...of, due, seq, most)?.[0]
      return count === null || count === undefined ? null : Number(count)
    }
    const page = (due: number, seq: number) => q.eventsOf.all(...of, due, seq, limit).map((row) => eventFrom(row, 0))
    const head = until ?? Number.MAX_SAFE_INTEGER
    if (offset === 0) return { items: page(head, 0), total: countFrom(head, 0, countUpTo) }
    const place = q.eventBehind.get(...of, head, 0, offset)
    if (place === undefined) return { items: [], total: countFrom(head, 0, offset) }
    const [due, seq] = [Number(place[0]), Number(place[1])]
    const rest = countFrom(due, seq, countUpTo - offset)
    return { items: page(due, seq), total: rest === null ? null : offset + rest }
  }

  const purge = ({ after, before, limit }: PurgeRequest): Purged => {
    q.deleteNotices.run(limit, before)
    // One more says whether there is anything to go on with.
    const found = q.oldEvents.all(after, limit + 1)
    const looked = found.slice(0, limit)
    // A clock may have been wrong: old ones may be stored behind a younger one.
    const old = looked.filter((row) => Number(row[1]) < before)
    if (old.length === 0) return { events: 0, deliveries: 0, next: null }
    const next = found.length > limit ? Number(looked.at(-1)?.[0]) : null
    // Before the events that it names are deleted.
    listNew()
    const done: Array<number> = []
    let purged = 0
    for (const row of old) {
      const seq = Number(row[0])
      const deliveries = row[2] === null ? [] : q.deliveriesOfEvent.all(Number(row[2]), Number(row[3]), seq)
      const isActive = ([id, integration, code]: ReadonlyArray<unknown>) =>
        isOpen(Number(code)) && !isCancelled(Number(id), integrationId(integration))
      if (deliveries.some((each) => isActive(Object.values(each)))) continue
      for (const [id, integration, code] of deliveries.map((each) => Object.values(each))) {
        const delivery = deliveryId(id)
        q.unlistDelivery.run(Number(integration), delivery)
        q.deleteAttempts.run(delivery)
        q.deleteDelivery.run(delivery)
        state.count(isOpen(Number(code)) ? codes.cancelled : Number(code), -1)
        const lease = leases.get(delivery)
        if (lease !== undefined) state.unlease([lease])
      }
      purged += deliveries.length
      done.push(seq)
    }
    const seqs = JSON.stringify(done)
    q.deleteOfBuildings.run(seqs)
    q.deleteOfTenants.run(seqs)
    for (const seq of done) q.deleteEvent.run(seq)
    state.events -= done.length
    state.isChanged = true
    return { events: done.length, deliveries: purged, next }
  }

  const summary = (now: number) => {
    refresh()
    const [pending = 0, delivered = 0, retrying = 0, exhausted = 0, expired = 0, cancelled = 0, skipped = 0] =
      state.counts
    const held = { pending: 0, retrying: 0 }
    for (const lease of leases.values()) {
      if (lease.state === codes.pending) held.pending++
      else if (lease.state === codes.retrying) held.retrying++
    }
    const due = nextDue()
    return {
      events: state.events,
      states: {
        pending: pending - held.pending,
        delivering: held.pending + held.retrying,
        retrying: retrying - held.retrying,
        delivered,
        exhausted,
        expired,
        cancelled,
        skipped
      },
      oldest_due_at: due !== null && due <= now ? due : null
    }
  }

  const notices = ({ after, integration_id, limit, order }: NoticeFilter): ReadonlyArray<object> => {
    const isNewest = order === "newest"
    const params: Record<string, number> = { "1": after ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0), "2": limit }
    if (integration_id !== undefined) params["3"] = integration_id
    return listed(Sql.notices(integration_id !== undefined, isNewest))
      .all(prefixed(params))
      .map((row) => ({
        id: row[0],
        kind: row[1],
        integration_id: row[2],
        scope_type: row[3],
        scope_id: row[4],
        at: row[5],
        details: row[6]
      }))
  }

  // ---- The beginning, and what goes on in the background

  if (!state.isLoaded) {
    yield* turns.change({
      run: () => {
        load()
        q.recoverLeases.run(state.low)
        state.low = state.delivery + 1
        state.isChanged = true
        state.isLoaded = true
      },
      isDurable: false,
      rows: 1
    })
  }

  const wanted = yield* Queue.sliding<void>(1)
  const goOn = Effect.asVoid(Queue.offer(wanted, undefined))
  const round = Effect.suspend(() => Effect.forEach([...cancellations.keys()], cancelInParts, { discard: true })).pipe(
    Effect.catchTag("SqlError", (error) =>
      Effect.logWarning(
        `Deliveries of disabled and deleted integrations are not all marked as cancelled yet: ${error.message}`
      )
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(lasting("Marking deliveries of disabled and deleted integrations as cancelled", round))

  const attempt = (run: () => void): Effect.Effect<void, SqlError.SqlError> => turns.inTransaction(run)

  const endings = Endings.of({
    begin: (id, reason) =>
      attempt(() => {
        settleUncertain()
        uncertain.add(id)
        known.forget(id)
        const [pending, retrying] = cancelAll(id, reason, () => undefined)
        if (pending + retrying > 0) q.countCancelled.run(pending, retrying)
      }),
    prepare: cancelInParts,
    finish: (id) =>
      attempt(() => {
        settleUncertain()
        uncertain.add(id)
        known.forget(id)
        while (cancelMore(id));
      }),
    goOn
  })

  const logAll = (logs: ReadonlyArray<string>) =>
    Effect.forEach(logs, (line) => Effect.logError(line), { discard: true })
  const read = <A>(operation: keyof Service, run: () => A) =>
    failAs(`DeliveryStore.${operation}`)(
      turns.read(() => {
        refresh()
        return run()
      })
    )
  const change = <A>(operation: keyof Service, run: () => A, rows = 1) =>
    failAs(`DeliveryStore.${operation}`)(turns.change({ run, isDurable: true, rows }))

  const store = DeliveryStore.of({
    enqueue: (records, given?: ReadonlyArray<RememberedRequest>) => {
      const keys = given ?? []
      if (records.length === 0 && keys.length === 0) return Effect.succeed([])
      return turns
        .change({
          run: () => enqueue(records, keys),
          isDurable: true,
          isUrgent: records.some(({ deliveries }) => deliveries.some(({ lane }) => isUrgentLane(lane))),
          rows: records.reduce((sum, { deliveries }) => sum + 1 + deliveries.length, 0),
          onLost: (stored) => {
            if (stored instanceof KeyTaken) return
            for (const each of stored)
              for (const { id, state: to } of each) if (to === "delivering") state.unlearned.push(id)
          }
        })
        .pipe(
          Effect.flatMap((stored) => (stored instanceof KeyTaken ? Effect.fail(stored) : Effect.succeed(stored))),
          failAsUnlessTaken("DeliveryStore.enqueue")
        )
    },

    claim: (request) =>
      turns
        .read(() => claimNow(request), request.limit > 0)
        .pipe(
          Effect.flatMap(({ claimed, unsendable }): Effect.Effect<Claimed, SqlError.SqlError> =>
            unsendable.length === 0
              ? Effect.succeed(claimed)
              : Effect.flatMap(putOff(unsendable, request.now), () =>
                  turns.read(() => ({ deliveries: claimed.deliveries, next_due: nextDue() }))
                )
          ),
          failAs("DeliveryStore.claim")
        ),

    settle: (outcomes, now, disableAfter) =>
      turns
        .change({
          run: () => settle(outcomes, now, disableAfter),
          isDurable: ({ settled: { changed, notices: written } }) => changed.length > 0 || written.length > 0,
          rows: outcomes.settlements.length + outcomes.releases.length
        })
        .pipe(
          Effect.flatMap(({ logs, settled }) => {
            if (settled.changed.length === 0 && logs.length === 0) return Effect.succeed(settled)
            return Effect.as(Effect.andThen(logAll(logs), goOn), settled)
          }),
          failAs("DeliveryStore.settle")
        ),

    heartbeat: (heart) =>
      turns.change({ run: () => heartbeat(heart), isDurable: false, rows: 1 }).pipe(
        Effect.tap(() => (cancellations.size > 0 ? goOn : Effect.void)),
        failAs("DeliveryStore.heartbeat")
      ),

    redeliver: (request: RedeliverRequest, now) => {
      switch (request.type) {
        case "delivery":
          return change("redeliver", () => redeliverOne(request.id, now))
        case "integration":
          return Effect.suspend(() => {
            let isBegun = false
            const note = () => {
              isBegun = true
            }
            return failAsBegun(
              "DeliveryStore.redeliver",
              () => isBegun
            )(redeliverAll(request.id, request.since, now, note))
          })
        case "probe":
          return Effect.andThen(
            failAs("DeliveryStore.redeliver")(cancelInParts(request.id)),
            change("redeliver", () => probe(request.id, now))
          )
      }
    },

    warn: (now, disableAfter, limit) =>
      Effect.flatMap(
        change("warn", () => warn(now, disableAfter, limit)),
        ({ logs, notices: written }) => Effect.as(logAll(logs), written)
      ),

    addNotice: (notice) =>
      Effect.flatMap(
        change("addNotice", () => writeNotices([notice])[0]),
        (kept) =>
          kept === undefined ? Effect.die(new Error("a notice was stored and not returned")) : Effect.succeed(kept)
      ),

    find: (id) =>
      read("find", () => find(id)).pipe(
        Effect.flatMap((found): Effect.Effect<FoundDelivery | null, Schema.SchemaError> =>
          found === null ? Effect.succeed(null) : decodeFound(found)
        ),
        failAs("DeliveryStore.find")
      ),

    list: (filter) =>
      finishCancellations(filter).pipe(
        Effect.andThen(turns.read(() => (refresh(), list(filter)))),
        Effect.flatMap((rows): Effect.Effect<ReadonlyArray<ListedDelivery>, Schema.SchemaError> => decodeListed(rows)),
        failAs("DeliveryStore.list")
      ),

    feed: ({ after, integration_id, limit }) =>
      turns
        .read(() => {
          refresh()
          return q.feed
            .all(after, limit, integration_id)
            .map((row) => ({ delivery: shownOf(row), event: eventFrom(row, 15) }))
        })
        .pipe(
          Effect.flatMap((items): Effect.Effect<ReadonlyArray<FeedItem>, Schema.SchemaError> => decodeFeed(items)),
          failAs("DeliveryStore.feed")
        ),

    events: Effect.fnUntraced(function* (
      filter: EventFilter
    ): Effect.fn.Return<EventPage, Schema.SchemaError | SqlError.SqlError> {
      if (state.event > state.listedEvent) yield* turns.change({ run: listNew, isDurable: false, rows: 1 })
      const { items, total } = yield* inTurn(turns.read(() => events(filter)))
      return { items: yield* decodeEvents(items), total: total ?? filter.countUpTo, isCapped: total === null }
    }, failAs("DeliveryStore.events")),

    notices: (filter) =>
      Effect.flatMap(
        turns.read(() => notices(filter)),
        noticesFromRows
      ).pipe(failAs("DeliveryStore.notices")),

    purge: (request) => change("purge", () => purge(request), request.limit),

    summary: (now) => read("summary", () => summary(now))
  })

  return { store, endings }
})

const integrationId = (value: unknown): IntegrationId => IntegrationIds.make(Number(value), { disableChecks: true })

/** In place of the id of an event that is not there. */
const eventIdOf = (seq: unknown): string => `evt_${String(seq).padStart(20, "0")}`

const prefixed = (params: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [`?${name}`, value]))

const refused = (why: Extract<RedeliverResult, { readonly _tag: "Refused" }>["why"]): RedeliverResult => ({
  _tag: "Refused",
  why
})

/** The code of where a delivery stands that is not leased. */
const codeOf = ({ state }: Pick<Standing.Standing, "state">): number =>
  codes[state === "delivering" ? "pending" : state]

const failureOf = <A, E>(exit: Exit.Failure<A, E>): unknown => Cause.squash(exit.cause)

const isSameFailing = (one: Failing.Failing | null, other: Failing.Failing | null): boolean =>
  one?.since === other?.since &&
  one?.noticed === other?.noticed &&
  one?.attempts === other?.attempts &&
  one?.retry_after === other?.retry_after

const idsIn = (ids: ReadonlyArray<DeliveryId>): string =>
  ids.length > maxNamed ? `${ids.slice(0, maxNamed).join(", ")} and ${ids.length - maxNamed} more` : ids.join(", ")

/** Deliveries in the order of rounds, of lists that are in the order of due times. */
const inRounds = (
  lists: ReadonlyArray<readonly [Head, ReadonlyArray<Chosen>]>
): ReadonlyArray<readonly [Head, Chosen]> => {
  const chosen: Array<readonly [Head, Chosen]> = []
  for (let round = 0; ; round++) {
    const members = lists.flatMap(([head, due]) => {
      const each = due[round]
      return each === undefined ? [] : [[head, each] as const]
    })
    if (members.length === 0) return chosen
    members.sort(([a, one], [b, other]) => one.due - other.due || a.integration - b.integration)
    chosen.push(...members)
  }
}

export const layer: Layer.Layer<
  DeliveryStore | Endings | IntegrationLocks,
  SqlError.SqlError,
  SqliteTurns | KnownIntegrations
> = Layer.effectContext(
  Effect.map(make, ({ endings, store }) =>
    Context.make(DeliveryStore, store).pipe(
      Context.add(Endings, endings),
      // Transactions that write take turns.
      Context.add(IntegrationLocks, { forChange: () => Effect.void, scope: () => Effect.void })
    )
  )
)
