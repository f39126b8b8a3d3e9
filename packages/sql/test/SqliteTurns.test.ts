/**
 * Changes to deliveries share transactions and syncs, and wait for the disk only if they must be durable.
 */
import type { LeasedDelivery, NewEventRecord } from "@doorhook/core"
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { DatabaseSync } from "node:sqlite"
import { eio, heldDisk, sync, turns, until } from "./HeldDisk.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const {
  heartbeat,
  claim,
  createIntegration,
  enqueue,
  newEvent,
  pending,
  record,
  records,
  settle,
  settlement,
  start,
  worker
} = StoreFixtures

/** Creates a store on a new file, with an integration and a worker. */
const setUp = Effect.gen(function* () {
  const filename = yield* temporaryFile
  const services = yield* Layer.build(SqliteStore.layer({ filename }))
  const integration = yield* Effect.provideContext(createIntegration(), services)
  yield* Effect.provideContext(heartbeat(start), services)
  return { filename, services, integration }
})

/** Returns an event whose deliveries are already leased to the publishing process. */
const handedOver = (n: number, { deliveries, event }: NewEventRecord = record(newEvent(n))): NewEventRecord => ({
  event,
  deliveries: deliveries.map((each) => ({ ...each, initial: { state: "delivering", worker } }))
})

/** Counts the transactions that wrote to a file, as another connection sees them. */
const watchCommits = (filename: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(filename)),
      (db) => Effect.sync(() => db.close())
    ),
    (db) => () => Number(db.prepare("PRAGMA data_version").get()?.["data_version"])
  )

describe("changes", () => {
  it.effect("of one turn of the event loop share a transaction and a sync", () =>
    Effect.gen(function* () {
      const { filename, integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        yield* enqueue(...records(1, 3, integration))
        const leased = yield* claim(start)
        const commits = yield* watchCommits(filename)
        const before = commits()
        const disk = yield* heldDisk
        const publish = (n: number) => enqueue(record(newEvent(n), integration))
        const all = yield* Effect.forkChild(
          Effect.all(
            [publish(4), settle(start, ...leased.map((each: LeasedDelivery) => settlement(each))), publish(5)],
            {
              concurrency: "unbounded"
            }
          )
        )
        yield* until(() => disk.asked.length > 0)
        assert.strictEqual(commits(), before + 1)
        yield* sync(disk.asked)
        const [, applied] = yield* Fiber.join(all)
        assert.strictEqual(applied.size, 3)
        assert.lengthOf(disk.asked, 0)
      }).pipe(Effect.provideContext(services))
    })
  )

  it.effect("during a sync share the next transaction", () =>
    Effect.gen(function* () {
      const { integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const disk = yield* heldDisk
        const publish = (n: number) => Effect.forkChild(enqueue(record(newEvent(n), integration)))
        const first = yield* publish(1)
        yield* until(() => disk.asked.length === 1)
        const others = yield* Effect.forEach([2, 3, 4], publish)
        yield* turns
        assert.strictEqual((yield* store.summary(start)).events, 1)
        yield* sync(disk.asked)
        yield* Fiber.join(first)
        yield* until(() => disk.asked.length === 1)
        assert.strictEqual((yield* store.summary(start)).events, 4)
        yield* sync(disk.asked)
        yield* Effect.forEach(others, Fiber.join)
      }).pipe(Effect.provideContext(services))
    })
  )

  it.effect("wait for the disk if they must survive a power cut; outcomes only if they disable or notify", () =>
    Effect.gen(function* () {
      const { integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        yield* enqueue(...records(1, 3, integration))
        const [done, given, gone] = yield* claim(start)
        if (done === undefined || given === undefined || gone === undefined) return assert.fail("not all were claimed")
        const disk = yield* heldDisk
        yield* settle(start, settlement(done))
        yield* StoreFixtures.release(start, start, [given])
        assert.lengthOf(disk.asked, 0)
        const ending = { state: "cancelled", reason: "integration_gone", gone: true } as const
        const disabling = yield* Effect.forkChild(settle(start, settlement(gone, ending)))
        yield* until(() => disk.asked.length === 1)
        assert.isUndefined(disabling.pollUnsafe())
        yield* sync(disk.asked)
        yield* Fiber.join(disabling)
      }).pipe(Effect.provideContext(services))
    })
  )

  it.effect("that are urgent go before a queue of others", () =>
    Effect.gen(function* () {
      const { integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const disk = yield* heldDisk
        const first = yield* Effect.forkChild(enqueue(record(newEvent(1), integration)))
        yield* until(() => disk.asked.length === 1)
        // During the sync, many batches of access logs arrive, and then a call.
        const logs = yield* Effect.forEach([1, 2, 3, 4, 5], (n) =>
          Effect.forkChild(enqueue(...records(100 * n, 100 * n + 99, integration)))
        )
        const call = yield* Effect.forkChild(enqueue(record(newEvent(2, { resource_type: "call" }), integration)))
        yield* turns
        yield* sync(disk.asked)
        yield* until(() => disk.asked.length === 1)
        const { events } = yield* store.summary(start)
        assert.strictEqual(events, 1 + 1)
        yield* sync(disk.asked)
        yield* Effect.andThen(Fiber.join(first), Fiber.join(call))
        for (const log of logs) {
          while (log.pollUnsafe() === undefined) {
            if (disk.asked.length > 0) yield* sync(disk.asked)
            yield* turns
          }
        }
        assert.strictEqual((yield* store.summary(start)).events, 502)
      }).pipe(Effect.provideContext(services))
    })
  )
})

describe("deliveries kept by a publisher that never got the answer", () => {
  it.effect("are due once the disk works again after a failed sync", () =>
    Effect.gen(function* () {
      const { integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const disk = yield* heldDisk
        const publishing = yield* Effect.forkChild(
          Effect.flip(
            store.enqueue([handedOver(1, { event: newEvent(1), deliveries: [pending(integration, newEvent(1))] })])
          )
        )
        yield* sync(disk.asked, eio)
        assert.deepInclude(yield* Fiber.join(publishing), { _tag: "StoreError", outcome: "unknown" })
        const refused = yield* Effect.flip(store.claim(StoreFixtures.claimRequest(start)))
        assert.include(refused.message, "Nothing was changed")
        yield* until(() => disk.asked.length === 1)
        yield* sync(disk.asked)
        yield* TestClock.adjust("1 second")
        yield* turns
        yield* heartbeat(start)
        assert.lengthOf(yield* claim(start), 1)
      }).pipe(Effect.provideContext(services))
    })
  )

  it.effect("are due at once when the caller was interrupted", () =>
    Effect.gen(function* () {
      const { integration, services } = yield* setUp
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const disk = yield* heldDisk
        const publishing = yield* Effect.forkChild(
          store.enqueue([handedOver(1, { event: newEvent(1), deliveries: [pending(integration, newEvent(1))] })])
        )
        yield* until(() => disk.asked.length === 1)
        yield* Fiber.interrupt(publishing)
        yield* sync(disk.asked)
        yield* turns
        yield* heartbeat(start)
        assert.lengthOf(yield* claim(start), 1)
      }).pipe(Effect.provideContext(services))
    })
  )
})
