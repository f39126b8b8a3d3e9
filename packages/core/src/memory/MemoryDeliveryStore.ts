/**
 * Deliveries in memory. Settled ones are kept, as in a database; nothing survives the process.
 */
import { Effect, Layer } from "effect"
import type { DeliveryState } from "../domain/Delivery.ts"
import type { DeliveryId } from "../domain/Ids.ts"
import type { LastAttempt, NewEventRecord, ProbeResult, ResendResult } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { KeyTaken } from "../ports/IdempotencyStore.ts"
import { StoreError } from "../ports/StoreError.ts"
import { begun, isRecoverable, released, resent, unacknowledgedStates } from "../rules/Standing.ts"
import { takeDue } from "./Claiming.ts"
import type { DeliveryTable } from "./DeliveryTable.ts"
import { toDelivery } from "./DeliveryTable.ts"
import { pageOfEvents, select, sliceAfter } from "./Listing.ts"
import { MemoryState, takenKey } from "./MemoryState.ts"
import { purgeOld } from "./Purging.ts"
import { note, settleAll, warnAll } from "./Settling.ts"

const unacknowledged: ReadonlySet<DeliveryState> = new Set(unacknowledgedStates)

const make = Effect.gen(function* () {
  const state = yield* MemoryState
  const { deliveries, integrations } = state
  /** Until when each worker lives. */
  const workers = new Map<string, number>()

  return DeliveryStore.of({
    enqueue: (records, keys = []) =>
      Effect.gen(function* () {
        const taken = takenKey(state, keys)
        if (taken !== undefined) return yield* new KeyTaken({ key: taken })
        const repeated = repeatedEvent(deliveries, records)
        if (repeated !== undefined) {
          const cause = new Error(`There is an event ${repeated} already.`)
          return yield* new StoreError({ operation: "DeliveryStore.enqueue", cause })
        }
        for (const key of keys) state.keys.set(key.key, key)
        return records.map(({ event, deliveries: wanted }) =>
          deliveries
            .addEvent(event, wanted, (delivery) => begun(delivery, event, integrations.get(delivery.integration_id)))
            .map(({ id, standing }) => ({ id, state: standing.state }))
        )
      }),

    claim: (request) =>
      Effect.sync(() =>
        takeDue(deliveries, request).flatMap(({ event, id, integration_id, standing }) => {
          const integration = integrations.get(integration_id)
          const { attempts, lane, resend } = standing
          return integration === undefined
            ? []
            : [{ id, lease: request.lease, lane, attempts, resend: resend > 0, event, integration }]
        })
      ),

    settle: (settlements, now, disableAfter) => Effect.sync(() => settleAll(state, settlements, now, disableAfter)),

    warn: (now, disableAfter, limit) => Effect.sync(() => warnAll(state, now, disableAfter, limit)),

    release: (leases, dueAt) =>
      Effect.sync(() => {
        for (const { delivery_id, token } of leases) {
          const delivery = deliveries.get(delivery_id)
          if (delivery?.standing.state !== "delivering" || delivery.standing.lease_token !== token) continue
          deliveries.move(delivery, released(delivery.standing, dueAt))
        }
      }),

    nextDue: Effect.sync(() => deliveries.nextDue()),

    find: (id) =>
      Effect.sync(() => {
        const delivery = deliveries.get(id)
        return delivery === undefined ? null : toDelivery(delivery)
      }),

    list: (filter) => Effect.sync(() => select(deliveries, filter).map(toDelivery)),

    lastAttempts: (ids) =>
      Effect.sync(() => {
        const last = new Map<DeliveryId, LastAttempt>()
        for (const id of ids) {
          const attempt = deliveries.get(id)?.history.at(-1)
          if (attempt === undefined) continue
          const { response_excerpt: _, ...rest } = attempt
          last.set(id, rest)
        }
        return last
      }),
    attempts: (id) => Effect.sync(() => [...(deliveries.get(id)?.history ?? [])]),

    findEvent: (id) => Effect.sync(() => deliveries.events.get(id)?.event ?? null),

    resend: (id, now) =>
      Effect.sync((): ResendResult => {
        const delivery = deliveries.get(id)
        if (delivery === undefined) return "not_found"
        const integration = integrations.get(delivery.integration_id)
        if (integration === undefined) return "integration_deleted"
        if (integration.status === "disabled") return "integration_disabled"
        deliveries.move(delivery, resent(delivery.standing, now))
        return "resent"
      }),

    recover: (integration, since, now) =>
      Effect.sync(() => {
        if (integrations.get(integration)?.status !== "enabled") return 0
        const lost = (deliveries.byIntegration.get(integration) ?? []).filter(
          ({ event, standing }) => isRecoverable(standing) && event.created_at >= since
        )
        for (const delivery of lost) deliveries.move(delivery, resent(delivery.standing, now))
        return lost.length
      }),

    probe: (id, now, lease) =>
      Effect.sync((): ProbeResult => {
        const integration = integrations.get(id)
        if (integration === undefined) return "not_found"
        if (integration.status === "enabled" || integration.disabled_reason === "manual") return "not_disabled"
        // Whoever held one and died leaves its token behind.
        const leasesAreOver = integration.updated_at + lease <= now
        const newest = (deliveries.byIntegration.get(id) ?? []).findLast(
          ({ standing }) => (leasesAreOver || standing.lease_token === null) && unacknowledged.has(standing.state)
        )
        if (newest === undefined) return "nothing_to_send"
        deliveries.move(newest, resent(newest.standing, now))
        return newest.id
      }),

    feed: ({ after, integration_id, limit }) =>
      Effect.sync(() =>
        sliceAfter(deliveries.byIntegration.get(integration_id) ?? [], after)
          .slice(0, limit)
          .map((stored) => ({ delivery: toDelivery(stored), event: stored.event }))
      ),

    events: (filter) =>
      Effect.sync(() => pageOfEvents(deliveries.eventsOf(filter.scope, filter.resource_type), filter)),

    addNotice: (notice) => Effect.sync(() => note(state, notice)),

    notices: ({ after, integration_id, limit, order }) =>
      Effect.sync(() =>
        (order === "newest" ? state.notices.toReversed() : state.notices)
          .filter(({ id }) => after === undefined || (order === "newest" ? id < after : id > after))
          .filter((notice) => integration_id === undefined || notice.integration_id === integration_id)
          .slice(0, limit)
      ),

    purge: (request) => Effect.sync(() => purgeOld(state, request)),

    beat: (worker, now, until) =>
      Effect.sync(() => {
        workers.set(worker, until)
        for (const [other, end] of workers) if (end <= now) workers.delete(other)
        return { workers: workers.size, rank: [...workers.keys()].filter((other) => other < worker).length }
      }),
    leave: (worker) => Effect.sync(() => void workers.delete(worker)),

    summary: (now) =>
      Effect.sync(() => {
        const due = deliveries.nextDue()
        return {
          events: deliveries.events.size,
          states: { ...deliveries.counts },
          oldest_due_at: due !== null && due <= now ? due : null
        }
      })
  })
})

/** Needs the state that it shares with the other memory stores. */
export const layer: Layer.Layer<DeliveryStore, never, MemoryState> = Layer.effect(DeliveryStore, make)

/** The first event id that is stored already or comes twice. */
const repeatedEvent = (deliveries: DeliveryTable, records: ReadonlyArray<NewEventRecord>): string | undefined => {
  const seen = new Set<string>()
  for (const { event } of records) {
    if (seen.has(event.id) || deliveries.events.has(event.id)) return event.id
    seen.add(event.id)
  }
  return undefined
}
