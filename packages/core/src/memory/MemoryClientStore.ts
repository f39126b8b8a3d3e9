/**
 * Registered clients in memory.
 */
import { Effect, Equal, Layer } from "effect"
import type { RegisteredClient } from "../model/Client.ts"
import { ClientStore } from "../ports/ClientStore.ts"

const make = Effect.sync(() => {
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

export const layer: Layer.Layer<ClientStore> = Layer.effect(ClientStore, make)
