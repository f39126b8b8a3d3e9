/**
 * Where simulated engines keep what they store: a store that several processes share and that outlives each of them, or the
 * file of one process.
 */
import { DeliveryStore, IdempotencyStore, IntegrationStore, MemoryStore, TokenStore } from "@doorhook/core"
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import type { Stores } from "./WatchedStore.ts"

/** The storage of one simulation. */
export interface Storage {
  /** Opens the stores for a process, which builds them: what they do by themselves dies with it. */
  readonly open: Effect.Effect<Stores, never, Scope.Scope>
  /** The process that had opened them was killed: keeps what had reached the file, and nothing else. */
  readonly crashed: () => void
  /** Deletes everything. */
  readonly dispose: () => void
}

/** A kind of storage. */
export interface StorageKind {
  readonly name: string
  /** Whether only one process at a time has it, which opens it when it starts and whose leases end with it. */
  readonly isOwned: boolean
  readonly make: () => Storage
}

/** The stores of a layer. */
export const storesOf = <E>(
  layer: Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore, E>
): Effect.Effect<Stores, E, Scope.Scope> =>
  Effect.flatMap(Layer.build(Layer.fresh(layer)), (services) =>
    Effect.all({
      deliveries: DeliveryStore,
      integrations: IntegrationStore,
      keys: IdempotencyStore,
      tokens: TokenStore
    }).pipe(Effect.provide(services))
  )

/** One store for all processes, which only simulated crashes never touch: it stands for a database server. */
export const sharedMemory: StorageKind = {
  name: "memory",
  isOwned: false,
  make: () => {
    const stores = Effect.runSync(Effect.scoped(storesOf(MemoryStore.layer)))
    return { open: Effect.succeed(stores), crashed: () => undefined, dispose: () => undefined }
  }
}
