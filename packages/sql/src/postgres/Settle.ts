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
  NewNotification,
  Notification,
  NotificationId,
  Outcomes,
  Release,
  Settled,
  Settlement
} from "@doorhook/core"
import { BuildingId, HealthRules, FailureState, Settlements, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import type { SubjectRow } from "../IntegrationRows.ts"
import { failingValues, subjectOf } from "../IntegrationRows.ts"
import { toRow } from "../NotificationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { recordStatements } from "../statements/RecordStatements.ts"
import type { Cancellations } from "../stores/Cancellations.ts"
import { attemptColumns } from "./Columns.ts"
import type { Sql, Tally } from "./DeliveryTables.ts"
import { freeEntries, idsOf, move, writeTally } from "./DeliveryTables.ts"
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

/** A typical integration: enabled and not failing. */
const sound = (id: IntegrationId): HealthRules.HealthSubject => ({
  integration: { id, scope: { type: "building", id: BuildingId.make(1) }, status: "enabled", disabled_reason: null },
  failing: null
})

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
  /**
   * Locks the affected integrations of a batch, before any delivery. Integrations that may be disabled are also locked
   * for change, unless a host is publishing to them in an open transaction.
   */
  const lock = Effect.fnUntraced(function* (
    settlements: ReadonlyMap<IntegrationId, ReadonlyArray<Settlement>>,
    now: number,
    disableAfter: number
  ) {
    const mayChange = (subject: HealthRules.HealthSubject) =>
      HealthRules.mayChangeHealth(subject, settlements.get(subject.integration.id) ?? [])
    const ids = [...settlements.keys()]
    const suspects = ids.filter((id) => mayChange(sound(id)))
    const rows = ids.length === 0 ? [] : yield* lockSubjects(sql, ids, suspects)
    const seen = new Set(rows.map(({ id }) => id))
    const affected = new Map<IntegrationId, HealthRules.HealthSubject>()
    const held = new Set<IntegrationId>()
    for (const row of rows) {
      const subject = subjectOf(row)
      if (subject === null || !mayChange(subject)) continue
      if (row.locked) affected.set(row.id, subject)
      else held.add(row.id)
    }
    const wanted: Array<IntegrationId> = []
    for (const [id, subject] of affected)
      if (HealthRules.mayDisable(subject, settlements.get(id) ?? [], now, disableAfter)) wanted.push(id)
    const free = new Set(
      wanted.length === 0
        ? []
        : yield* idsOf(sql.unsafe<{ readonly id: IntegrationId }>(Statements.lockFreeForChange, [int8s(wanted)]))
    )
    return {
      affected,
      /** Affected integrations that another transaction has locked. Their settlements are postponed. */
      held,
      /** Integrations that can't be disabled now, because a host is publishing to them. */
      busy: new Set(wanted.filter((id) => !free.has(id))),
      /**
       * Why deliveries to an integration end; null if they continue. Unaffected integrations are enabled, so their
       * deliveries continue. Those of an unreadable integration end at their next claim.
       */
      toEnd: (id: IntegrationId) =>
        seen.has(id) && !affected.has(id) ? null : Transitions.reasonToEnd(affected.get(id)?.integration)
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

  /** Applies changes of integrations, and stores their notifications. */
  const applyAll = Effect.fnUntraced(function* (changes: ReadonlyArray<HealthRules.HealthChange>, now: number) {
    for (const change of changes) {
      const { integration_id: id, type } = change
      if (type === "set") yield* sql.unsafe(setFailing, [...failingValues(change.failing), id])
      else if (type === "disable") yield* sql.unsafe(disable, [change.reason, now, id])
      else if (type === "enable") yield* sql.unsafe(enable, [now, id])
      else if (type === "cancel") yield* endings.begin(id, change.reason)
    }
    const report = HealthRules.reportOf(changes)
    return { ...report, notifications: yield* writeNotifications(sql, report.notifications) }
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
    yield* writeTally(sql, tally)
    const report = yield* applyAll(HealthRules.evaluateBatch(affected, applied, now, disableAfter, busy), now)
    const unreleased = yield* release(worker, releases)
    const heldIds = all.filter(({ integration_id }) => held.has(integration_id)).map(({ delivery_id }) => delivery_id)
    return {
      applied: new Set([...ended, ...moves.map(({ from }) => from.id)]),
      ...report,
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
    const changes = rows.flatMap((row) => {
      const subject = row.locked ? subjectOf(row) : null
      return subject === null ? [] : HealthRules.evaluateTime(subject, now, disableAfter)
    })
    return (yield* applyAll(changes, now)).notifications
  })

  const warn = (now: number, disableAfter: number, limit: number) =>
    sql.withTransaction(warnDue(now, disableAfter, limit))

  return { settle, warn }
}
