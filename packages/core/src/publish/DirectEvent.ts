/**
 * Events for one integration alone, past matching: test events, and notifications for the operator. They are stored, signed,
 * sent and retried like any other.
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

/** No host's building, so that these events appear in no list of access logs. */
const nowhere = BuildingId.make(Number.MAX_SAFE_INTEGER)

/** What is sent. `data` becomes JSON. */
export interface DirectEvent extends Pick<Event, "resource_type" | "action"> {
  readonly data: object
  /** Whether it goes before what is not urgent. */
  readonly urgent: boolean
}

/** What it takes to send one. */
export interface DirectSender {
  readonly store: DeliveryStore["Service"]
  readonly wake: WakeSignal["Service"]
  readonly crypto: Crypto["Service"]
}

/** Stores an event with its delivery, which is undefined where the integration is gone. Fails, with nothing stored, when `key` is taken. */
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
