/**
 * Wakes the readers that follow feeds when there may be new events in their building or tenant.
 *
 * While at least one reader listens, the hub asks the store for the buildings and tenants of new events: whenever a
 * publisher of this process has stored events, and every `lookEvery` for those of other processes. While nobody listens,
 * it does nothing.
 */
import { Context, Effect, Latch, Layer } from "effect"
import type { Fiber, Scope as ResourceScope } from "effect"
import type { Scope } from "../model/Integration.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { EventSignal } from "../publish/StoredEvents.ts"
import { StoredEvents } from "../publish/StoredEvents.ts"
import { runForever } from "../delivery/Loops.ts"

/** Longest time between two looks for new events, in milliseconds. */
const lookEvery = 50

/** Maximum number of events per look. */
const eventsPerLook = 1_000

const keyOf = ({ id, type }: Scope): string => `${type} ${id}`

export class FeedHub extends Context.Service<
  FeedHub,
  Pick<Hub, "listen" | "ready" | "listeners" | "isClosed" | "close">
>()("@doorhook/core/integrations/FeedHub") {
  static readonly layer: Layer.Layer<FeedHub, never, DeliveryStore> = Layer.effect(
    FeedHub,
    Effect.suspend(() => Hub.make)
  )
}

class Hub {
  readonly #store: DeliveryStore["Service"]
  readonly #signal: EventSignal
  readonly #fork: (effect: Effect.Effect<never>) => Fiber.Fiber<never>
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #look = Latch.makeUnsafe(false)
  /** Sequence number up to which the listeners were woken; null while nobody listens. */
  #position: number | null = null
  #stop: () => void = () => undefined
  #isClosed = false

  private constructor(
    store: DeliveryStore["Service"],
    signal: EventSignal,
    fork: (effect: Effect.Effect<never>) => Fiber.Fiber<never>
  ) {
    this.#store = store
    this.#signal = signal
    this.#fork = fork
  }

  /** Makes a hub that is closed with its scope. */
  static readonly make: Effect.Effect<Hub, never, DeliveryStore | ResourceScope.Scope> = Effect.gen(function* () {
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const hub = new Hub(yield* DeliveryStore, yield* StoredEvents, fork)
    yield* Effect.addFinalizer(() => Effect.sync(() => hub.close()))
    return hub
  })

  /**
   * Calls `wake` whenever a building or tenant may have new events, until the returned function is called. A reader that
   * reads after `ready` misses nothing.
   */
  readonly listen = (scope: Scope, wake: () => void): (() => void) => {
    const key = keyOf(scope)
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners)
    listeners.add(wake)
    return () => {
      listeners.delete(wake)
      if (listeners.size > 0 || this.#listeners.get(key) !== listeners) return
      this.#listeners.delete(key)
      if (this.#listeners.size === 0) this.#end()
    }
  }

  /** Succeeds once the hub looks for new events. */
  readonly ready: Effect.Effect<void, StoreError> = Effect.suspend(() =>
    this.#position !== null
      ? Effect.void
      : Effect.map(this.#store.feedEnds, ({ events }) => this.#begin(events.complete))
  )

  /** Returns how many readers listen. */
  readonly listeners = (): number => this.#listeners.values().reduce((sum, { size }) => sum + size, 0)

  /** Whether readers must stop following feeds. */
  readonly isClosed = (): boolean => this.#isClosed

  /** Wakes all readers for the last time. */
  readonly close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const listeners of this.#listeners.values()) for (const wake of listeners) wake()
    this.#end()
  }

  #begin(position: number): void {
    if (this.#position !== null || this.#isClosed || this.#listeners.size === 0) return
    this.#position = position
    const stopListening = this.#signal.listen(() => this.#look.openUnsafe())
    const fiber = this.#fork(runForever("Looking for new events in feeds", this.#round()))
    this.#stop = () => {
      stopListening()
      fiber.interruptUnsafe()
    }
  }

  #end(): void {
    this.#position = null
    this.#stop()
    this.#stop = () => undefined
  }

  #round(): Effect.Effect<void> {
    return Effect.timeoutOption(this.#look.await, lookEvery).pipe(
      Effect.andThen(Effect.suspend(() => this.#wakeReaders())),
      // The next look repeats it.
      Effect.catchTag("StoreError", (error) => Effect.logDebug(`Can't look for new events: ${error.message}`))
    )
  }

  #wakeReaders(): Effect.Effect<void, StoreError> {
    this.#look.closeUnsafe()
    const after = this.#position
    if (after === null) return Effect.void
    return Effect.flatMap(this.#store.newScopes({ after, limit: eventsPerLook }), ({ more, scopes, upTo }) => {
      if (this.#position !== after) return Effect.void
      this.#position = upTo
      for (const scope of scopes) for (const wake of this.#listeners.get(keyOf(scope)) ?? []) wake()
      return more ? this.#wakeReaders() : Effect.void
    })
  }
}
