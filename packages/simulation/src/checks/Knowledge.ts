/**
 * Conclusions that checks draw from a trace: failures of integrations, changes that must have reached an engine,
 * disturbances, and acknowledgements.
 */
import type {
  DeliverySettingsShape,
  Integration,
  IntegrationId,
  IntegrationNotification,
  Notification
} from "@doorhook/core"
import { DeliveryRules } from "@doorhook/simulator/testing"
import type { EntryOf, IntegrationEntry, Request, Trace, TracedDelivery, TracedSettlement } from "./Trace.ts"
import { clockError, entriesOf, leastShare, longestLapse, longestUnseen } from "./Trace.ts"

export interface Settled extends TracedSettlement {
  readonly delivery: TracedDelivery
}

/** The settlements of one batch that concern one existing integration. */
export interface Step {
  readonly integration_id: IntegrationId
  readonly entry: EntryOf<"settled">
  readonly batch: ReadonlyArray<Settled>
  /** The integration before the batch. `after`: the integration as the batch changed it; undefined if unchanged. */
  readonly before: IntegrationEntry
  readonly after: IntegrationEntry | undefined
  readonly notifications: ReadonlyArray<Notification<IntegrationNotification>>
  readonly acknowledged: boolean
  readonly failed: boolean
  /** Before the batch: time of the first failed attempt since the last acknowledgement, or null. */
  readonly since: number | null
  /** After the batch: time of the first failed attempt since the last acknowledgement, or null. */
  readonly since_after: number | null
  /**
   * Number of failed attempts since `since`, including this batch. An acknowledgement in this batch doesn't reset the
   * number.
   */
  readonly failures: number
}

const isSuccess = ({ settlement: { attempt } }: Settled): boolean => attempt?.outcome === "acknowledged"
const isFailed = ({ settlement: { attempt } }: Settled): boolean =>
  attempt !== null && attempt.outcome !== "acknowledged"

const batchesOf = ({ deliveries }: Trace) => {
  const batches = new Map<number, Map<IntegrationId, Array<Settled>>>()
  for (const delivery of deliveries.values()) {
    for (const settled of delivery.settlements) {
      const { entry } = settled
      const batch = batches.get(entry.index) ?? new Map<IntegrationId, Array<Settled>>()
      batches.set(entry.index, batch)
      batch.set(delivery.integration_id, [...(batch.get(delivery.integration_id) ?? []), { ...settled, delivery }])
    }
  }
  return batches
}

/** Returns an integration as a batch changed it. The history records the change right after the batch. */
const madeBy = ({ entries }: Trace, { index }: EntryOf<"settled">, id: IntegrationId): IntegrationEntry | undefined => {
  for (let at = index + 1; ; at++) {
    const entry = entries[at]
    if (entry?.kind !== "integration" || entry.what !== "settled") return undefined
    if (entry.integration.id === id) return entry
  }
}

const stepsFrom = (trace: Trace): ReadonlyArray<Step> => {
  const batches = batchesOf(trace)
  const failing = new Map<
    IntegrationId,
    { readonly since: number; readonly failures: number; readonly index: number }
  >()
  return entriesOf(trace.entries, "settled").flatMap((entry) =>
    [...(batches.get(entry.index) ?? [])].flatMap(([integration_id, batch]): ReadonlyArray<Step> => {
      const before = trace.integrations.get(integration_id)?.findLast(({ index }) => index < entry.index)
      if (before === undefined || before.what === "deleted") return []
      const last = failing.get(integration_id)
      // A change by a user or the operator resets the failure state.
      const isNew = last === undefined || (before.what !== "settled" && before.index > last.index)
      const since = isNew ? null : last.since
      const acknowledged = batch.some(isSuccess)
      const failed = batch.some(isFailed)
      const failures = (isNew ? 0 : last.failures) + batch.filter(isFailed).length
      const after = madeBy(trace, entry, integration_id)
      if (before.integration.status === "enabled") {
        if (acknowledged) failing.delete(integration_id)
        else if (failed) failing.set(integration_id, { since: since ?? entry.now, failures, index: entry.index })
        else if (since === null) failing.delete(integration_id)
      } else if (after?.integration.status === "enabled") failing.delete(integration_id)
      const notifications = entry.notifications.filter((notification) => notification.integration_id === integration_id)
      const since_after = failing.get(integration_id)?.since ?? null
      return [
        {
          integration_id,
          entry,
          batch,
          before,
          after,
          notifications,
          acknowledged,
          failed,
          since,
          since_after,
          failures
        }
      ]
    })
  )
}

