/**
 * All storage ports in memory, for trials, tests and simulations.
 */
import { Effect, Equal, Layer } from "effect"
import type { Redacted } from "effect"
import type { RegisteredClient } from "../model/Client.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import { SettingStore } from "../ports/SettingStore.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import * as MemoryDeliveryStore from "./MemoryDeliveryStore.ts"
import * as MemoryIntegrationStore from "./MemoryIntegrationStore.ts"
import { MemoryState } from "./MemoryState.ts"
import * as MemoryTokenStore from "./MemoryTokenStore.ts"

const makeIdempotencyStore = Effect.gen(function* () {
  const { keys } = yield* MemoryState
  return IdempotencyStore.of({
    find: (wanted, now) =>
      Effect.sync(() =>
        wanted.flatMap((key) => {
          const found = keys.get(key)
          return found !== undefined && found.expires_at > now ? [found] : []
        })
      ),
    purgeExpired: (now, limit) =>
      Effect.sync(() => {
        const expired = [...keys.values()].filter(({ expires_at }) => expires_at <= now).slice(0, limit)
        for (const { key } of expired) keys.delete(key)
        return expired.length
      })
  })
})

const idempotencyStore: Layer.Layer<IdempotencyStore, never, MemoryState> = Layer.effect(
  IdempotencyStore,
  makeIdempotencyStore
)

const makeClientStore = Effect.sync(() => {
  const clients = new Map<string, RegisteredClient>()
  return ClientStore.of({
    add: (client) =>
      Effect.sync(() => {
        if (clients.has(client.id)) return false
        clients.set(client.id, client)
        return true
      }),
    find: (id) => Effect.succeed(clients.get(id) ?? null),
    list: Effect.sync(() => [...clients.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))),
    replaceSecrets: (found, secrets) =>
      Effect.sync(() => {
        const client = clients.get(found.id)
        if (client === undefined || !Equal.equals(client.secrets, found.secrets)) return false
        clients.set(client.id, { ...client, secrets })
        return true
      }),
    remove: (id) => Effect.sync(() => clients.delete(id))
  })
})

const clientStore: Layer.Layer<ClientStore> = Layer.effect(ClientStore, makeClientStore)

const makeSettingStore = Effect.sync(() => {
  const values = new Map<string, string>()
  const secrets = new Map<string, Redacted.Redacted>()
  return SettingStore.of({
    getOrCreate: (name, candidate) =>
      Effect.sync(() => {
        const value = values.get(name)
        if (value !== undefined) return { value, created: false }
        values.set(name, candidate)
        return { value: candidate, created: true }
      }),
    find: (name) => Effect.sync(() => values.get(name) ?? null),
    put: (name, value) => Effect.sync(() => void values.set(name, value)),
    getOrCreateSecret: (name, candidate) =>
      Effect.sync(() => {
        const secret = secrets.get(name) ?? candidate
        secrets.set(name, secret)
        return secret
      }),
    replaceSecret: (name, secret) => Effect.sync(() => void secrets.set(name, secret))
  })
})

const settingStore: Layer.Layer<SettingStore> = Layer.effect(SettingStore, makeSettingStore)

/** All storage ports, initially empty. Within one runtime they share one store; `Layer.fresh` creates another. */
export const layer: Layer.Layer<
  DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore
> = Layer.mergeAll(
  Layer.mergeAll(MemoryDeliveryStore.layer, MemoryIntegrationStore.layer, idempotencyStore).pipe(
    Layer.provide(MemoryState.layer)
  ),
  MemoryTokenStore.layer,
  clientStore,
  settingStore
)
