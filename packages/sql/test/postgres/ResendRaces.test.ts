/**
 * A delivery was cancelled during an attempt, and is resent while that attempt or its lease ends. Whichever comes
 * first, no outcome is lost, and the delivery does not stay leased to a worker that is not sending it.
 */
import type { DeliveryId, Heartbeat, Integration, LeasedDelivery } from "@doorhook/core"
import { DeliveryStore, deliveryStates, IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import type { Context } from "effect"
import { SqlClient } from "effect/sql"
import { kept } from "./KeptStore.ts"

const {
  attemptsOf,
  heartbeat,
  claim,
  createIntegration,
  enqueue,
  findDelivery,
  idsOf,
  membershipLength,
  records,
  recover,
  release,
  resend,
  retryAt,
  settle,
  settlement,
  settleOutcomes,
  standing,
  start,
  worker
} = StoreFixtures

const onStore = (url: string) => Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))

/** Finds connections that wait for a lock, in this database only. */
const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_locks
  WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()))`

/** Another process on the database. */
type Other = Context.Context<Layer.Success<ReturnType<typeof onStore>>>

/** Provides the other process. Calls `notePostponed` whenever its settlements are postponed. */
const onOther = (other: Other, notePostponed: () => void) =>
  Layer.effect(
    DeliveryStore,
    Effect.map(DeliveryStore, (store) => ({
      ...store,
      settle: (...settling: Parameters<typeof store.settle>) =>
        Effect.tap(store.settle(...settling), ({ postponed }) =>
          Effect.sync(() => {
            if (postponed.size > 0) notePostponed()
          })
        )
    }))
  ).pipe(Layer.provideMerge(Layer.succeedContext(other)))

/**
 * Runs the first call in a transaction, and commits once the second call, from another process, waits for it or is
 * postponed. Returns both results.
 */
const beside = Effect.fnUntraced(function* <A, E, B, F>(
  other: Other,
  first: Effect.Effect<A, E, DeliveryStore | IntegrationStore>,
  call: Effect.Effect<B, F, DeliveryStore | IntegrationStore>
) {
  const sql = yield* SqlClient.SqlClient
  const [answer, calling] = yield* sql.withTransaction(
    Effect.gen(function* () {
      const answered = yield* first
      const postponed = new AbortController()
      const process = onOther(other, () => postponed.abort())
      const fiber = yield* call.pipe(Effect.provide(process), Effect.forkDetach)
      while (!postponed.signal.aborted && (yield* sql.unsafe(waiting)).length === 0) {
        assert.isUndefined(fiber.pollUnsafe())
        yield* Effect.yieldNow
      }
      return [answered, fiber] as const
    })
  )
  return [answer, yield* Fiber.join(calling)] as const
})

const disable = (integration: Integration) =>
  IntegrationStore.use((store) =>
    store.update({ ...integration, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
  )

const enable = (integration: Integration) =>
  IntegrationStore.use((store) => store.update({ ...integration, version: 3 }, 2))

const claimed = Effect.gen(function* () {
  yield* heartbeat(start)
  const integration = yield* createIntegration()
  yield* enqueue(...records(1, 1, integration))
  const [leased] = yield* claim(start)
  return leased === undefined ? assert.fail("nothing claimed") : { integration, leased }
})

/**
 * Creates a delivery and cancels it during its attempt, by disabling its integration. Enables the integration again.
 */
const cancelled = Effect.gen(function* () {
  const { integration, leased } = yield* claimed
  yield* disable(integration)
  yield* enable(integration)
  assert.deepEqual(yield* standing(leased.id), ["cancelled", 0, null])
  return { integration, leased }
})

type Call = Effect.Effect<unknown, unknown, DeliveryStore | IntegrationStore>

/** Ways to send a delivery again. */
const resends = {
  resend: (_: Integration, { id }: LeasedDelivery): Call => resend(id, start + 1),
  recovery: ({ id }: Integration): Call => recover(id, 0, start + 1)
}

const heartbeatCall = (beats: Omit<Heartbeat, "worker" | "now">): Call =>
  DeliveryStore.use((store) => store.heartbeat({ worker, now: start + 2, ...beats }))

/** Ways in which the attempt or the lease ends, and the number of recorded attempts afterwards. */
const ends: ReadonlyArray<readonly [name: string, end: (leased: LeasedDelivery) => Call, attempts: number]> = [
  ["an acknowledgement", (leased) => settle(start + 2, settlement(leased)), 1],
  ["a failed attempt", (leased) => settle(start + 2, retryAt(leased, start + 5_000)), 1],
  ["a release", (leased) => release(start + 2, start + 3, [leased]), 0],
  [
    "a release with an outcome of another delivery",
    Effect.fnUntraced(function* ({ id }) {
      yield* enqueue(...records(2, 2, yield* createIntegration()))
      const settlements = (yield* claim(start)).map((each) => settlement(each))
      assert.lengthOf(settlements, 1)
      yield* settleOutcomes(start + 2, { settlements, releases: [{ delivery_id: id, due_at: start + 3 }] })
    }),
    0
  ],
  ["a heartbeat that comes too late", () => heartbeat(start + membershipLength), 0],
  [
    "a heartbeat that does not list it",
    () => heartbeatCall({ until: start + membershipLength, holds: { ids: [], before: start + 1 } }),
    0
  ],
  ["the last heartbeat", () => heartbeatCall({ until: null }), 0]
]

/** Checks that the delivery is due and is sent once more, and that the counts by state are right. */
const expectDue = Effect.fnUntraced(function* (id: DeliveryId, attempts: number) {
  const store = yield* DeliveryStore
  const found = yield* findDelivery(id)
  assert.deepEqual([found.state, found.attempts], ["pending", attempts])
  assert.lengthOf(yield* attemptsOf(id), attempts)
  const all = yield* store.list({ limit: 10 })
  const { states } = yield* store.summary(start)
  for (const each of deliveryStates)
    assert.strictEqual(states[each], all.filter(({ state }) => state === each).length, each)
  assert.deepEqual(idsOf(yield* claim(start + 1_000, { worker: "next" })), [id])
})

await describeOnPostgres("resends concurrent with the end of an attempt", (server) => {
  const processes = kept(server, ({ url }) => Effect.all([Layer.build(onStore(url)), Layer.build(onStore(url))]))
  const withStore = <A, E>(test: (other: Other) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof onStore>>>) =>
    Effect.flatMap(processes, ([one, other]) => Effect.provideContext(test(other), one))

  for (const [how, sendAgain] of Object.entries(resends))
    for (const [what, end, attempts] of ends) {
      it.live(`a ${how}, then ${what}: the delivery is due`, () =>
        withStore((other) =>
          Effect.gen(function* () {
            const { integration, leased } = yield* cancelled
            yield* beside(other, sendAgain(integration, leased), end(leased))
            yield* expectDue(leased.id, attempts)
          })
        )
      )

      it.live(`${what}, then a ${how}: the delivery is due`, () =>
        withStore((other) =>
          Effect.gen(function* () {
            const { integration, leased } = yield* cancelled
            yield* beside(other, end(leased), sendAgain(integration, leased))
            yield* expectDue(leased.id, attempts)
          })
        )
      )
    }

  it.live("a delivery released during its cancellation does not wait for its worker when it is resent", () =>
    withStore((other) =>
      Effect.gen(function* () {
        const { integration, leased } = yield* claimed
        yield* beside(other, disable(integration), release(start + 2, start + 3, [leased]))
        yield* enable(integration)
        yield* resend(leased.id, start + 4)
        yield* expectDue(leased.id, 0)
      })
    )
  )

  it.live("a delivery that is resent while its integration recovers is found", () =>
    withStore((other) =>
      Effect.gen(function* () {
        const { integration, leased } = yield* cancelled
        yield* settle(start, settlement(leased))
        const both = yield* beside(other, recover(integration.id, 0, start + 1), resend(leased.id, start + 2))
        assert.deepEqual(both, [
          [1, null],
          [1, leased.id]
        ])
        yield* expectDue(leased.id, 1)
      })
    )
  )

  it.live("an outcome of one delivery and a release of an older one, during a recovery of both: no deadlock", () =>
    withStore((other) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* heartbeat(start)
        const integration = yield* createIntegration()
        yield* enqueue(...records(1, 2, integration))
        const [older, newer] = yield* claim(start)
        if (older === undefined || newer === undefined) return assert.fail("nothing claimed")
        yield* disable(integration)
        yield* enable(integration)
        const outcomes = { settlements: [settlement(newer)], releases: [{ delivery_id: older.id, due_at: start + 3 }] }
        const waits = (calls: number) => Effect.repeat(sql.unsafe(waiting), { while: ({ length }) => length < calls })
        const inProcess = <A, E>(call: Effect.Effect<A, E, DeliveryStore>) =>
          call.pipe(Effect.provideContext(other), Effect.forkDetach)
        const [recovering, settling] = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe("SELECT id FROM deliveries WHERE id = $1 FOR UPDATE", [older.id])
            const first = yield* inProcess(recover(integration.id, 0, start + 1))
            yield* waits(1)
            // This transaction holds the older delivery, and the settlement does not wait for it.
            const held = yield* DeliveryStore.use((store) =>
              store.settle({ worker, ...outcomes }, start + 2, StoreFixtures.disableAfter)
            ).pipe(Effect.provideContext(other))
            assert.deepEqual([held.applied, held.postponed], [new Set([newer.id]), new Set([older.id])])
            const { releases } = outcomes
            const second = yield* inProcess(settleOutcomes(start + 2, { releases }))
            return [first, second] as const
          })
        )
        assert.deepEqual(yield* Fiber.join(recovering), [2, null])
        assert.strictEqual((yield* Fiber.join(settling)).postponed.size, 0)
        assert.lengthOf(yield* claim(start + 3, { worker: "next" }), 2)
      })
    )
  )
})
