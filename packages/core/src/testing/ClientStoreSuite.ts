/**
 * The contract of `ClientStore`.
 */
import { Effect } from "effect"
import type { RegisteredClient } from "../model/Client.ts"
import { ClientId } from "../model/Ids.ts"
import { TokenHash } from "../model/Token.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import { start } from "./Fixtures.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { concurrently, expectEqual } from "./SuiteCase.ts"

const secret = (name: string, expires_at: number | null = null) => ({ hash: TokenHash.make(name), expires_at })

const newClient = (id: string, fields: Partial<RegisteredClient> = {}): RegisteredClient => ({
  id: ClientId.make(id),
  name: `Client ${id}`,
  redirect_uris: ["https://client.example/cb?x=1", "urn:ietf:wg:oauth:2.0:oob"],
  secrets: [secret("hash")],
  jwks: null,
  created_at: start,
  ...fields
})

export const cases: ReadonlyArray<SuiteCase<ClientStore>> = [
  {
    name: "a client is stored once, as it was registered",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = newClient("c", { name: "Café “Ü” \u{1f511}", secrets: [secret("a", start + 5), secret("b")] })
      yield* expectEqual("added", yield* store.add(client), true)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), client)
      yield* expectEqual("again", yield* store.add(newClient("c", { name: "another" })), false)
      yield* expectEqual("as before", yield* store.find(ClientId.make("c")), client)
      yield* expectEqual("unknown", yield* store.find(ClientId.make("C")), null)
    })
  },
  {
    name: "clients are listed by id",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      yield* expectEqual("none", yield* store.list, [])
      const jwks = { keys: [{ kty: "EC", crv: "P-256", x: "x", y: "y", kid: "k" } as const] }
      const [a, b, c] = [newClient("a"), newClient("b", { secrets: [], jwks }), newClient("c")]
      for (const client of [c, a, b]) yield* store.add(client)
      yield* expectEqual("all", yield* store.list, [a, b, c])
    })
  },
  {
    name: "replacing secrets changes only the secrets, and only if they are unchanged since they were read",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = newClient("c")
      yield* store.add(client)
      const secrets = [secret("new"), secret("hash", start + 100)]
      yield* expectEqual("replaced", yield* store.replaceSecrets(client, secrets), true)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), { ...client, secrets })
      yield* expectEqual("seen before", yield* store.replaceSecrets(client, [secret("late")]), false)
      yield* expectEqual("as it was", yield* store.find(ClientId.make("c")), { ...client, secrets })
      yield* expectEqual("unknown", yield* store.replaceSecrets(newClient("x"), secrets), false)
    })
  },
  {
    name: "of twenty concurrent calls that add a client with the same id, one succeeds, and its client is stored",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = (n: number) => newClient("c", { name: `Client ${n}`, secrets: [secret(`hash ${n}`)] })
      const answers = yield* concurrently(20, (n) => store.add(client(n)))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), client(answers.indexOf(true)))
      yield* expectEqual("all", (yield* store.list).length, 1)
    })
  },
  {
    name: "of twenty concurrent calls that replace the same secrets, one succeeds, and only its secrets are stored",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = newClient("c")
      yield* store.add(client)
      const secrets = (n: number) => [secret(`hash ${n}`), ...client.secrets]
      const answers = yield* concurrently(20, (n) => store.replaceSecrets(client, secrets(n)))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), {
        ...client,
        secrets: secrets(answers.indexOf(true))
      })
    })
  },
  {
    name: "of twenty concurrent calls that remove a client, one succeeds, and concurrent replacements of secrets do not restore it",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = newClient("c")
      yield* store.add(client)
      const replace = Effect.as(store.replaceSecrets(client, [secret("new")]), false)
      const answers = yield* concurrently(21, (n) => (n === 0 ? replace : store.remove(client.id)))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), null)
    })
  },
  {
    name: "a removed client is no longer found, and its id can be used again",
    run: Effect.gen(function* () {
      const store = yield* ClientStore
      const client = newClient("c")
      yield* store.add(client)
      yield* expectEqual("removed", yield* store.remove(client.id), true)
      yield* expectEqual("found", yield* store.find(ClientId.make("c")), null)
      yield* expectEqual("removed again", yield* store.remove(client.id), false)
      yield* expectEqual("added again", yield* store.add(client), true)
    })
  }
]
