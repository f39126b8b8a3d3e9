/**
 * A store that all tests of a file share. It is emptied for each test and stays open, because connecting and planning
 * statements take longer than most tests.
 */
import { PostgresStore } from "@doorhook/sql/postgres"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { afterAll } from "vitest"

type Stores = Layer.Success<ReturnType<typeof PostgresStore.layer>>

/** Options for the shared store. */
interface KeptStoreOptions {
  readonly encryptionKey?: Redacted.Redacted<string>
  /** Parameters added to the URL, like `?notify=off`. */
  readonly parameters?: string
  /** Layer that sets Effect references while the store is built. */
  readonly provide?: Layer.Layer<never>
}

/** Makes a layer that provides the store, emptied for each test. Must be called inside `describe`. */
export const keptStore = (
  server: TestServer,
  { encryptionKey, parameters = "", provide = Layer.empty }: KeptStoreOptions = {}
): Layer.Layer<Stores, unknown> => {
  const open = Effect.gen(function* () {
    const database = yield* pooledDatabase(server)
    const store = PostgresStore.layer({ url: Redacted.make(`${database.url}${parameters}`), encryptionKey })
    const services = yield* Layer.build(Layer.provide(store, provide))
    return { database, services }
  })
  const scope = Scope.makeUnsafe()
  // Opens the store outside of tests, because a test may use a test clock.
  const opening = Effect.promise(() => Effect.runPromise(Scope.provide(open, scope)))
  const opened = Effect.runSync(Effect.cached(opening))
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const forOne = Effect.acquireRelease(opened, ({ database }) => Effect.promise(database.empty))
  return Layer.effectContext(Effect.map(forOne, ({ services }) => services))
}
