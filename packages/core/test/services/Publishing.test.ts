/**
 * Calls share transactions, and not each other's failures: what can't be read refuses the calls that need it. A call with
 * an urgent event is in the next transaction, however many others are queued.
 */
import type { NewEvent } from "@doorhook/core"
import { BuildingId, DeliveryStore, Publisher, StoreError } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { event, publisherOver } from "./PublisherOver.ts"

/** How long a transaction takes. */
const commit = 10

/** A publisher that finds one building's integrations unreadable, and for each try to store how many events it had. */
const watched = (failure: Pick<StoreError, "advice" | "outcome"> = { advice: "put it right." }) => {
  const sizes: Array<number> = []
  const layer = publisherOver(
    (enqueue) => (records, keys) => {
      sizes.push(records.length)
      return Effect.delay(enqueue(records, keys), commit)
    },
    (ofScopes) => (scopes) =>
      scopes.buildings.includes(unreadable)
        ? Effect.fail(new StoreError({ operation: "IntegrationStore.ofScopes", cause: "damaged", ...failure }))
        : ofScopes(scopes)
  )
  return { layer, sizes }
}

const unreadable = BuildingId.make(3)

/** Publishes to nine buildings while a transaction is under way, so that the calls share the next; says which of them failed. */
const publishTogether = Effect.fnUntraced(function* (type: NewEvent["resource_type"]) {
  const { publish } = yield* Publisher
  const publishing = (building: number) => {
    const published = { ...event(building, type), building_id: BuildingId.make(building) }
    return Effect.forkChild(Effect.result(publish([published])), { startImmediately: true })
  }
  yield* publishing(100)
  yield* TestClock.adjust(1)
  const calls = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8, 9], publishing)
  yield* TestClock.adjust(1_000)
  const answers = yield* Fiber.joinAll(calls)
  return answers.flatMap((answer, at) => (Result.isFailure(answer) ? [at + 1] : []))
})

const eventsStored = Effect.map(
  DeliveryStore.use((store) => store.summary(0)),
  ({ events }) => events
)

describe("calls that share a transaction", () => {
  for (const type of ["access_log", "call"] as const) {
    const { layer, sizes } = watched()
    it.effect(`of type ${type} are stored without the one whose integrations can't be read`, () =>
      Effect.gen(function* () {
        assert.deepEqual(yield* publishTogether(type), [3])
        assert.strictEqual(yield* eventsStored, 9)
        // The others still share.
        assert.isBelow(sizes.length, 7)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("all fail when the database does, and are not tried apart", () => {
    const { layer, sizes } = watched({})
    return Effect.gen(function* () {
      assert.deepEqual(yield* publishTogether("access_log"), [1, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.strictEqual(yield* eventsStored, 1)
      assert.deepEqual(sizes, [1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are not carried out twice where it is not known whether they were", () => {
    const { layer, sizes } = watched({ advice: "put it right.", outcome: "unknown" })
    return Effect.gen(function* () {
      assert.lengthOf(yield* publishTogether("access_log"), 9)
      assert.deepEqual(sizes, [1])
    }).pipe(Effect.provide(layer))
  })
})

describe("a publisher whose queue is full", () => {
  /** What one transaction stores, by type. */
  const typesOf = (records: Parameters<DeliveryStore["Service"]["enqueue"]>[0]): ReadonlyArray<string> =>
    records.map(({ event }) => event.resource_type)

  /** A publisher whose first transaction lasts until `release` is opened, and what each transaction stored. */
  const held = Effect.gen(function* () {
    const release = yield* Latch.make(false)
    const transactions: Array<ReadonlyArray<string>> = []
    let isOver = false
    const layer = publisherOver(
      () => (records) => {
        transactions.push(typesOf(records))
        return Effect.as(
          release.await,
          records.map(() => [])
        )
      },
      (ofScopes) => (scopes) =>
        isOver
          ? Effect.fail(new StoreError({ operation: "IntegrationStore.ofScopes", cause: "over" }))
          : ofScopes(scopes)
    )
    const scope = yield* Scope.make()
    const { publish } = Context.get(yield* Layer.buildWithScope(layer, scope), Publisher)
    const start = (events: ReadonlyArray<NewEvent>) =>
      Effect.forkChild(Effect.exit(publish(events)), { startImmediately: true })
    const open = Effect.andThen(release.open, TestClock.adjust(0))
    return {
      transactions,
      start,
      open,
      /** Carries out what is queued, and closes the publisher. */
      close: Scope.close(scope, Exit.void),
      /** Refuses what is queued from now on, and closes the publisher. */
      abandon: Effect.suspend(() => {
        isOver = true
        return Scope.close(scope, Exit.void)
      })
    }
  })

  for (const [name, urgent] of [
    ["a call", [event(0, "call")]],
    ["a batch with a call in it", [...Array.from({ length: 99 }, (_, n) => event(n)), event(99, "call")]]
  ] as const) {
    it.effect(`stores ${name} in the next transaction, before 8,192 batches of access logs`, () =>
      Effect.gen(function* () {
        const { abandon, open, start, transactions } = yield* held
        const logs = Array.from({ length: 100 }, (_, n) => event(n))
        const waiting = yield* Effect.forEach(Array.from({ length: 8_192 }), () => start(logs))
        yield* TestClock.adjust(0)
        // The first of them are being stored, most of the others wait to be let in.
        assert.lengthOf(transactions, 1)
        const calling = yield* start(urgent)
        yield* open
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(calling)))
        assert.strictEqual(
          transactions.findIndex((types) => types.includes("call")),
          1
        )
        assert.lengthOf(transactions[1] ?? [], urgent.length)
        yield* abandon
        yield* Fiber.joinAll(waiting)
      })
    )
  }

  it.effect("lets in 4,096 batches of access logs, and stores nothing of a caller that left before it was let in", () =>
    Effect.gen(function* () {
      const { close, open, start, transactions } = yield* held
      const first = yield* start([event(0)])
      yield* TestClock.adjust(0)
      assert.lengthOf(transactions, 1)
      const callers = yield* Effect.forEach(Array.from({ length: 4_096 + 100 }), () => start([event(1)]))
      const calling = yield* start([event(2, "call")])
      yield* Fiber.interruptAll([...callers, calling])
      yield* open
      yield* Fiber.join(first)
      yield* close
      const stored = transactions.flat()
      assert.strictEqual(stored.filter((type) => type === "access_log").length, 1 + 4_096)
      assert.strictEqual(stored.filter((type) => type === "call").length, 1)
    })
  )

  it.effect("still carries out everything that waits when it is closed, and nothing that comes later", () =>
    Effect.gen(function* () {
      const { close, open, start, transactions } = yield* held
      const callers = yield* Effect.forEach(Array.from({ length: 5_000 }), () => start([event(1)]))
      const calling = yield* start([event(2, "call")])
      yield* TestClock.adjust(0)
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      const late = yield* start([event(3, "call")])
      yield* open
      yield* Fiber.join(closing)
      assert.isTrue((yield* Fiber.joinAll([...callers, calling])).every(Exit.isSuccess))
      assert.isTrue(Exit.isFailure(yield* Fiber.join(late)))
      assert.lengthOf(transactions.flat(), 5_001)
    })
  )
})
