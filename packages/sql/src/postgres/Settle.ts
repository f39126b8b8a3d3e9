/**
 * Records attempts and their consequences for deliveries and integrations.
 *
 * If all deliveries of a batch are acknowledged and no integration is affected, a single statement ends them. Otherwise
 * a transaction first locks the integrations that may be affected, then the deliveries of the batch.
 *
 * A settlement waits for no lock, because the transaction that holds it may belong to a process that has vanished. What
 * another transaction holds, an affected integration or a delivery, is skipped and returned as postponed. The locks on
 * integrations exclude other changes of their status and failure state, but not publications: a host may publish in a
 * transaction that stays open. The stronger lock, which excludes publications, is also taken only if it is free.
 */
import type {
  DeliveryId,
  IntegrationId,
  IntegrationNotification,
  NewNotification,
  Notification,
  NotificationId,
  Outcomes,
  Recovery,
  Release,
  Settled,
  Settlement
} from "@doorhook/core"
import { BuildingId, HealthRules, FailureState, Settlements, Transitions } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { SubjectRow } from "../IntegrationRows.ts"
import { failingOf, failingValues, subjectFromRow } from "../IntegrationRows.ts"
import { toRow } from "../NotificationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { recordStatements } from "../statements/RecordStatements.ts"
import type { Cancellations } from "../stores/Cancellations.ts"
import { explain, makeLogThrottle } from "../stores/LogThrottle.ts"
import { attemptColumns } from "./Columns.ts"
import type { Sql, Tally } from "./Moves.ts"
import { freeEntries, idsOf, move, writeTally } from "./Moves.ts"
import { int8s, postgres } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import { announceNotifications } from "./Watermarks.ts"

const { disable, enable, setFailing, dueWarnings } = integrationStatements(postgres)
const { insertNotification } = recordStatements(postgres)

const settledNothing: Settled = {
  applied: new Set(),
  changed: [],
  recovered: [],
  notifications: [],
  hasDueDeliveries: false,
  postponed: new Set()
}

/** A settlement that the single statement can record: an acknowledgement without further consequences. */
interface Acknowledged extends Settlement {
  readonly attempt: NonNullable<Settlement["attempt"]>
}

const isAcknowledged = (settlement: Settlement): settlement is Acknowledged =>
  settlement.state === "delivered" && settlement.attempt?.outcome === "acknowledged" && !settlement.gone

/**
 * Splits a batch into settlements that the single statement can record, and settlements that need a transaction. If a
 * delivery occurs several times, all its settlements need a transaction.
 */
const sortBatch = (settlements: ReadonlyArray<Settlement>) => {
  const seen = new Set<DeliveryId>()
  const repeated = new Set<DeliveryId>()
  for (const { delivery_id: id } of settlements) (seen.has(id) ? repeated : seen).add(id)
  const acknowledged: Array<Acknowledged> = []
  const others: Array<Settlement> = []
  for (const settlement of settlements) {
    if (isAcknowledged(settlement) && !repeated.has(settlement.delivery_id)) acknowledged.push(settlement)
    else others.push(settlement)
  }
  return { acknowledged: acknowledged.toSorted((a, b) => a.delivery_id - b.delivery_id), others }
}

/** Returns the queue entry of a leased delivery that has not changed since its claim. */
const underLease = ({ attempt, early, lane }: Acknowledged, worker: string): Transitions.QueueEntry => ({
  state: "delivering",
  reason: null,
  attempts: attempt.number - 1,
  early,
  lane,
  due_at: 0,
  worker,
  resend: 0
})

type Outline = Pick<SubjectRow, "status" | "disabled_reason"> & Parameters<typeof failingOf>[0]

/** A typical integration: enabled and not failing. */
const sound: Omit<SubjectRow, "id"> = {
  scope_type: "building",
  scope_id: 1,
  status: "enabled",
  disabled_reason: null,
  failing_since: null,
  failing_noticed: 0,
  failing_attempts: 0,
  failing_retry_after: null
}

/**
 * Returns the part of an integration that decides whether a settlement can have consequences. Decoding the whole row
 * takes longer.
 */
const outlineOf = (id: IntegrationId, row: Outline): HealthRules.HealthSubject => ({
  integration: {
    id,
    scope: { type: "building", id: BuildingId.make(1) },
    status: row.status === "enabled" ? "enabled" : "disabled",
    disabled_reason: row.disabled_reason === "manual" ? "manual" : null
  },
  failing: failingOf(row)
})

