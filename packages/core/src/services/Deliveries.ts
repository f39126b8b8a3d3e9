/**
 * The operator's view of deliveries: look, send again, recover.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { Attempt, Delivery } from "../domain/Delivery.ts"
import { formatDeliveryId, DeliveryId, IntegrationId } from "../domain/Ids.ts"
import type { DeliveryFilter, DeliverySummary, LastAttempt } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { Wake } from "../ports/Wake.ts"
import type { Explanation, Reader } from "../rules/Explanation.ts"
import { explain } from "../rules/Explanation.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { waking } from "./Waking.ts"

export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", { id: DeliveryId }) {
  override get message(): string {
    return `There is no delivery ${formatDeliveryId(this.id)}.`
  }
}

export class UnknownIntegration extends Schema.TaggedError<UnknownIntegration>()("UnknownIntegration", {
  id: IntegrationId
}) {
  override get message(): string {
    return `There is no integration ${this.id}.`
  }
}

/** A delivery can't be sent again, because its integration takes none. */
export class NotDeliverable extends Schema.TaggedError<NotDeliverable>()("NotDeliverable", {
  why: Schema.Literals(["integration_disabled", "integration_deleted"])
}) {
  override get message(): string {
    return this.why === "integration_disabled"
      ? "The integration is disabled. Enable it first, then send again."
      : "The integration was deleted."
  }
}

/** A delivery in a list, with its last attempt; null before the first. */
export interface ListedDelivery extends Delivery {
  readonly last_attempt: LastAttempt | null
}

/** A delivery with all its attempts, the first one first. */
export interface DeliveryWithAttempts extends Delivery {
  readonly history: ReadonlyArray<Attempt>
  /** Why it ended, or what it waits for, and what can be done, in plain words. */
  readonly explanation: Explanation
}

export class Deliveries extends Context.Service<
  Deliveries,
  {
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<ListedDelivery>, StoreError>
    /** One delivery, explained to a reader; default: to whoever runs the service. */
    readonly show: (
      id: DeliveryId,
      reader?: Reader
    ) => Effect.Effect<DeliveryWithAttempts, DeliveryNotFound | StoreError>
    /** Sends a delivery at once as its next attempt, whatever its state. */
    readonly resend: (id: DeliveryId) => Effect.Effect<void, DeliveryNotFound | NotDeliverable | StoreError>
    /** Sends all that an integration has not acknowledged since a time (ms since the epoch); says how many. */
    readonly recover: (
      integration: IntegrationId,
      since: number
    ) => Effect.Effect<number, UnknownIntegration | NotDeliverable | StoreError>
    readonly summary: Effect.Effect<DeliverySummary, StoreError>
  }
>()("@doorhook/core/services/Deliveries") {
  static readonly layer: Layer.Layer<Deliveries, never, DeliverySettings | DeliveryStore | IntegrationStore | Wake> =
    Layer.effect(
      Deliveries,
      Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integrations = yield* IntegrationStore
        const wake = yield* Wake
        const settings = yield* DeliverySettings

        /** When the event of a delivery became too old; null when it does not. */
        const lifetimeEnd = Effect.fnUntraced(function* ({ event_id }: Delivery) {
          const event = yield* store.findEvent(event_id)
          const lifetime = event === null ? null : settings.retry[event.resource_type].lifetime
          return event === null || lifetime === null ? null : event.created_at + lifetime
        })

        const show = Effect.fnUntraced(function* (id: DeliveryId, reader?: Reader) {
          const delivery = yield* store.find(id)
          if (delivery === null) return yield* new DeliveryNotFound({ id })
          const history = yield* store.attempts(id)
          const integration = yield* integrations.find(delivery.integration_id)
          const lifetime_over_at = delivery.state === "expired" ? yield* lifetimeEnd(delivery) : null
          const explanation = explain({ delivery, last: history.at(-1) ?? null, integration, lifetime_over_at }, reader)
          return { ...delivery, history, explanation }
        })

        const list = Effect.fnUntraced(function* (filter: DeliveryFilter) {
          const found = yield* store.list(filter)
          const last = yield* store.lastAttempts(found.map(({ id }) => id))
          return found.map((delivery) => ({ ...delivery, last_attempt: last.get(delivery.id) ?? null }))
        })

        const resend = Effect.fnUntraced(function* (id: DeliveryId) {
          const resending = store.resend(id, yield* Clock.currentTimeMillis)
          const result = yield* waking(wake, resending, (resent) => resent === "resent")
          if (result === "not_found") return yield* new DeliveryNotFound({ id })
          if (result !== "resent") return yield* new NotDeliverable({ why: result })
        })

        const recover = Effect.fnUntraced(function* (id: IntegrationId, since: number) {
          const integration = yield* integrations.find(id)
          if (integration === null) return yield* new UnknownIntegration({ id })
          if (integration.status === "disabled") return yield* new NotDeliverable({ why: "integration_disabled" })
          const recovering = store.recover(id, since, yield* Clock.currentTimeMillis)
          return yield* waking(wake, recovering, (count) => count > 0)
        })

        const summary = Effect.flatMap(Clock.currentTimeMillis, (now) => store.summary(now))

        return Deliveries.of({ list, show, resend, recover, summary })
      })
    )
}
