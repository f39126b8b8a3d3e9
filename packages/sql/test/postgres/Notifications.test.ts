/**
 * Transactions take ids before they commit and may commit in any order. A client that reads on after the last id must
 * not miss a notification of an open transaction.
 */
import type { NotificationId } from "@doorhook/core"
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"

const { claimOne, createIntegration, enqueue, newEvent, record, settle, settlement, start } = StoreFixtures

/** Finds connections to this database that wait for a lock, ignoring other databases on the server. */
const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** Stores a notification about the service. */
const addNotification = Effect.gen(function* () {
  const about = { integration_id: null, scope: null, at: start, ahead_ms: 1, until: start + 1 }
  yield* (yield* DeliveryStore).addNotification({ kind: "retention_paused", ...about })
})

/** Returns an effect that settles a delivery, which causes a notification. */
const exhaustion = Effect.fnUntraced(function* (n: number) {
  yield* enqueue(record(newEvent(n), yield* createIntegration()))
  const leased = yield* claimOne(start)
  return Effect.asVoid(settle(start, settlement(leased, { state: "exhausted", reason: "schedule_used_up" })))
})

const variants = {
  "two notifications about the service": [Effect.succeed(addNotification), Effect.succeed(addNotification)],
  "two settlements": [exhaustion(1), exhaustion(2)],
  "a settlement, then a notification about the service": [exhaustion(1), Effect.succeed(addNotification)]
} as const

await describeOnPostgres("notifications", (server) => {
  for (const [name, [makeFirst, makeSecond]] of Object.entries(variants)) {
    it.live(`a notification that commits later is not skipped: ${name}`, () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const store = yield* DeliveryStore
          const [first, second] = [yield* makeFirst, yield* makeSecond]
          const read: Array<NotificationId> = []
          const readOn = Effect.gen(function* () {
            const after = read.at(-1)
            const page = yield* store.notifications({ limit: 10, ...(after !== undefined && { after }) })
            read.push(...page.map(({ id }) => id))
          })
          const [isWritten, mayCommit] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          const slow = yield* first.pipe(
            Effect.andThen(Deferred.succeed(isWritten, undefined)),
            Effect.andThen(Deferred.await(mayCommit)),
            sql.withTransaction,
            Effect.forkChild
          )
          yield* Deferred.await(isWritten)
          const quick = yield* Effect.forkChild(second)
          while (quick.pollUnsafe() === undefined && (yield* sql.unsafe(waiting)).length === 0) yield* Effect.yieldNow
          yield* readOn
          yield* Deferred.succeed(mayCommit, undefined)
          yield* Fiber.join(slow)
          yield* Fiber.join(quick)
          yield* readOn
          const stored = yield* store.notifications({ limit: 10 })
          assert.strictEqual(stored.length, 2)
          assert.deepEqual(
            read,
            stored.map(({ id }) => id)
          )
        }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
      })
    )
  }
})
