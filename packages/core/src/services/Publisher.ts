/**
 * Takes events in. An event is accepted once it and its deliveries are durable, and not before.
 */
import { Context, Layer } from "effect"
import type { Effect } from "effect"
import type { NewEvent } from "../domain/Event.ts"
import type { EventId } from "../domain/Ids.ts"
import type { Crypto } from "../ports/Crypto.ts"
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Wake } from "../ports/Wake.ts"
import type { Dispatcher } from "./Dispatcher.ts"
import type { IdempotentRequest, KeyReused } from "./Idempotency.ts"
import { makePublisher } from "./publish/Publishing.ts"

/** An event that was accepted, and to how many integrations it goes (skipped ones included). */
export interface Published {
  readonly id: EventId
  readonly deliveries: number
}

export class Publisher extends Context.Service<
  Publisher,
  {
    /**
     * Accepts all of the events or none. Answers in the order given. With an idempotency key, the same request again is
     * answered as the first one was and publishes nothing, for 24 hours.
     */
    readonly publish: (
      events: ReadonlyArray<NewEvent>,
      request?: IdempotentRequest | null
    ) => Effect.Effect<ReadonlyArray<Published>, StoreError | KeyReused>
  }
>()("@doorhook/core/services/Publisher") {
  static readonly layer: Layer.Layer<
    Publisher,
    never,
    DeliveryStore | IntegrationStore | IdempotencyStore | Dispatcher | Wake | Crypto
  > = Layer.effect(Publisher, makePublisher)
}
