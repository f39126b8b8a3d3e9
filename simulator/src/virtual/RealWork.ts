/**
 * Store calls that wait for something outside of virtual time, like a sync to disk.
 */
import type { DeliveryStore } from "@doorhook/core"
import { StoreError } from "@doorhook/core"
import { Cause, Effect, Exit } from "effect"
import type { Stores } from "../engine/world/WatchedStore.ts"

/** How often in a row a call of one kind may fail: what passes by itself has passed by then. */
const mostFailures = 10

/** Calls for publications: how often these are refused is counted where they are made. */
const publishing = null

/** A call that fails again and again. */
export interface LastingFailure {
  /** How often in a row. */
  readonly tries: number
  /** The last failure. */
  readonly cause: StoreError
}

export class RealWork {
  #open = 0
  #lasting: LastingFailure | null = null
  /** How often each kind of call has failed in a row. */
  readonly #failures = new Map<string, number>()

  get isOpen(): boolean {
    return this.#open > 0
  }

  /** What fails again and again; null when nothing does. */
  get lastingFailure(): LastingFailure | null {
    return this.#lasting
  }

  /** A call, counted while it is under way; `kind` is what fails in a row. */
  #counted<A, E>(kind: string | null, call: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.#open++
      return Effect.onExit(call, (exit) =>
        Effect.sync(() => {
          this.#open--
          if (kind !== null) this.#ended(kind, exit)
        })
      )
    })
  }

  #ended(kind: string, exit: Exit.Exit<unknown, unknown>): void {
    if (Exit.isSuccess(exit)) return void this.#failures.delete(kind)
    const cause = Cause.squash(exit.cause)
    if (!(cause instanceof StoreError)) return
    const tries = (this.#failures.get(kind) ?? 0) + 1
    this.#failures.set(kind, tries)
    if (tries >= mostFailures) this.#lasting ??= { tries, cause }
  }

  /** Stores whose calls are counted. */
  over({ deliveries, integrations, keys, tokens }: Stores): Stores {
    const counted = <A, E>(kind: string | null, call: Effect.Effect<A, E>) => this.#counted(kind, call)
    const store: DeliveryStore["Service"] = {
      ...deliveries,
      enqueue: (records, remembered) => counted(publishing, deliveries.enqueue(records, remembered)),
      claim: (request) => counted("deliveries.claim", deliveries.claim(request)),
      settle: (outcomes, now, disableAfter) =>
        counted("deliveries.settle", deliveries.settle(outcomes, now, disableAfter)),
      warn: (now, disableAfter, limit) => counted("deliveries.warn", deliveries.warn(now, disableAfter, limit)),
      purge: (request) => counted("deliveries.purge", deliveries.purge(request)),
      heartbeat: (beat) => counted("deliveries.heartbeat", deliveries.heartbeat(beat))
    }
    return {
      deliveries: store,
      integrations: {
        ...integrations,
        create: (...fields) => counted("integrations.create", integrations.create(...fields)),
        find: (id) => counted("integrations.find", integrations.find(id)),
        remove: (found) => counted("integrations.remove", integrations.remove(found)),
        ofScopes: (scopes) => counted(publishing, integrations.ofScopes(scopes))
      },
      keys: {
        find: (wanted, now) => counted(publishing, keys.find(wanted, now)),
        purgeExpired: (now, limit) => counted("keys.purgeExpired", keys.purgeExpired(now, limit))
      },
      tokens: {
        ...tokens,
        purgeExpired: (now, limit) => counted("tokens.purgeExpired", tokens.purgeExpired(now, limit))
      }
    }
  }
}

/** Waits for the next turn of the real event loop. */
export const realTurn: Effect.Effect<void> = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})
