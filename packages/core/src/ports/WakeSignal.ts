/**
 * Wakes dispatchers when deliveries can be claimed, so that dispatchers don't wait for their next poll.
 */
import { Context, Effect, Layer, Queue } from "effect"
import type { IntegrationId } from "../model/Ids.ts"

export class WakeSignal extends Context.Service<
  WakeSignal,
  {
    /**
     * Wakes every dispatcher of the same store. Signals to a busy dispatcher are combined and kept until the dispatcher
     * waits.
     */
    readonly signal: Effect.Effect<void>
    /** Returns at the next signal. */
    readonly wait: Effect.Effect<void>
    /**
     * Waits for other processes to change integrations, and returns their ids. Null means that any integration may have
     * changed. The store sends these signals itself.
     */
    readonly changes: Effect.Effect<ReadonlyArray<IntegrationId> | null>
  }
>()("@doorhook/core/ports/WakeSignal") {
  /** Signals for a single dispatcher, in this process. */
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
