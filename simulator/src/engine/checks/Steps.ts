/**
 * What each batch of settlements showed of each integration, and how it failed until then: told once more from the
 * history, in other words than core's, whose rule is under test.
 */
import type { IntegrationId, IntegrationNotice, Notice } from "@doorhook/core"
import type { EntryOf, IntegrationEntry, Trace, TracedDelivery, TracedSettlement } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

export interface Settled extends TracedSettlement {
  readonly delivery: TracedDelivery
}

/** One batch, as far as it is about one integration that exists. */
export interface Step {
  readonly integration_id: IntegrationId
  readonly entry: EntryOf<"settled">
  readonly batch: ReadonlyArray<Settled>
  /** How the integration was before, and what the batch made of it, if anything. */
  readonly before: IntegrationEntry
  readonly after: IntegrationEntry | undefined
  readonly notices: ReadonlyArray<Notice<IntegrationNotice>>
  readonly acknowledged: boolean
  readonly failed: boolean
  /** When the first attempt failed before this batch after which none was acknowledged; null when none did. */
  readonly since: number | null
  /** The same after it. */
  readonly since_after: number | null
  /** How many attempts have failed since then, those of this batch included, if it acknowledges nothing. */
  readonly failures: number
}

const isAcknowledged = ({ settlement: { attempt } }: Settled): boolean => attempt?.outcome === "acknowledged"
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

/** What a batch made of an integration: written down right after it. */
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
      // A change by a user or the operator begins anew.
      const isNew = last === undefined || (before.what !== "settled" && before.index > last.index)
      const since = isNew ? null : last.since
      const acknowledged = batch.some(isAcknowledged)
      const failed = batch.some(isFailed)
      const failures = (isNew ? 0 : last.failures) + batch.filter(isFailed).length
      const after = madeBy(trace, entry, integration_id)
      if (before.integration.status === "enabled") {
        if (acknowledged) failing.delete(integration_id)
        else if (failed) failing.set(integration_id, { since: since ?? entry.now, failures, index: entry.index })
        else if (since === null) failing.delete(integration_id)
      } else if (after?.integration.status === "enabled") failing.delete(integration_id)
      const notices = entry.notices.filter((notice) => notice.integration_id === integration_id)
      const since_after = failing.get(integration_id)?.since ?? null
      return [
        { integration_id, entry, batch, before, after, notices, acknowledged, failed, since, since_after, failures }
      ]
    })
  )
}

const cached = new WeakMap<Trace, ReadonlyArray<Step>>()

/** All steps, in their order. */
export const stepsOf = (trace: Trace): ReadonlyArray<Step> => {
  const steps = cached.get(trace) ?? stepsFrom(trace)
  cached.set(trace, steps)
  return steps
}