/** Whether two failure states are equal. */
const isSame = (one: FailureState.FailureState | null, other: FailureState.FailureState | null): boolean =>
  one?.since === other?.since &&
  one?.warnings === other?.warnings &&
  one?.attempts === other?.attempts &&
  one?.retry_after === other?.retry_after

/** Columns of an integration that settlements read, and whether this transaction has locked its row. */
interface LockedRow extends SubjectRow {
  readonly locked: boolean
}

/** Reads integrations, and locks `suspects` and all integrations that are failing or disabled, if they are free. */
const lockSubjects = (sql: Sql, ids: ReadonlyArray<IntegrationId>, suspects: ReadonlyArray<IntegrationId>) =>
  sql.unsafe<LockedRow>(Statements.lockSubjects, [int8s(ids), int8s(suspects)])

/** Stores notifications. Runs in a transaction. */
export const writeNotifications = Effect.fnUntraced(function* <Kind extends NewNotification>(
  sql: Sql,
  notifications: ReadonlyArray<Kind>
) {
  const stored: Array<Notification<Kind>> = []
  if (notifications.length > 0) yield* sql.unsafe(announceNotifications)
  for (const notification of notifications) {
    const row = toRow(notification)
    const values = [row.kind, row.integration_id, row.scope_type, row.scope_id, row.at, row.details]
    for (const { id } of yield* sql.unsafe<{ readonly id: NotificationId }>(insertNotification, values))
      stored.push({ ...notification, id })
  }
  return stored
})