const cachedSteps = new WeakMap<Trace, ReadonlyArray<Step>>()

/** Returns all steps in order. */
export const stepsOf = (trace: Trace): ReadonlyArray<Step> => {
  const steps = cachedSteps.get(trace) ?? stepsFrom(trace)
  cachedSteps.set(trace, steps)
  return steps
}

/**
 * Returns the longest delay, in milliseconds, before a change reaches an engine by a signal or by the answer to the
 * engine's own request.
 */
const longestSignal = ({ outcome: { scenario } }: Trace): number => {
  const { delay, lost, reconnect } = scenario.changeSignals
  return Math.max(lost > 0 ? reconnect : 0, delay) + 2 * scenario.storeLatency
}

/**
 * Returns an index in the history: all earlier changes of the integration had reached the engine when it sent the
 * request.
 */
const knownBefore = (trace: Trace, { delivery, entry, grant }: Request): number => {
  const { integration_id } = delivery
  const received = trace.changesReceived.get(entry.engine)?.findLast(
    (other) =>
      // In the same millisecond, the request counts as earlier.
      other.at < entry.at && (other.integration_id === null || other.integration_id === integration_id)
  )
  const aged = trace.integrations.get(integration_id)?.findLast(({ at }) => at + longestSignal(trace) < entry.at)
  return Math.max(grant?.index ?? 0, received?.index ?? 0, (aged?.index ?? -1) + 1)
}

/**
 * Returns the changes that had reached an engine when it sent a request (`known`), and the changes that might have
 * (`perhaps`).
 */
export const changesKnown = (trace: Trace, request: Request) => {
  const known = knownBefore(trace, request)
  const history = (trace.integrations.get(request.delivery.integration_id) ?? []).filter(
    ({ index }) => index < request.entry.index
  )
  return {
    known: history.filter(({ index }) => index < known),
    perhaps: history.filter(({ index }) => index >= known)
  }
}

const isThere = ({ what }: IntegrationEntry): boolean => what !== "deleted"

/** Returns the versions of the integration that the engine might have used for a request. */
export const versionsAt = (trace: Trace, request: Request): ReadonlyArray<Integration> => {
  const { known, perhaps } = changesKnown(trace, request)
  return [...known.slice(-1), ...perhaps].filter(isThere).map(({ integration }) => integration)
}

/** Returns the service's retry policy for a resource type. */
export const policyOf = (policies: DeliverySettingsShape["retry"], type: string) =>
  policies[type] ?? policies.access_log

/** Returns the schedules by which a request may be retried. */
export const schedulesAt = (trace: Trace, request: Request): ReadonlyArray<ReadonlyArray<number>> => {
  const { resource_type } = request.delivery.event
  const { delays } = policyOf(trace.settings.retry, resource_type)
  return versionsAt(trace, request).map(({ overrides }) => overrides.retry?.[resource_type] ?? delays)
}

interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Longest time after a fault until the dispatcher repeats a store call or sends a returned delivery, in milliseconds.
 */
const aftermath = 8_000

const cachedSpans = new WeakMap<Trace, ReadonlyArray<Span>>()

