/**
 * A store that is opened once for all tests of a file, and empty for each: to connect and to plan anew takes longer than
 * most of them.
 */
import { PostgresStore } from "@doorhook/sql/postgres"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { afterAll } from "vitest"

type Stores = Layer.Success<ReturnType<typeof PostgresStore.layer>>

/** How a store is other than usual. */
interface KeptStoreOptions {
  readonly encryptionKey?: Redacted.Redacted<string>
  /** References that it is built with. */
  readonly provide?: Layer.Layer<never>
}

/** To be called where tests are described. What is built anew for each test is that it is empty. */
export const keptStore = (
  server: TestServer,
  { encryptionKey, provide = Layer.empty }: KeptStoreOptions = {}
): Layer.Layer<Stores, unknown> => {
  const open = Effect.gen(function* () {
    const database = yield* pooledDatabase(server)
    const store = PostgresStore.layer({ url: Redacted.make(database.url), encryptionKey })
    const services = yield* Layer.build(Layer.provide(store, provide))
    return { database, services }
  })
  const scope = Scope.makeUnsafe()
  // Not in the time of the test that comes first, which may stand still.
  const opening = Effect.promise(() => Effect.runPromise(Scope.provide(open, scope)))
  const opened = Effect.runSync(Effect.cached(opening))
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const forOne = Effect.acquireRelease(opened, ({ database }) => Effect.promise(database.empty))
  return Layer.effectContext(Effect.map(forOne, ({ services }) => services))
}