/** Makes `DeliveryStore.settle` and `DeliveryStore.warn`. */
export const makeSettle = (sql: Sql, endings: Cancellations["Service"]) => {
  const isTimeToTell = makeLogThrottle()

  /** Decodes integrations. Settlements have no consequences for an unreadable integration until its row is repaired. */
  const subjectsOf = Effect.fnUntraced(function* (rows: ReadonlyArray<SubjectRow>, now: number) {
    const subjects = new Map<IntegrationId, HealthRules.HealthSubject>()
    const unreadable = new Set<IntegrationId>()
    for (const row of rows) {
      const read = yield* Effect.result(subjectFromRow(row))
      if (Result.isSuccess(read)) {
        subjects.set(row.id, read.success)
        continue
      }
      unreadable.add(row.id)
      const fault = { name: `integration ${row.id}`, cause: read.failure }
      if (!isTimeToTell(fault, now)) continue
      yield* Effect.logError(
        "Outcomes of deliveries are recorded, but they neither disable nor enable an integration that can't be read, and " +
          `cause no notification. ${explain(fault)}`
      )
    }
    return { subjects, unreadable }
  })

  /**
   * Locks the affected integrations of a batch, before any delivery. Integrations that may be disabled are also locked
   * for change, unless a host is publishing to them in an open transaction.
   */
  const lock = Effect.fnUntraced(function* (
    settlements: ReadonlyMap<IntegrationId, ReadonlyArray<Settlement>>,
    now: number,
    disableAfter: number
  ) {
    const mayFollow = (row: SubjectRow) =>
      HealthRules.mayChangeHealth(outlineOf(row.id, row), settlements.get(row.id) ?? [])
    const ids = [...settlements.keys()]
    const suspects = ids.filter((id) => mayFollow({ ...sound, id }))
    const rows = ids.length === 0 ? [] : yield* lockSubjects(sql, ids, suspects)
    const held = rows.filter((row) => !row.locked && mayFollow(row))
    const seen = new Set(rows.map(({ id }) => id))
    const affectedRows = rows.filter((row) => row.locked && mayFollow(row))
    const { subjects: locked, unreadable } = yield* subjectsOf(affectedRows, now)
    const wanted: Array<IntegrationId> = []
    for (const [id, subject] of locked)
      if (HealthRules.mayDisable(subject, settlements.get(id) ?? [], now, disableAfter)) wanted.push(id)
    const free = new Set(
      wanted.length === 0
        ? []
        : yield* idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.lockFreeForChange, [int8s(wanted)]))
    )
    const isAffected = new Set(affectedRows.map(({ id }) => id))
    return {
      affected: locked,
      /** Affected integrations that another transaction has locked. Their settlements are postponed. */
      held: new Set(held.map(({ id }) => id)),
      /** Integrations that can't be disabled now: a host is publishing to them, or they can't be read. */
      busy: new Set([...wanted.filter((id) => !free.has(id)), ...unreadable]),
      /**
       * Why deliveries to an integration end; null if they continue. Unaffected integrations are enabled, so their
       * deliveries continue.
       */
      toEnd: (id: IntegrationId) =>
        (seen.has(id) && !isAffected.has(id)) || unreadable.has(id)
          ? null
          : Transitions.reasonToEnd(locked.get(id)?.integration)
    }
  })

  /**
   * Ends acknowledged deliveries and returns their ids. With `integrations`, skips deliveries whose integration is
   * disabled or failing.
   */
  const acknowledge = (
    worker: string,
    settlements: ReadonlyArray<Acknowledged>,
    integrations: ReadonlyArray<IntegrationId> | null
  ) =>
    Effect.map(
      idsOf(
        sql.unsafe<{ readonly id: DeliveryId }>(Statements.acknowledge, [
          worker,
          int8s(settlements.map(({ delivery_id }) => delivery_id)),
          int8s(settlements.map(({ attempt }) => attempt.number)),
          int8s(settlements.map(({ early }) => early)),
          ...attemptColumns(settlements.map(({ attempt }) => attempt)),
          integrations === null ? null : int8s(integrations),
          int8s(settlements.map(({ lane }) => lane))
        ])
      ),
      (ids) => new Set(ids)
    )

  /**
   * Returns which of the deliveries that were not found are still leased to the worker: another transaction has locked
   * them.
   */
  const leasedAmong = (worker: string, missed: ReadonlyArray<DeliveryId>) =>
    missed.length === 0
      ? Effect.succeed([])
      : idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Statements.leasedAmong, [worker, int8s(missed)]))

  /** Releases deliveries, except those that another transaction has locked, which are returned. Runs in a transaction. */
  const release = Effect.fnUntraced(function* (worker: string, releases: ReadonlyArray<Release>) {
    if (releases.length === 0) return []
    const first = new Map<DeliveryId, Release>()
    for (const each of releases) if (!first.has(each.delivery_id)) first.set(each.delivery_id, each)
    const sorted = [...first.values()].toSorted((a, b) => a.delivery_id - b.delivery_id)
    const ids = sorted.map(({ delivery_id }) => delivery_id)
    const values = [worker, int8s(ids), int8s(sorted.map(({ due_at }) => due_at))]
    const released = new Set(yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Statements.release, values)))
    return yield* leasedAmong(
      worker,
      ids.filter((id) => !released.has(id))
    )
  })

  /**
   * Applies the consequences of a batch to its integrations. Runs after the deliveries are settled, so that disabling
   * an integration does not cancel its acknowledged deliveries. Returns notifications that are not stored yet.
   */
  const conclude = Effect.fnUntraced(function* (
    affected: ReadonlyMap<IntegrationId, HealthRules.HealthSubject>,
    applied: ReadonlyMap<IntegrationId, ReadonlyArray<HealthRules.AppliedSettlement>>,
    busy: ReadonlySet<IntegrationId>,
    now: number,
    disableAfter: number
  ) {
    const changed: Array<IntegrationId> = []
    const recovered: Array<Recovery> = []
    const notifications: Array<IntegrationNotification> = []
    for (const [id, subject] of [...affected].toSorted(([a], [b]) => a - b)) {
      const batch = applied.get(id)
      if (batch === undefined) continue
      const follows = HealthRules.evaluateHealth(subject, batch, now, disableAfter, !busy.has(id))
      if (!isSame(follows.failing, subject.failing))
        yield* sql.unsafe(setFailing, [...failingValues(follows.failing), id])
      if (follows.recovered !== null) {
        const { retry_after, since } = follows.recovered
        recovered.push({ integration_id: id, failing_since: since, retry_after })
      }
      if (follows.disable !== null && (yield* sql.unsafe(disable, [follows.disable, now, id])).length > 0) {
        changed.push(id)
        yield* endings.begin(id, Transitions.reasonOfDisabled({ disabled_reason: follows.disable }))
      }
      if (follows.enable && (yield* sql.unsafe(enable, [now, id])).length > 0) changed.push(id)
      notifications.push(...follows.notifications)
    }
    return { changed, recovered, notifications }
  })

  /** Runs in a transaction. */
  const settleAll = Effect.fnUntraced(function* (
    { releases, settlements: all, worker }: Outcomes,
    now: number,
    disableAfter: number
  ) {
    const grouped = Map.groupBy(all, ({ integration_id }) => integration_id)
    const { affected, busy, held, toEnd } = yield* lock(grouped, now, disableAfter)
    const settlements = all.filter(({ integration_id }) => !held.has(integration_id))
    const { acknowledged, others } = sortBatch(settlements)
    const ended = acknowledged.length === 0 ? new Set<DeliveryId>() : yield* acknowledge(worker, acknowledged, null)
    // Deliveries that were cancelled or resent during the attempt, had already ended, or have lost their lease.
    const passedOver = acknowledged.filter(({ delivery_id }) => !ended.has(delivery_id))
    const wanted = [...new Set([...others, ...passedOver].map(({ delivery_id }) => delivery_id))]
    const found = new Map((yield* freeEntries(sql, wanted)).map((row) => [row.id, row]))
    const missed = yield* leasedAmong(
      worker,
      wanted.filter((id) => !found.has(id))
    )

    const tally: Tally = new Map()
    const moves = [...others, ...passedOver].flatMap((item) => {
      const from = found.get(item.delivery_id)
      if (from === undefined || !Transitions.isCurrent(from, item, worker)) return []
      found.delete(from.id)
      const settlement = busy.has(from.integration_id) ? Settlements.retryAfterGone(item, now) : item
      const to = Transitions.settle(from, settlement, now, toEnd(from.integration_id))
      return [{ from, to, attempt: item.attempt, settlement, integration_id: from.integration_id }]
    })
    yield* move(sql, tally, moves)
    const recorded = acknowledged.flatMap((settlement) => {
      const { delivery_id, integration_id } = settlement
      if (!ended.has(delivery_id) || !affected.has(integration_id)) return []
      const from = underLease(settlement, worker)
      return [{ settlement, from, to: Transitions.settle(from, settlement, now, null), integration_id }]
    })
    const applied = Map.groupBy([...moves, ...recorded], ({ integration_id }): IntegrationId => integration_id)
    const followed = yield* conclude(affected, applied, busy, now, disableAfter)
    yield* writeTally(sql, tally)
    const unreleased = yield* release(worker, releases)
    const heldIds = all.filter(({ integration_id }) => held.has(integration_id)).map(({ delivery_id }) => delivery_id)
    return {
      applied: new Set([...ended, ...moves.map(({ from }) => from.id)]),
      ...followed,
      notifications: yield* writeNotifications(sql, followed.notifications),
      hasDueDeliveries: busy.size > 0 || moves.some(({ to }) => to.state === "pending"),
      postponed: new Set([...heldIds, ...missed, ...unreleased])
    } satisfies Settled
  })

  const inTransaction = Effect.fnUntraced(function* (outcomes: Outcomes, now: number, disableAfter: number) {
    const settled = yield* sql.withTransaction(settleAll(outcomes, now, disableAfter))
    if (settled.changed.length > 0) yield* endings.resume
    return settled
  })

  /** Records outcomes. Calls `noteBegun` when a part of them is committed. */
  const settle = Effect.fnUntraced(function* (
    outcomes: Outcomes,
    now: number,
    disableAfter: number,
    noteBegun: () => void
  ) {
    const { releases, settlements, worker } = outcomes
    if (settlements.length === 0) {
      const unreleased = yield* sql.withTransaction(release(worker, releases))
      return { ...settledNothing, postponed: new Set(unreleased) }
    }
    const { acknowledged, others } = sortBatch(settlements)
    if (others.length > 0 || releases.length > 0) return yield* inTransaction(outcomes, now, disableAfter)
    const integrations = new Set(acknowledged.map(({ integration_id }) => integration_id))
    const ended = yield* acknowledge(worker, acknowledged, [...integrations])
    if (ended.size === settlements.length) return { ...settledNothing, applied: ended }
    if (ended.size > 0) noteBegun()
    const rest = acknowledged.filter(({ delivery_id }) => !ended.has(delivery_id))
    const settled = yield* inTransaction({ worker, settlements: rest, releases }, now, disableAfter)
    return { ...settled, applied: new Set([...ended, ...settled.applied]) }
  })

  /** Runs in a transaction. Skips integrations that another transaction has locked; a later call warns of them. */
  const warnDue = Effect.fnUntraced(function* (now: number, disableAfter: number, limit: number) {
    const due = yield* idsOf(
      sql.unsafe<{ readonly id: IntegrationId }>(dueWarnings, [
        ...FailureState.warningCutoffs(now, disableAfter),
        limit
      ])
    )
    if (due.length === 0) return []
    const rows = yield* lockSubjects(sql, due, due)
    const { subjects } = yield* subjectsOf(
      rows.filter(({ locked }) => locked),
      now
    )
    const notifications: Array<IntegrationNotification> = []
    for (const [id, subject] of subjects) {
      const warning = HealthRules.warningOf(subject, now, disableAfter)
      if (warning === null) continue
      yield* sql.unsafe(setFailing, [...failingValues(warning.failing), id])
      notifications.push(warning.notification)
    }
    return yield* writeNotifications(sql, notifications)
  })

  const warn = (now: number, disableAfter: number, limit: number) =>
    sql.withTransaction(warnDue(now, disableAfter, limit))

  return { settle, warn }
}
