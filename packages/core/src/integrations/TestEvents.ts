/**
 * Test events: a sample delivery to one integration, sent like any other. Developers use them to try a receiver's
 * signature check, acknowledgement and handling of retries.
 */
import { Context, Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import type { DeliveryId, EventId, IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { Action, ResourceType, ResourceTypeTable } from "../model/ResourceType.ts"
import { ResourceTypes } from "../model/ResourceType.ts"
import { Crypto } from "../ports/Crypto.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import { sendDirect } from "../publish/DirectEvent.ts"
import { NotDeliverable, IntegrationNotFound } from "../delivery/Deliveries.ts"

/** A test event that was enqueued. */
export interface TestSent {
  readonly event_id: EventId
  readonly delivery_id: DeliveryId
  readonly resource_type: ResourceType
}

/**
 * Returns the `data.id` of a test event, derived from the current second so that receivers don't drop it as a
 * duplicate. It fits in 32 bits and is higher than the ids of hosts that count from 1.
 */
const testId = (now: number): number => 2_000_000_000 + (Math.floor(now / 1_000) % 147_000_000)

/**
 * Returns the data of a test event: the type's example, with a new id, the current time and a mark. A member that is the
 * second id of the event, its time, or the call that ends is changed too, if the example has it.
 */
const sampleOf = (now: number, guid: string, example: object = { name: "doorhook test event" }): object => {
  const id = testId(now)
  const own = { guid, ended_at: isoOf(now), call_id: id - 1 }
  return {
    ...example,
    id,
    ...("ended_at" in example ? {} : { logged_at: isoOf(now) }),
    ...Object.fromEntries(Object.entries(own).filter(([name]) => name in example)),
    test: true
  }
}

/** Resource type, action and priority of a test event. */
export interface TestKind {
  readonly resource_type: ResourceType
  readonly action: Action
  readonly urgent: boolean
}

const defaultKind: TestKind = { resource_type: "access_log", action: "create", urgent: false }

/** Chooses the kind of the test event: one that the integration is bound to, preferably of normal priority. */
export const testKindOf = ({ bindings }: Pick<Integration, "bindings">, types: ResourceTypeTable): TestKind => {
  const kinds = bindings.flatMap(({ actions: [action], resource_type }): ReadonlyArray<TestKind> =>
    action === undefined ? [] : [{ resource_type, action, urgent: types.get(resource_type)?.urgent ?? false }]
  )
  return kinds.find(({ urgent }) => !urgent) ?? kinds[0] ?? defaultKind
}

/** Formats sixteen random bytes as a version 4 UUID (RFC 9562 section 5.4). */
const uuidOf = (bytes: Uint8Array): string => {
  const [versioned, variant] = [((bytes[6] ?? 0) & 0x0f) | 0x40, ((bytes[8] ?? 0) & 0x3f) | 0x80]
  const hex = Hex.encode(bytes.with(6, versioned).with(8, variant))
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

export class TestEvents extends Context.Service<
  TestEvents,
  {
    /**
     * Sends a test event to one integration. Fails if the integration is disabled; use a probe if doorhook disabled it.
     */
    readonly send: (id: IntegrationId) => Effect.Effect<TestSent, IntegrationNotFound | NotDeliverable | StoreError>
  }
>()("@doorhook/core/integrations/TestEvents") {
  static readonly layer: Layer.Layer<TestEvents, never, DeliveryStore | IntegrationStore | WakeSignal | Crypto> =
    Layer.effect(
      TestEvents,
      Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integrations = yield* IntegrationStore
        const wake = yield* WakeSignal
        const crypto = yield* Crypto
        const types = yield* ResourceTypes
        const now = yield* storeTime

        const send = Effect.fnUntraced(function* (id: IntegrationId) {
          const integration = yield* integrations.find(id)
          if (integration === null) return yield* new IntegrationNotFound({ id })
          if (integration.status === "disabled") return yield* new NotDeliverable({ why: "integration_disabled" })
          const at = now()
          const { action, resource_type, urgent } = testKindOf(integration, types)
          const data = sampleOf(at, uuidOf(crypto.randomBytes(16)), types.get(resource_type)?.example)
          const test = { resource_type, action, urgent, data }
          const { event, sent } = yield* (
            sendDirect({ store, wake, crypto }, integration, test, at)
              // Without an idempotency key there can be no conflict.
              .pipe(Effect.catchTag("IdempotencyConflict", Effect.die))
          )
          if (sent === undefined || sent.state === "cancelled") {
            return yield* new NotDeliverable({ why: "integration_deleted" })
          }
          if (sent.state === "skipped") return yield* new NotDeliverable({ why: "integration_disabled" })
          return { event_id: event.id, delivery_id: sent.id, resource_type }
        })

        return TestEvents.of({ send })
      })
    )
}
