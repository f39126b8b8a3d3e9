/**
 * The contract suites detect a store that lets several concurrent callers succeed where only one may.
 */
import type { RedeliverRequest } from "@doorhook/core"
import { ClientStore, DeliveryStore, IntegrationStore, MemoryStore, SettingStore, TokenStore } from "@doorhook/core"
import { StoreSuite } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"

/** Gives the first caller's answer to all callers that arrive while the first one waits. */
const echoing = <Args extends ReadonlyArray<unknown>, A, E>(
  ask: (...args: Args) => Effect.Effect<A, E>
): ((...args: Args) => Effect.Effect<A, E>) => {
  let first: Effect.Effect<A, E> | null = null
  return (...args) =>
    Effect.suspend(() => {
      if (first !== null) return Effect.andThen(Effect.yieldNow, first)
      first = Effect.die("asked before there was an answer")
      return Effect.onExit(ask(...args), (exit) => {
        first = exit
        return Effect.andThen(Effect.yieldNow, () => Effect.sync(() => (first = null)))
      })
    })
}

/** The memory store with one port replaced. */
const over = <Id extends StoreSuite.Stores, Store>(
  port: Context.Key<Id, Store>,
  change: (store: Store) => Store
): Layer.Layer<StoreSuite.Stores> =>
  Layer.effectContext(
    Effect.map(Layer.build(MemoryStore.layer), (stores) => Context.add(stores, port, change(Context.get(stores, port))))
  )

/** Replaces a store's `redeliver`: for one type of request, concurrent callers get the same answer. */
const echoingOf =
  (type: RedeliverRequest["type"]) =>
  (store: DeliveryStore["Service"]): DeliveryStore["Service"] => {
    const echo = echoing(store.redeliver)
    const redeliver: typeof store.redeliver = (request, now) =>
      request.type === type ? echo(request, now) : store.redeliver(request, now)
    return { ...store, redeliver }
  }

/** For each call that may succeed for one caller only, a faulty store that gives concurrent callers the same answer. */
const faults: Readonly<Record<string, Layer.Layer<StoreSuite.Stores>>> = {
  "ClientStore.add": over(ClientStore, (store) => ({ ...store, add: echoing(store.add) })),
  "ClientStore.replaceSecrets": over(ClientStore, (store) => ({
    ...store,
    replaceSecrets: echoing(store.replaceSecrets)
  })),
  "ClientStore.remove": over(ClientStore, (store) => ({ ...store, remove: echoing(store.remove) })),
  "DeliveryStore.enqueue": over(DeliveryStore, (store) => ({ ...store, enqueue: echoing(store.enqueue) })),
  "DeliveryStore.claim": over(DeliveryStore, (store) => ({ ...store, claim: echoing(store.claim) })),
  "DeliveryStore.settle": over(DeliveryStore, (store) => ({ ...store, settle: echoing(store.settle) })),
  "DeliveryStore.warn": over(DeliveryStore, (store) => ({ ...store, warn: echoing(store.warn) })),
  "DeliveryStore.redeliver of an integration": over(DeliveryStore, echoingOf("integration")),
  "DeliveryStore.redeliver as a probe": over(DeliveryStore, echoingOf("probe")),
  "IntegrationStore.create": over(IntegrationStore, (store) => ({ ...store, create: echoing(store.create) })),
  "IntegrationStore.update": over(IntegrationStore, (store) => ({ ...store, update: echoing(store.update) })),
  "IntegrationStore.remove": over(IntegrationStore, (store) => ({ ...store, remove: echoing(store.remove) })),
  "SettingStore.getOrCreate": over(SettingStore, (store) => ({ ...store, getOrCreate: echoing(store.getOrCreate) })),
  "TokenStore.redeemCode": over(TokenStore, (store) => ({ ...store, redeemCode: echoing(store.redeemCode) })),
  "TokenStore.refresh": over(TokenStore, (store) => ({ ...store, refresh: echoing(store.refresh) }))
}

const atTheSameTime = /at once|at the same time|concurrent|while|never both/

describe("the store suites notice", () => {
  for (const [call, fault] of Object.entries(faults)) {
    it.effect(`${call} that returns the first answer to all concurrent callers`, () =>
      Effect.gen(function* () {
        const cases = StoreSuite.suite("echoing", fault)
        const racing = cases.filter(({ name }) => atTheSameTime.test(name))
        const exits = yield* Effect.forEach(racing, ({ run }) => Effect.exit(run))
        assert.isTrue(exits.some(Exit.isFailure))
      })
    )
  }
})
