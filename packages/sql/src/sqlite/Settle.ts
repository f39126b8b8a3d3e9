/**
 * Records the outcomes of leased deliveries and their consequences for integrations.
 */
import type {
  Attempt,
  DeliveryId,
  DeliveryReason,
  DeliveryStore,
  IntegrationId,
  NewNotification,
  Notification,
  Outcomes,
  Settled,
  Settlement
} from "@doorhook/core"
import { HealthRules, FailureState, NotificationId, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import { sqlite } from "../Dialect.ts"
import { failingValues } from "../IntegrationRows.ts"
import { toRow } from "../NotificationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { recordStatements } from "../statements/RecordStatements.ts"
import { failAs } from "../StoreFailure.ts"
import type { SqliteCancellations } from "./Cancellations.ts"
import { integrationId } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import type { FileOwner } from "./FileOwner.ts"
import { codeOf, entryOf } from "./FileOwner.ts"
import type { Lease } from "./FileOwnerState.ts"
import { isOpen } from "./FileOwnerState.ts"

type Service = DeliveryStore["Service"]

/** Column values of a delivery that ends without an attempt. */
const noAttempt = {
  started_at: null,
  duration_ms: null,
  outcome: null,
  status: null,
  detail: null,
  response_excerpt: null
}

export const makeSettle = (
  { change, known, release, state, turns, wait }: FileOwner,
  { cancelNow, resume }: SqliteCancellations
): Pick<Service, "settle" | "warn" | "addNotification"> => {
  const { leases } = state
  const integrations = integrationStatements(sqlite)
  const q = {
    end: turns.prepare(Sql.end),
    amend: turns.prepare(Sql.updateEnded),
    insertAttempt: turns.prepare(Sql.insertAttempt),
    insertNotification: turns.prepare(recordStatements(sqlite).insertNotification),
    disable: turns.prepare(integrations.disable),
    enable: turns.prepare(integrations.enable),
    setFailing: turns.prepare(integrations.setFailing),
    dueWarnings: turns.prepare(integrations.dueWarnings)
  }

  // ---- Attempts

  /** Ends a delivery and stores the attempt that ended it in the delivery's row. */
  const end = (id: DeliveryId, to: Transitions.QueueEntry, attempt: Attempt | null) => {
    const { attempts, early, lane, reason } = to
    const { detail, duration_ms, outcome, response_excerpt, started_at, status } = attempt ?? noAttempt
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

  /** Records an attempt of a delivery that was cancelled during the attempt. */
  const updateEnded = (id: DeliveryId, { attempts, early }: Transitions.QueueEntry, attempt: Attempt) => {
    const { detail, duration_ms, outcome, response_excerpt, started_at, status } = attempt
    q.amend.run(attempts, early, started_at, duration_ms, outcome, status, detail, response_excerpt, id)
  }

  /** Records an attempt that did not end its delivery. */
  const addAttempt = (id: DeliveryId, attempt: Attempt) => {
    const { detail, duration_ms, number, outcome, response_excerpt, started_at, status } = attempt
    q.insertAttempt.run(id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)
  }

  /** Records an outcome of a current lease. Returns the delivery's former and new queue entry. */
  const settleOne = (lease: Lease, settlement: Settlement, now: number, toEnd: DeliveryReason | null) => {
    const { attempt } = settlement
    const { id } = lease
    const from = entryOf(lease)
    const to = Transitions.settle(from, settlement, now, toEnd)
    if (!isOpen(lease.state)) {
      if (attempt !== null) updateEnded(id, to, attempt)
      return { from, to }
    }
    if (to.due_at === null) end(id, to, attempt)
    else {
      wait(id, lease.integration, to)
      if (attempt !== null) addAttempt(id, attempt)
    }
    state.move(lease.state, codeOf(to))
    return { from, to }
  }

  // ---- Consequences

  const writeNotification = <Kind extends NewNotification>(notification: Kind): Notification<Kind> => {
    const { at, details, integration_id, kind, scope_id, scope_type } = toRow(notification)
    const id = q.insertNotification.get(kind, integration_id, scope_type, scope_id, at, details)?.[0]
    return { ...notification, id: NotificationId.make(Number(id)) }
  }

  const setFailing = (id: IntegrationId, failing: FailureState.FailureState | null) => {
    q.setFailing.all(...failingValues(failing), id)
    known.forgetFailing(id)
  }

  const apply = (change: HealthRules.HealthChange, now: number): void => {
    const { integration_id: id, type } = change
    if (type === "set") setFailing(id, change.failing)
    else if (type === "disable") q.disable.get(change.reason, now, id)
    else if (type === "enable") q.enable.get(now, id)
    else if (type === "cancel") cancelNow(id, change.reason)
  }

  /** Applies changes of integrations, and stores their notifications. */
  const applyAll = (changes: ReadonlyArray<HealthRules.HealthChange>, now: number) => {
    for (const change of changes) apply(change, now)
    const report = HealthRules.reportOf(changes)
    for (const id of report.changed) known.forget(id)
    return { ...report, notifications: report.notifications.map(writeNotification) }
  }

  const settle = ({ releases, settlements, worker }: Outcomes, now: number, disableAfter: number): Settled => {
    /** Integrations whose health may change. */
    const subjects = new Map<IntegrationId, HealthRules.HealthSubject>()
    const ends = new Map<IntegrationId, DeliveryReason | null>()
    for (const [id, batch] of Map.groupBy(settlements, ({ integration_id }) => integration_id)) {
      const found = known.get(id)
      if (found === undefined) ends.set(id, "integration_deleted")
      else if (found.subject !== null) {
        ends.set(id, Transitions.reasonToEnd(found.subject.integration))
        if (HealthRules.mayChangeHealth(found.subject, batch)) subjects.set(id, found.subject)
      }
    }
    const applied = new Set<DeliveryId>()
    const ended: Array<Lease> = []
    state.undo(() => ended.forEach(state.lease))
    const batches = new Map<IntegrationId, Array<HealthRules.AppliedSettlement>>()
    let hasDueDeliveries = false
    for (const settlement of settlements) {
      const lease = leases.get(settlement.delivery_id)
      if (lease === undefined || !Transitions.isCurrent(lease, settlement, worker)) continue
      const { integration } = lease
      const { from, to } = settleOne(lease, settlement, now, ends.get(integration) ?? null)
      leases.delete(lease.id)
      ended.push(lease)
      applied.add(lease.id)
      hasDueDeliveries ||= to.state === "pending"
      if (!subjects.has(integration)) continue
      const batch = batches.get(integration)
      if (batch === undefined) batches.set(integration, [{ settlement, from, to }])
      else batch.push({ settlement, from, to })
    }
    for (const { delivery_id, due_at } of releases) {
      const lease = leases.get(delivery_id)
      if (lease?.worker === worker) release([lease], due_at)
    }
    const report = applyAll(HealthRules.evaluateBatch(subjects, batches, now, disableAfter), now)
    return { applied, ...report, hasDueDeliveries, postponed: new Set() }
  }

  const warn = (now: number, disableAfter: number, limit: number) => {
    const due = q.dueWarnings.all(...FailureState.warningCutoffs(now, disableAfter), limit)
    const changes = due.flatMap((row) => {
      const subject = known.get(integrationId(row[0]))?.subject ?? null
      return subject === null ? [] : HealthRules.evaluateTime(subject, now, disableAfter)
    })
    return applyAll(changes, now).notifications
  }

  return {
    settle: (outcomes, now, disableAfter) =>
      turns
        .change({
          run: () => settle(outcomes, now, disableAfter),
          isDurable: ({ changed, notifications }) => changed.length > 0 || notifications.length > 0,
          rows: outcomes.settlements.length + outcomes.releases.length
        })
        .pipe(
          Effect.tap(({ changed }) => (changed.length === 0 ? Effect.void : resume)),
          failAs("DeliveryStore.settle")
        ),

    warn: (now, disableAfter, limit) => change("warn", () => warn(now, disableAfter, limit)),

    addNotification: (notification) => change("addNotification", () => writeNotification(notification))
  }
}
