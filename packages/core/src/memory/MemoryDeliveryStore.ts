/**
 * Deliveries in memory. Settled ones are kept, as in a database; nothing survives the process.
 */
import { Effect, Layer } from "effect"
import type { DeliveryState } from "../domain/Delivery.ts"
import { lanes } from "../domain/Delivery.ts"
import type { DeliveryId, IntegrationId } from "../domain/Ids.ts"
import type { ClaimRequest, DeliveryFilter, NewEventRecord, ResendResult, Settlement } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { StoreError } from "../ports/StoreError.ts"
import { begun, claimed, isDue, recoverableStates, released, resent, settled } from "../rules/Standing.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"
import { toDelivery } from "./DeliveryTable.ts"
import { disableIntegration, MemoryState } from "./MemoryState.ts"

const recoverable: ReadonlySet<DeliveryState> = new Set(recoverableStates)

const make = Effect.gen(function* () {
  const state = yield* MemoryState
  const { deliveries, integrations } = state

  /** The settlements whose tokens are current, with their deliveries. */
  const current = (settlements: ReadonlyArray<Settlement>) => {
    const found = new Map<StoredDelivery, Settlement>()
    for (const settlement of settlements) {
      const delivery = deliveries.get(settlement.delivery_id)
      if (delivery?.standing.lease_token !== settlement.token || found.has(delivery)) continue
      found.set(delivery, settlement)
    }
    return [...found]
  }

  return DeliveryStore.of({
    enqueue: (records) =>
      Effect.suspend(() => {
        const repeated = repeatedEvent(deliveries, records)
        if (repeated !== undefined) {
          const cause = new Error(`There is an event ${repeated} already.`)
          return Effect.fail(new StoreError({ operation: "DeliveryStore.enqueue", cause }))
        }
        return Effect.succeed(
          records.map(({ event, deliveries: wanted }) => {
            const stored = wanted.map((delivery) => {
              const { integration_id } = delivery
              const status = integrations.get(integration_id)?.status
              return deliveries.add(event, integration_id, begun(delivery, event, status))
            })
            deliveries.events.set(event.id, { event, deliveries: stored })
            return stored.map(({ id, standing }) => ({ id, state: standing.state }))
          })
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

    settle: (settlements, now) =>
      Effect.sync(() => {
        const applied = current(settlements)
        const disabling = applied.filter(
          ([{ standing }, { disable }]) => disable !== null && standing.state === "delivering"
        )
        for (const [delivery, settlement] of applied) {
          if (settlement.attempt !== null) delivery.history.push(settlement.attempt)
          deliveries.move(delivery, settled(delivery.standing, settlement, now))
        }
        // Afterwards, so that what was acknowledged in the same batch stays so.
        for (const [{ integration_id }, { disable }] of disabling) {
          if (disable !== null) disableIntegration(state, integration_id, disable, now)
        }
        return new Set(applied.map(([{ id }]) => id))
      }),

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
          ({ event, standing }) => recoverable.has(standing.state) && event.created_at >= since
        )
        for (const delivery of lost) deliveries.move(delivery, resent(delivery.standing, now))
        return lost.length
      }),

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

/**
 * Claims lane by lane, and within a lane in rounds, one delivery of each integration in a round, the earliest due first.
 * Only the heads of queues are looked at.
 */
const takeDue = (deliveries: DeliveryTable, request: ClaimRequest): ReadonlyArray<StoredDelivery> => {
  const { lease, limit, limitPerIntegration, limits, now } = request
  const taken = new Set<StoredDelivery>()
  const places = new Map(limits)
  const placesOf = (id: IntegrationId): number => places.get(id) ?? limitPerIntegration
  for (const lane of lanes) {
    while (taken.size < limit) {
      const round = deliveries
        .heads(lane)
        .filter((head) => isDue(head.standing, now) && !taken.has(head) && placesOf(head.integration_id) > 0)
        .toSorted(byDue)
        .slice(0, limit - taken.size)
      if (round.length === 0) break
      for (const delivery of round) {
        places.set(delivery.integration_id, placesOf(delivery.integration_id) - 1)
        deliveries.move(delivery, claimed(delivery.standing, lease))
        taken.add(delivery)
      }
    }
  }
  return [...taken]
}

const byDue = (a: StoredDelivery, b: StoredDelivery): number =>
  (a.standing.due_at ?? 0) - (b.standing.due_at ?? 0) || a.integration_id - b.integration_id

/** The deliveries that a filter selects, by the narrowest index. */
const select = (deliveries: DeliveryTable, filter: DeliveryFilter): ReadonlyArray<StoredDelivery> => {
  const source =
    filter.event_id !== undefined
      ? (deliveries.events.get(filter.event_id)?.deliveries ?? [])
      : filter.integration_id !== undefined
        ? (deliveries.byIntegration.get(filter.integration_id) ?? [])
        : deliveries.all
  const found: Array<StoredDelivery> = []
  for (let at = filter.after === undefined ? 0 : firstAfter(source, filter.after); at < source.length; at++) {
    if (found.length === filter.limit) break
    const delivery = source[at]
    if (delivery === undefined) break
    if (filter.state !== undefined && delivery.standing.state !== filter.state) continue
    if (filter.integration_id !== undefined && delivery.integration_id !== filter.integration_id) continue
    found.push(delivery)
  }
  return found
}

/** The place of the first delivery after one, in a list by id. */
const firstAfter = (list: ReadonlyArray<StoredDelivery>, id: DeliveryId): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.id ?? 0) <= id) low = middle + 1
    else high = middle
  }
  return low
}
