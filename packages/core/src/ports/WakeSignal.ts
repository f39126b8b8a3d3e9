/**
 * Tells dispatchers that there is something to claim, so that they need not wait for their next poll.
 */
import { Context, Effect, Layer, Queue } from "effect"
import type { IntegrationId } from "../model/Ids.ts"

export class WakeSignal extends Context.Service<
  WakeSignal,
  {
    /** Wakes every dispatcher over the same store. Signals while one is awake are kept, as one. */
    readonly signal: Effect.Effect<void>
    /** Returns at the next signal. */
    readonly wait: Effect.Effect<void>
    /**
     * Returns when other processes have changed integrations: which, or null when it can't be told, so that all may have
     * changed. The store signals such changes by itself.
     */
    readonly changes: Effect.Effect<ReadonlyArray<IntegrationId> | null>
  }
>()("@doorhook/core/ports/WakeSignal") {
  /** For one dispatcher in this process. */
  static readonly layerLocal: Layer.Layer<WakeSignal> = Layer.effect(
    WakeSignal,
    Effect.gen(function* () {
      const signals = yield* Queue.sliding<void>(1)
      return WakeSignal.of({
        signal: Effect.asVoid(Queue.offer(signals, undefined)),
        wait: Queue.take(signals),
        changes: Effect.never
      })
    })
  )
}
