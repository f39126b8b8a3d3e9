/**
 * Sends an event to one integration without matching. Used for test events and notification webhooks. The event is
 * stored, signed and retried like any other.
 */
import { Effect } from "effect"
import { laneOf } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import { BuildingId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { JsonText } from "../model/JsonText.ts"
import type { Crypto } from "../ports/Crypto.ts"
import type { DeliveryStore, Enqueued } from "../ports/DeliveryStore.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { WakeSignal } from "../ports/WakeSignal.ts"
import { signalAfter } from "../delivery/SignalAfter.ts"
import { makeEventId } from "./EventIds.ts"

/** A building id that no host uses, so that lists of access logs don't show direct events. */
const nowhere = BuildingId.make(Number.MAX_SAFE_INTEGER)

/** Whether an event was sent to one integration without matching. */
export const isDirect = ({ building_id }: Pick<Event, "building_id">): boolean => building_id === nowhere

/** The event to send. `data` becomes JSON. */
export interface DirectEvent extends Pick<Event, "resource_type" | "action"> {
  readonly data: object
  /** Whether the event is urgent. */
  readonly urgent: boolean
}

/** Services needed to send an event. */
export interface DirectSender {
  readonly store: DeliveryStore["Service"]
  readonly wake: WakeSignal["Service"]
  readonly crypto: Crypto["Service"]
}

/**
 * Stores an event with its delivery. `sent` is undefined if the integration no longer exists. Fails without storing
 * anything if `key` is taken.
 */
export const sendDirect = (
  { crypto, store, wake }: DirectSender,
  { id, version }: Pick<Integration, "id" | "version">,
  { data, urgent, ...kind }: DirectEvent,
  now: number,
  key?: IdempotencyRecord
): Effect.Effect<{ readonly event: Event; readonly sent: Enqueued | undefined }, StoreError | IdempotencyConflict> => {
  const event: Event = {
    id: makeEventId(crypto, now),
    ...kind,
    building_id: nowhere,
    tenant_ids: [],
    data: JsonText.make(JSON.stringify(data)),
    created_at: now
  }
  const delivery = {
    integration_id: id,
    lane: laneOf({ urgent }, 0),
    matched_version: version,
    initial: { state: "pending" }
  } as const
  const enqueued = store.enqueue([{ event, deliveries: [delivery] }], key === undefined ? [] : [key])
  return Effect.map(
    signalAfter(wake, enqueued, () => true),
    ([deliveries]) => ({ event, sent: deliveries?.[0] })
  )
}
