/**
 * Cancels all open deliveries of a deleted or disabled integration. If there are too many for one transaction, a row of
 * `cancellations` marks them all as cancelled, and their own rows are updated later in batches.
 */
import type { DeliveryFilter, DeliveryReason, IntegrationId } from "@doorhook/core"
import { lanes } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { SqlError } from "effect/sql"
import { CancellationBatch, Cancellations, inBackground } from "../stores/Cancellations.ts"
import * as Sql from "./DeliverySql.ts"
import { codes } from "./DeliverySql.ts"
import type { FileOwner } from "./FileOwner.ts"
import type { Lease } from "./FileOwnerState.ts"
import { isOpen } from "./FileOwnerState.ts"

export interface SqliteCancellations {
  /** Cancels the open deliveries of an integration. Runs inside a change. */
  readonly cancelNow: (id: IntegrationId, reason: DeliveryReason) => void
  /** Updates the rows of an integration's cancelled deliveries. Runs inside a change. */
  readonly finishNow: (id: IntegrationId) => void
  /** Updates the rows of an integration's cancelled deliveries in separate changes. */
  readonly finish: (id: IntegrationId) => Effect.Effect<void, SqlError.SqlError>
  /** Updates the cancelled deliveries that a filter selects. */
  readonly finishFor: (filter: DeliveryFilter) => Effect.Effect<void, SqlError.SqlError>
  /** Updates the rows of all cancelled deliveries in the background. */
  readonly resume: Effect.Effect<void>
  readonly service: Cancellations["Service"]
}

export const makeCancellations = Effect.fnUntraced(function* ({
  loadCancellations,
  noteUncertain,
  state,
  turns
}: FileOwner): Effect.fn.Return<SqliteCancellations, never, Scope.Scope> {
  const batch = yield* CancellationBatch
  const { cancellations, leases } = state
  const q = {
    cancelOne: turns.prepare(Sql.cancelOne),
    cancelPending: turns.prepare(Sql.cancelPending),
    cancelRetrying: turns.prepare(Sql.cancelRetrying),
    countOpen: turns.prepare(Sql.countOpen),
    countCancelled: turns.prepare(Sql.countCancelled),
    begin: turns.prepare(Sql.beginCancellation),
    end: turns.prepare(Sql.endCancellation)
  }

  /**
   * Cancels a batch of an integration's open deliveries up to an id. Returns how many were pending and how many
   * retrying.
   */
  const cancelSome = (id: IntegrationId, last: number, reason: DeliveryReason): readonly [number, number] => {
    const pending = Number(q.cancelPending.run(id, last, reason, batch).changes)
    const retrying = pending < batch ? Number(q.cancelRetrying.run(id, last, reason, batch - pending).changes) : 0
    return [pending, retrying]
  }

  /**
   * Cancels all open deliveries, or marks them as cancelled. Returns how many were pending and how many retrying.
   * Leases last until their attempts end.
   */
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
    const some = cancelSome(id, last, reason)
    pending += some[0]
    retrying += some[1]
    if (some[0] + some[1] < batch) return [pending, retrying]
    const [open = 0, retries = 0] = Object.values(q.countOpen.get(id) ?? {}).map(Number)
    q.begin.run(id, last, reason)
    return [pending + open - retries, retrying + retries]
  }

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

  /** Updates the next batch. Returns whether there may be more. */
  const cancelMore = (id: IntegrationId): boolean => {
    const cancellation = cancellations.get(id)
    if (cancellation === undefined) return false
    const [pending, retrying] = cancelSome(id, cancellation.last, cancellation.reason)
    if (pending + retrying === batch) return true
    q.end.run(id)
    return false
  }

  const finish = Effect.fnUntraced(function* (id: IntegrationId) {
    const run = () => {
      const hasMore = cancelMore(id)
      loadCancellations()
      return hasMore
    }
    while (cancellations.has(id) && (yield* turns.change({ run, isDurable: false, rows: batch })))
      yield* Effect.yieldNow
  })

  const finishEach = (ids: ReadonlyArray<IntegrationId>) => Effect.forEach(ids, finish, { discard: true })

  const resume = yield* inBackground(Effect.suspend(() => finishEach([...cancellations.keys()])))

  return {
    cancelNow,
    finishNow: (id) => {
      while (cancelMore(id));
      loadCancellations()
    },
    finish,
    finishFor: ({ integration_id, states }) =>
      Effect.suspend(() =>
        states === undefined
          ? Effect.void
          : finishEach([...cancellations.keys()].filter((id) => (integration_id ?? id) === id))
      ),
    resume,
    service: Cancellations.of({
      begin: (id, reason) =>
        turns.inTransaction(() => {
          noteUncertain(id)
          const [pending, retrying] = cancelAll(id, reason, () => undefined)
          if (pending + retrying > 0) q.countCancelled.run(pending, retrying)
        }),
      prepare: finish,
      finish: (id) =>
        turns.inTransaction(() => {
          noteUncertain(id)
          while (cancelMore(id));
        }),
      resume
    })
  }
})
