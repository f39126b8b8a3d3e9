/**
 * Wake signals reach every process over the same database, with the transaction they were given in.
 */
import { Wake } from "@doorhook/core"
import { PostgresDatabase, PostgresWake } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describeOnPostgres, newDatabase } from "./TestServer.ts"

await describeOnPostgres("wake signals", (server) => {
  /** A process of its own: a pool and a listener, which hears already. */
  const process = Effect.fnUntraced(function* (url: string) {
    const database = PostgresDatabase.layer({ url: Redacted.make(url) })
    const services = yield* Layer.build(Layer.fresh(PostgresWake.layer.pipe(Layer.provideMerge(database))))
    const wake = Context.get(services, Wake)
    // The first wake-up says that it listens now.
    yield* wake.wait
    return { wake, sql: Context.get(services, SqlClient.SqlClient) }
  })

  it.live("every process hears a signal, its own included", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const a = yield* process(url)
      const b = yield* process(url)
      for (const _ of [1, 2, 3]) {
        yield* a.wake.signal
        yield* a.wake.wait
        yield* b.wake.wait
      }
    })
  )

  it.live("a signal in a transaction is heard when it commits, and never when it does not", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const a = yield* process(url)
      const b = yield* process(url)
      const heard: Array<string> = []
      const waiting = yield* Effect.forkChild(Effect.tap(b.wake.wait, () => Effect.sync(() => heard.push("signal"))))
      yield* Effect.flip(a.sql.withTransaction(Effect.andThen(a.wake.signal, Effect.fail("roll back"))))
      // A round trip after the signal would have been sent.
      yield* a.sql.unsafe("SELECT 1")
      yield* b.sql.unsafe("SELECT 1")
      assert.deepEqual(heard, [])
      yield* a.sql.withTransaction(
        Effect.andThen(
          a.wake.signal,
          Effect.andThen(b.sql.unsafe("SELECT 1"), () => Effect.sync(() => heard.push("still in it")))
        )
      )
      yield* Fiber.join(waiting)
      assert.deepEqual(heard, ["still in it", "signal"])
    })
  )

  it.live("with its connection broken, a listener wakes up to look, and hears again", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const a = yield* process(server.url(name))
      for (const _ of [1, 2]) {
        yield* Effect.promise(() =>
          server.administer(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = '${name}' AND application_name = 'doorhook'`
          )
        )
        yield* a.wake.wait
        yield* a.wake.signal
        yield* a.wake.wait
      }
    })
  )
})
