/**
 * Records the outcomes of leased deliveries and their consequences for integrations.
 */
import type {
  Attempt,
  DeliveryId,
  DeliveryReason,
  DeliveryStore,
  IntegrationId,
  IntegrationNotification,
  NewNotification,
  Notification,
  Outcomes,
  Recovery,
  Settled,
  Settlement
} from "@doorhook/core"
import { HealthRules, FailureState, NotificationId, Settlements, Transitions } from "@doorhook/core"
import { Cause, Effect, Exit } from "effect"
import { sqlite } from "../Dialect.ts"
import { failingValues } from "../IntegrationRows.ts"
import { toRow } from "../NotificationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { failAs } from "../StoreFailure.ts"
import { explain, makeLogThrottle } from "../stores/LogThrottle.ts"
import type { SqliteCancellations } from "./Cancellations.ts"
import { integrationId } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import type { Owner } from "./Owner.ts"
import { codeOf, entryOf } from "./Owner.ts"
import type { Lease } from "./OwnerState.ts"
import { isOpen } from "./OwnerState.ts"

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
  { change, known, release, state, turns, wait }: Owner,
  { cancelNow, resume }: SqliteCancellations
): Pick<Service, "settle" | "warn" | "addNotification"> => {
  const { leases } = state
  const isTimeToTell = makeLogThrottle()
  const integrations = integrationStatements(sqlite)
  const q = {
    end: turns.prepare(Sql.end),
    amend: turns.prepare(Sql.updateEnded),
    insertAttempt: turns.prepare(Sql.insertAttempt),
    insertNotification: turns.prepare(Sql.insertNotification),
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

  const subjectOf = (
    id: IntegrationId,
    now: number,
    logs: Array<string>,
    why: string
  ): HealthRules.HealthSubject | null => {
    const subject = known.get(id)?.subject
    if (subject === undefined) return null
    if (Exit.isSuccess(subject)) return subject.value
    const fault = { name: `integration ${id}`, cause: Cause.squash(subject.cause) }
    if (isTimeToTell(fault, now)) logs.push(`${why} ${explain(fault)}`)
    return null
  }

  const writeNotification = <Kind extends NewNotification>(notification: Kind): Notification<Kind> => {
    const { at, details, integration_id, kind, scope_id, scope_type } = toRow(notification)
    const id = q.insertNotification.get(kind, integration_id, scope_type, scope_id, at, details)?.[0]
    return { ...notification, id: NotificationId.make(Number(id)) }
  }

  const setFailing = (id: IntegrationId, failing: FailureState.FailureState | null) => {
    q.setFailing.all(...failingValues(failing), id)
    known.forgetFailing(id)
  }

  const settle = ({ releases, settlements, worker }: Outcomes, now: number, disableAfter: number) => {
    const logs: Array<string> = []
    /** The affected integrations; null for one that can't be read. */
    const affected = new Map<IntegrationId, HealthRules.HealthSubject | null>()
    const ends = new Map<IntegrationId, DeliveryReason | null>()
    const unreadable =
      "Outcomes of deliveries are recorded, but they neither disable nor enable an integration that can't be read, and cause no notification."
    for (const [id, batch] of Map.groupBy(settlements, ({ integration_id }) => integration_id)) {
      const found = known.get(id)
      const subject = found?.subject
      if (found === undefined) ends.set(id, "integration_deleted")
      else if (subject !== undefined && Exit.isSuccess(subject)) {
        ends.set(id, Transitions.reasonToEnd(subject.value.integration))
        if (HealthRules.mayChangeHealth(subject.value, batch)) affected.set(id, subject.value)
      } else if (
        batch.some(({ attempt, gone, state: to }) => gone || to === "exhausted" || attempt?.outcome !== "acknowledged")
      )
        affected.set(id, subjectOf(id, now, logs, unreadable))
    }
    const applied = new Set<DeliveryId>()
    const ended: Array<Lease> = []
    state.undo(() => ended.forEach(state.lease))
    const batches = new Map<IntegrationId, Array<HealthRules.AppliedSettlement>>()
    let hasDueDeliveries = false
    for (const item of settlements) {
      const lease = leases.get(item.delivery_id)
      if (lease === undefined || !Transitions.isCurrent(lease, item, worker)) continue
      const { integration } = lease
      const settlement = affected.get(integration) === null ? Settlements.retryAfterGone(item, now) : item
      const { from, to } = settleOne(lease, settlement, now, ends.get(integration) ?? null)
      leases.delete(lease.id)
      ended.push(lease)
      applied.add(lease.id)
      hasDueDeliveries ||= to.state === "pending" || settlement !== item
      if (!affected.has(integration)) continue
      const batch = batches.get(integration)
      if (batch === undefined) batches.set(integration, [{ settlement, from, to }])
      else batch.push({ settlement, from, to })
    }
    for (const { delivery_id, due_at } of releases) {
      const lease = leases.get(delivery_id)
      if (lease?.worker === worker) release([lease], due_at)
    }
    const changed: Array<IntegrationId> = []
    const recovered: Array<Recovery> = []
    const notifications: Array<Notification<IntegrationNotification>> = []
    // Runs after the deliveries are settled, so that disabling an integration does not cancel its acknowledged
    // deliveries.
    for (const id of [...batches.keys()].toSorted((a, b) => a - b)) {
      const [subject, batch] = [affected.get(id), batches.get(id)]
      if (subject === undefined || subject === null || batch === undefined) continue
      const follows = HealthRules.evaluateHealth(subject, batch, now, disableAfter)
      if (!isSameFailing(follows.failing, subject.failing)) setFailing(id, follows.failing)
      if (follows.disable !== null && q.disable.get(follows.disable, now, id) !== undefined) {
        changed.push(id)
        cancelNow(id, Transitions.reasonOfDisabled({ disabled_reason: follows.disable }))
      }
      if (follows.enable && q.enable.get(now, id) !== undefined) changed.push(id)
      if (follows.recovered !== null) {
        const { retry_after, since } = follows.recovered
        recovered.push({ integration_id: id, failing_since: since, retry_after })
      }
      notifications.push(...follows.notifications.map(writeNotification))
    }
    for (const id of changed) known.forget(id)
    const settled: Settled = { applied, changed, recovered, notifications, hasDueDeliveries, postponed: new Set() }
    return { settled, logs }
  }

  const warn = (now: number, disableAfter: number, limit: number) => {
    const logs: Array<string> = []
    const notifications: Array<IntegrationNotification> = []
    for (const row of q.dueWarnings.all(...FailureState.warningCutoffs(now, disableAfter), limit)) {
      const id = integrationId(row[0])
      const subject = subjectOf(
        id,
        now,
        logs,
        "An integration that can't be read is failing, and no warning can be sent."
      )
      const warning = subject === null ? null : HealthRules.warningOf(subject, now, disableAfter)
      if (warning === null) continue
      setFailing(id, warning.failing)
      notifications.push(warning.notification)
    }
    return { notifications: notifications.map(writeNotification), logs }
  }

  return {
    settle: (outcomes, now, disableAfter) =>
      turns
        .change({
          run: () => settle(outcomes, now, disableAfter),
          isDurable: ({ settled: { changed, notifications } }) => changed.length > 0 || notifications.length > 0,
          rows: outcomes.settlements.length + outcomes.releases.length
        })
        .pipe(
          Effect.flatMap(({ logs, settled }) => {
            if (settled.changed.length === 0 && logs.length === 0) return Effect.succeed(settled)
            return Effect.as(Effect.andThen(logAll(logs), resume), settled)
          }),
          failAs("DeliveryStore.settle")
        ),

    warn: (now, disableAfter, limit) =>
      Effect.flatMap(
        change("warn", () => warn(now, disableAfter, limit)),
        ({ logs, notifications }) => Effect.as(logAll(logs), notifications)
      ),

    addNotification: (notification) => change("addNotification", () => writeNotification(notification))
  }
}

const logAll = (logs: ReadonlyArray<string>) => Effect.forEach(logs, (line) => Effect.logError(line), { discard: true })

const isSameFailing = (one: FailureState.FailureState | null, other: FailureState.FailureState | null): boolean =>
  one?.since === other?.since &&
  one?.warnings === other?.warnings &&
  one?.attempts === other?.attempts &&
  one?.retry_after === other?.retry_after
