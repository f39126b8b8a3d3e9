/**
 * Takes events in. An event is accepted once it and its deliveries are durable, and not before.
 */
import { Context, Layer, Schema } from "effect"
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

/** The publisher takes nothing in any more: its scope was closed. */
export class PublisherClosed extends Schema.TaggedError<PublisherClosed>()("PublisherClosed", {}) {
  override get message(): string {
    return "The publisher was closed, and none of these events was stored. Publish them through one that is open."
  }
}

export class Publisher extends Context.Service<
  Publisher,
  {
    /**
     * Accepts all of the events or none. Answers in the order given. With an idempotency key, the same request again is
     * answered as the first one was and publishes nothing, for 24 hours. Calls that are in when the publisher's scope closes
     * are still carried out; later ones fail with `PublisherClosed`.
     */
    readonly publish: (
      events: ReadonlyArray<NewEvent>,
      request?: IdempotentRequest | null
    ) => Effect.Effect<ReadonlyArray<Published>, StoreError | KeyReused | PublisherClosed>
  }
>()("@doorhook/core/services/Publisher") {
  static readonly layer: Layer.Layer<
    Publisher,
    never,
    DeliveryStore | IntegrationStore | IdempotencyStore | Dispatcher | Wake | Crypto
  > = Layer.effect(Publisher, makePublisher)
}