const spansOf = (trace: Trace): ReadonlyArray<Span> => {
  const { entries } = trace
  // When a process dies, no other process can claim the deliveries that it held, or was about to get, until its
  // membership ends.
  const outOfReach = longestLapse(trace) + longestUnseen(trace) + 1_000
  const absences = entriesOf(entries, "process").map((entry) => {
    const back = entry.what === "started" ? entry.at : Math.max(entry.at, startAfter(trace, entry.index))
    return { from: entry.at, to: back + outOfReach }
  })
  const faults = entriesOf(entries, "fault").map(({ at, until }) => ({ from: at, to: until + outOfReach + aftermath }))
  const jumps = entriesOf(entries, "clock").map(({ at }) => ({ from: at, to: at + outOfReach + aftermath }))
  return [...absences.filter(({ from }) => from > 0), ...faults, ...jumps]
}

const startAfter = ({ entries }: Trace, index: number): number =>
  entries.slice(index).find((entry) => entry.kind === "process" && entry.what === "started")?.at ?? 0

/**
 * Whether a span of time is affected by a fault, a clock jump or a missing process. `from` and `to` are in milliseconds
 * since the start.
 */
export const isDisturbed = (trace: Trace, from: number, to: number): boolean => {
  const spans = cachedSpans.get(trace) ?? spansOf(trace)
  cachedSpans.set(trace, spans)
  return spans.some((span) => span.from <= to && span.to >= from)
}

/**
 * Whether an engine had a full buffer or the maximum number of open requests for retries, in total or to one
 * integration.
 */
export const isBusy = (trace: Trace, from: number, to: number): boolean => {
  const { requests, settings } = trace
  const open = requests.filter(({ endedAt, entry }) => entry.at <= to && endedAt >= from)
  const perIntegration = new Map<string, number>()
  const perEngine = new Map<number, number>()
  for (const { delivery, entry } of open) {
    const key = `${entry.engine} ${delivery.integration_id}`
    perIntegration.set(key, (perIntegration.get(key) ?? 0) + 1)
    perEngine.set(entry.engine, (perEngine.get(entry.engine) ?? 0) + 1)
  }
  const { concurrency } = settings
  return (
    Math.max(0, ...perIntegration.values()) >= Math.max(1, Math.floor(0.8 * leastShare(trace))) ||
    Math.max(0, ...perEngine.values()) >= Math.max(1, Math.floor(concurrency / 2)) ||
    mostHeld(trace, from, to) >= settings.buffer
  )
}

/**
 * Returns how late a due delivery may be sent, in milliseconds: the wait for the next poll, the store calls of a round,
 * and two directory calls.
 */
export const slack = (trace: Trace): number => {
  const { scenario } = trace.outcome
  const { directoryLatency, storeLatency } = scenario
  return longestUnseen(trace) + 8 * storeLatency + 2 * directoryLatency + 2 * clockError(scenario) + 200
}

/** Returns the maximum number of deliveries that one engine can have held during a span of time. */
const mostHeld = ({ deliveries }: Trace, from: number, to: number): number => {
  const held = new Map<number, number>()
  for (const { grants, released, settlements } of deliveries.values()) {
    for (const { at, engine } of grants) {
      const isOver = (end: number) => end >= at && end < from
      if (at > to || released.some(isOver) || settlements.some(({ entry }) => isOver(entry.at))) continue
      held.set(engine, (held.get(engine) ?? 0) + 1)
    }
  }
  return Math.max(0, ...held.values())
}

export const isAcknowledged = (trace: Trace, request: Request): boolean => outcomesOf(trace, request).has(true)

/** Returns whether a request counts as acknowledged, under each version that its integration may have had. */
export const outcomesOf = (trace: Trace, request: Request): ReadonlySet<boolean> => {
  const result = request.response?.result
  const { ackTimeout } = trace.settings
  if (!DeliveryRules.acknowledges(result, ackTimeout, true)) return new Set([false])
  if (DeliveryRules.acknowledges(result, ackTimeout)) return new Set([true])
  return new Set(versionsAt(trace, request).map(({ overrides }) => overrides.acknowledge === "2xx"))
}
