/**
 * A store that is opened once for all tests of a file, and empty for each: to connect and to plan anew takes longer than
 * most of them.
 */
import { PostgresStore } from "@doorhook/sql/postgres"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { lentDatabase } from "@doorhook/testkit/postgres/TestServer"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { afterAll } from "vitest"

type Stores = Layer.Success<ReturnType<typeof PostgresStore.layer>>

/** To be called where tests are described. What is built anew for each test is that it is empty. */
export const keptStore = (
  server: TestServer,
  encryptionKey?: Redacted.Redacted<string>
): Layer.Layer<Stores, unknown> => {
  const open = Effect.gen(function* () {
    const database = yield* lentDatabase(server)
    const services = yield* Layer.build(PostgresStore.layer({ url: Redacted.make(database.url), encryptionKey }))
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
