/**
 * Sends deliveries: see the layer in `DispatcherLive`.
 */
import { Context, Effect, Layer } from "effect"
import type { IntegrationId } from "../domain/Ids.ts"

/** What a dispatcher is doing. */
export interface DispatcherStatus {
  /** Requests open now. */
  readonly delivering: number
  /** Deliveries under lease that wait for a place. */
  readonly buffered: number
  /** When it last looked for due deliveries with success, in milliseconds since the epoch; null before the first. */
  readonly last_claim_at: number | null
}

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    readonly status: Effect.Effect<DispatcherStatus>
    /** Gives back what is held of an integration, because it was changed or deleted; it is claimed anew if it is due. */
    readonly forget: (integration: IntegrationId) => Effect.Effect<void>
  }
>()("@doorhook/core/services/Dispatcher") {
  /** For a process that sends nothing itself. */
  static readonly layerNone: Layer.Layer<Dispatcher> = Layer.succeed(Dispatcher, {
    status: Effect.succeed({ delivering: 0, buffered: 0, last_claim_at: null }),
    forget: () => Effect.void
  })
}
