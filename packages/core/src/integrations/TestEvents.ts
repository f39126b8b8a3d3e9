/**
 * Test events: a sample delivery to one integration, sent like any other. Developers use them to try a receiver's
 * signature check, acknowledgement and handling of retries.
 */
import { Context, Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import type { AccessLogData, CallData, CallEndData } from "../model/Event.ts"
import type { DeliveryId, EventId, IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { Action, BuiltInType, callEndType, ResourceType, ResourceTypeTable } from "../model/ResourceType.ts"
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

/** Marks test events for receivers. */
const mark = { test: true } as const
const name = "doorhook test event"

/** `data` of the built-in types (interface document, section 2.3). */
const samples = {
  access_log: (now: number) =>
    ({
      id: testId(now),
      logged_at: isoOf(now),
      access_point: 0,
      entry_method: "app",
      release_status: "Unlocked",
      name,
      image_url: null,
      ...mark
    }) satisfies AccessLogData & typeof mark,
  call: (now: number, guid: string) =>
    ({
      id: testId(now),
      guid,
      logged_at: isoOf(now),
      status: "initializing",
      notification_type: "visitor",
      unit: null,
      panel: { id: 0, name },
      image_url: null,
      ...mark
    }) satisfies CallData & typeof mark,
  call_end: (now: number) =>
    ({
      id: testId(now),
      call_id: testId(now) - 1,
      reason: "missed",
      ended_at: isoOf(now),
      ...mark
    }) satisfies CallEndData & typeof mark
} satisfies Record<BuiltInType | typeof callEndType, (now: number, guid: string) => object>

const sampleOf = new Map<ResourceType, (now: number, guid: string) => object>(Object.entries(samples))

/** Test data for a type declared by the host: its example, if it has one, with an id, a time and the mark. */
const declaredSample = (now: number, example: object = { name }): object => ({
  ...example,
  id: testId(now),
  logged_at: isoOf(now),
  ...mark
})

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
          const data =
            sampleOf.get(resource_type)?.(at, uuidOf(crypto.randomBytes(16))) ??
            declaredSample(at, types.get(resource_type)?.example)
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
