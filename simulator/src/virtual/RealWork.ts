/**
 * Store calls that wait for something outside of virtual time, like a sync to disk.
 */
import type { DeliveryStore } from "@doorhook/core"
import { Effect } from "effect"
import type { Stores } from "../engine/world/WatchedStore.ts"

export class RealWork {
  #open = 0

  get isOpen(): boolean {
    return this.#open > 0
  }

  /** A call, counted while it is under way. */
  readonly counted = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      this.#open++
      return Effect.ensuring(
        call,
        Effect.sync(() => {
          this.#open--
        })
      )
    })

  /** Stores whose calls are counted. */
  over({ deliveries, integrations, keys, tokens }: Stores): Stores {
    const { counted } = this
    const store: DeliveryStore["Service"] = {
      ...deliveries,
      enqueue: (records, remembered) => counted(deliveries.enqueue(records, remembered)),
      claim: (request) => counted(deliveries.claim(request)),
      settle: (settlements, now, disableAfter) => counted(deliveries.settle(settlements, now, disableAfter)),
      release: (leases, dueAt) => counted(deliveries.release(leases, dueAt)),
      nextDue: counted(deliveries.nextDue),
      purge: (request) => counted(deliveries.purge(request)),
      beat: (worker, now, until) => counted(deliveries.beat(worker, now, until)),
      leave: (worker) => counted(deliveries.leave(worker))
    }
    return {
      deliveries: store,
      integrations: {
        ...integrations,
        create: (fields, key) => counted(integrations.create(fields, key)),
        find: (id) => counted(integrations.find(id)),
        remove: (found) => counted(integrations.remove(found)),
        ofScopes: (scopes) => counted(integrations.ofScopes(scopes))
      },
      keys: {
        find: (wanted, now) => counted(keys.find(wanted, now)),
        purgeExpired: (now, limit) => counted(keys.purgeExpired(now, limit))
      },
      tokens: { ...tokens, purgeExpired: (now, limit) => counted(tokens.purgeExpired(now, limit)) }
    }
  }
}

/** Waits for the next turn of the real event loop. */
export const realTurn: Effect.Effect<void> = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})
