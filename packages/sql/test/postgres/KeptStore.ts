/**
 * A store that all tests of a file share. It is emptied for each test and stays open, because connecting and planning
 * statements take longer than most tests.
 */
import { PostgresStore } from "@doorhook/sql/postgres"
import type { PooledDatabase } from "@doorhook/testkit/postgres/DatabasePool"
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

/**
 * Keeps what `open` makes on a database for all tests of a file. The database is emptied for each test. Must be called
 * inside `describe`.
 */
export const kept = <A, E>(
  server: TestServer,
  open: (database: PooledDatabase) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, never, Scope.Scope> => {
  const all = Effect.gen(function* () {
    const database = yield* pooledDatabase(server)
    return { database, made: yield* open(database) }
  })
  const scope = Scope.makeUnsafe()
  // Opens the store outside of tests, because a test may use a test clock.
  const opening = Effect.promise(() => Effect.runPromise(Scope.provide(all, scope)))
  const opened = Effect.runSync(Effect.cached(opening))
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const forOne = Effect.acquireRelease(opened, ({ database }) => Effect.promise(database.empty))
  return Effect.map(forOne, ({ made }) => made)
}

/** Makes a layer that provides the store, emptied for each test. Must be called inside `describe`. */
export const keptStore = (
  server: TestServer,
  { encryptionKey, parameters = "", provide = Layer.empty }: KeptStoreOptions = {}
): Layer.Layer<Stores, unknown> =>
  Layer.effectContext(
    kept(server, ({ url }) => {
      const store = PostgresStore.layer({ url: Redacted.make(`${url}${parameters}`), encryptionKey })
      return Layer.build(Layer.provide(store, provide))
    })
  )
