/**
 * Calls share transactions. A call with an urgent event joins the next transaction, however many others are queued.
 */
import type { NewEvent } from "@doorhook/core"
import { BuildingId, DeliveryStore, Dispatcher, inTurn, Publisher, StoreClock, StoreError } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Latch, Layer, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { beginUrgent } from "../../src/delivery/Loops.ts"
import { event, publisherOver } from "./PublisherOver.ts"

/** Duration of each transaction, in milliseconds. */
const commit = 10

/**
 * Makes a publisher that can't read one building's integrations, and records the number of events in each attempted
 * transaction.
 */
const watched = () => {
  const sizes: Array<number> = []
  const layer = publisherOver(
    (enqueue) => (records, keys) => {
      sizes.push(records.length)
      return Effect.delay(enqueue(records, keys), commit)
    },
    (findByScopes) => (scopes) =>
      scopes.buildings.includes(failing)
        ? Effect.fail(new StoreError({ operation: "IntegrationStore.findByScopes", cause: "down" }))
        : findByScopes(scopes)
  )
  return { layer, sizes }
}

const failing = BuildingId.make(3)

/**
 * Publishes to nine buildings during a transaction, so that the calls share the next one. Returns the buildings whose
 * call failed.
 */
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

const clock = { now: () => 0, isCertain: () => true, hasJumped: () => false, measure: Effect.void, offset: () => null }

describe("storing publications", () => {
  it.effect("continues after a defect, with the calls that wait", () => {
    let isBroken = false
    const broken = {
      ...clock,
      now: () => {
        if (isBroken) throw new Error("a defect")
        return 0
      }
    }
    return Effect.gen(function* () {
      const { publish } = yield* Publisher
      const start = Effect.forkChild(publish([event(1)]), { startImmediately: true })
      yield* TestClock.adjust(0)
      isBroken = true
      const first = yield* start
      yield* TestClock.adjust(0)
      isBroken = false
      const second = yield* start
      yield* TestClock.adjust(999)
      assert.isUndefined(first.pollUnsafe())
      yield* TestClock.adjust(1)
      for (const each of [first, second]) assert.strictEqual(each.pollUnsafe()?._tag, "Success")
    }).pipe(Effect.provide(publisherOver((enqueue) => enqueue).pipe(Layer.provide(Layer.succeed(StoreClock, broken)))))
  })
})

describe("a publication that fails before its events are stored", () => {
  it.effect("counts as a failure of the store", () =>
    Effect.gen(function* () {
      const refused = new StoreError({ operation: "StoreClock.read", cause: "gone", reason: "unreachable" })
      const failing = { ...clock, isCertain: () => false, measure: Effect.fail(refused) }
      const layer = publisherOver((enqueue) => enqueue).pipe(Layer.provide(Layer.succeed(StoreClock, failing)))
      yield* Effect.gen(function* () {
        const error = yield* Effect.flip(Publisher.use(({ publish }) => publish([event(1)])))
        assert.strictEqual(error, refused)
        const { store_failure } = yield* Dispatcher.use(({ status }) => status)
        assert.strictEqual(store_failure?.reason, "unreachable")
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("pieces of long work, such as reading a list", () => {
  /** Runs a piece, and returns how long it waits. */
  const waitOfPiece = Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const piece = yield* Effect.forkChild(inTurn(Clock.currentTimeMillis))
    while (piece.pollUnsafe() === undefined) yield* TestClock.adjust(1)
    return (yield* Fiber.join(piece)) - start
  })

  /** Returns how long a piece waits that is to begin while the store takes `duration` for an event. */
  const waitBeside = Effect.fnUntraced(function* (type: NewEvent["resource_type"], duration: number) {
    const isStoring = yield* Latch.make(false)
    const layer = publisherOver(
      (enqueue) => (records, keys) => Effect.andThen(isStoring.open, Effect.delay(enqueue(records, keys), duration))
    )
    return yield* Effect.gen(function* () {
      yield* Effect.forkChild(Publisher.use(({ publish }) => publish([event(1, type)])))
      yield* isStoring.await
      const waited = yield* waitOfPiece
      yield* TestClock.adjust(duration)
      return waited
    }).pipe(Effect.provide(layer))
  })

  it.effect("wait while a call is being stored, but not longer than 5 ms", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      beginUrgent(yield* TestClock.make())
      assert.strictEqual(yield* waitOfPiece, 0, "beside work under another clock")
      beginUrgent(clock)
      assert.deepStrictEqual([yield* waitOfPiece, yield* waitOfPiece], [5, 0], "beside work that never ends")
      assert.strictEqual(yield* waitBeside("call", 3), 3)
      assert.strictEqual(yield* waitBeside("call", 20), 5)
      assert.strictEqual(yield* waitBeside("access_log", 20), 0)
    })
  )
})

describe("calls that share a transaction", () => {
  it.effect("all fail if the database fails, and are not retried separately", () => {
    const { layer, sizes } = watched()
    return Effect.gen(function* () {
      assert.deepEqual(yield* publishTogether("access_log"), [1, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.strictEqual(yield* eventsStored, 1)
      assert.deepEqual(sizes, [1])
    }).pipe(Effect.provide(layer))
  })
})

/** Memory used by a waiting event in addition to its data, in bytes. */
const overhead = 256

describe("a full publisher", () => {
  /** Maximum number of waiting calls with one access log each. */
  const room = 1_000
  const unit = overhead + event(1).data.length
  /** Seven eighths of it are for calls without an urgent event. */
  const waitingBytes = Math.floor((room * unit * 8) / 7)

  /**
   * Makes a publisher whose first transaction lasts until `release` opens, and records the events in each transaction.
   */
  const held = Effect.gen(function* () {
    const release = yield* Latch.make(false)
    const transactions: Array<ReadonlyArray<NewEvent["resource_type"]>> = []
    const layer = publisherOver(
      () => (records) => {
        transactions.push(records.map(({ event: { resource_type } }) => resource_type))
        return Effect.as(
          release.await,
          records.map(() => [])
        )
      },
      undefined,
      { waitingBytes }
    )
    const scope = yield* Scope.make()
    const { publish } = Context.get(yield* Layer.buildWithScope(layer, scope), Publisher)
    const start = (events: ReadonlyArray<NewEvent>) =>
      Effect.forkChild(Effect.exit(publish(events)), { startImmediately: true })
    /** Starts calls with one access log each. */
    const startLogs = (count: number) => Effect.forEach(Array.from({ length: count }), () => start([event(1)]))
    const open = Effect.andThen(release.open, TestClock.adjust(0))
    return {
      transactions,
      publish,
      start,
      startLogs,
      open,
      /** Returns the number of stored events of a type. */
      stored: (type: NewEvent["resource_type"]) => transactions.flat().filter((each) => each === type).length,
      /** Carries out the waiting calls, and closes the publisher. */
      close: Scope.close(scope, Exit.void)
    }
  })

  for (const [name, urgent] of [
    ["a call", [event(0, "call")]],
    ["a batch with a call in it", [...Array.from({ length: 99 }, (_, n) => event(n)), event(99, "call")]]
  ] as const)
    it.effect(`stores ${name} in the next transaction, before all waiting access logs`, () =>
      Effect.gen(function* () {
        const { close, open, start, startLogs, transactions } = yield* held
        const waiting = yield* startLogs(5 * room)
        yield* TestClock.adjust(0)
        assert.lengthOf(transactions, 1, "the first of them are being stored, most others wait for room")
        const calling = yield* start(urgent)
        yield* open
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(calling)))
        assert.strictEqual(
          transactions.findIndex((types) => types.includes("call")),
          1
        )
        assert.lengthOf(transactions[1] ?? [], urgent.length)
        assert.isTrue((yield* Fiber.joinAll(waiting)).every(Exit.isSuccess))
        yield* close
      })
    )

  it.effect("refuses a call after five seconds, names the setting, and stores none of its events", () =>
    Effect.gen(function* () {
      const { close, open, publish, startLogs, stored } = yield* held
      const waiting = yield* startLogs(room)
      yield* TestClock.adjust(0)
      const refused = yield* Effect.forkChild(Effect.flip(publish([event(2)])), { startImmediately: true })
      yield* TestClock.adjust(4_999)
      assert.isUndefined(refused.pollUnsafe())
      yield* TestClock.adjust(1)
      const error = yield* Fiber.join(refused)
      assert.strictEqual(error._tag, "PublisherBusy")
      assert.include(error.message, `${waitingBytes} bytes of events wait to be stored (setting waitingBytes)`)
      const late = yield* startLogs(1)
      yield* TestClock.adjust(4_000)
      yield* open
      assert.isTrue((yield* Fiber.joinAll([...waiting, ...late])).every(Exit.isSuccess), "there is room again")
      yield* close
      assert.strictEqual(stored("access_log"), room + 1)
    })
  )

  it.effect(
    "keeps an eighth of its limit for urgent calls, refuses more after five seconds, and admits them first",
    () =>
      Effect.gen(function* () {
        const { close, open, start, startLogs, transactions } = yield* held
        yield* startLogs(5 * room)
        yield* TestClock.adjust(0)
        const startCalls = (count: number) =>
          Effect.forEach(Array.from({ length: count }), () => start([event(1, "call")]))
        const reserved = Math.floor(waitingBytes / 8 / unit)
        const calls = yield* startCalls(reserved + 10)
        yield* TestClock.adjust(5_000)
        const refused = calls.filter((call) => call.pollUnsafe() !== undefined)
        assert.deepStrictEqual(refused, calls.slice(reserved))
        for (const exit of yield* Fiber.joinAll(refused))
          assert.include(String(exit), `${waitingBytes} bytes of events wait to be stored`)
        yield* startLogs(room)
        const late = yield* startCalls(10)
        yield* open
        assert.isTrue((yield* Fiber.joinAll([...calls.slice(0, reserved), ...late])).every(Exit.isSuccess))
        assert.deepStrictEqual(
          transactions[1],
          Array.from({ length: reserved + 10 }, () => "call")
        )
        yield* close
      })
  )

  it.effect("answers a call that had room, however long its transaction takes", () =>
    Effect.gen(function* () {
      const { close, open, startLogs, stored } = yield* held
      const waiting = yield* startLogs(room)
      yield* TestClock.adjust(60_000)
      assert.isTrue(waiting.every((call) => call.pollUnsafe() === undefined))
      yield* open
      assert.isTrue((yield* Fiber.joinAll(waiting)).every(Exit.isSuccess))
      yield* close
      assert.strictEqual(stored("access_log"), room)
    })
  )

  it.effect(
    "admits calls up to its limit, and stores nothing of a caller that was interrupted before its admission",
    () =>
      Effect.gen(function* () {
        const { close, open, start, startLogs, stored } = yield* held
        const callers = yield* startLogs(room + 50)
        const calling = yield* start([event(2, "call")])
        yield* TestClock.adjust(0)
        yield* Fiber.interruptAll([...callers, calling])
        yield* open
        yield* close
        assert.strictEqual(stored("access_log"), room)
        assert.strictEqual(stored("call"), 1)
      })
  )

  it.effect("admits a call that is larger than its limit if nothing else waits", () =>
    Effect.gen(function* () {
      const { close, open, start, startLogs, stored } = yield* held
      yield* open
      const large = yield* start(Array.from({ length: 2 * room }, () => event(1)))
      const behind = yield* startLogs(1)
      yield* TestClock.adjust(10_000)
      assert.isTrue((yield* Fiber.joinAll([large, ...behind])).every(Exit.isSuccess))
      yield* close
      assert.strictEqual(stored("access_log"), 2 * room + 1)
    })
  )

  it.effect("admits calls in order of arrival, even if a small call follows a large one", () =>
    Effect.gen(function* () {
      const { close, open, publish, startLogs } = yield* held
      const answered: Array<string> = []
      const waiting = yield* startLogs(room)
      const publishing = (name: string, count: number) =>
        Effect.forkChild(
          Effect.tap(publish(Array.from({ length: count }, () => event(1))), () =>
            Effect.sync(() => answered.push(name))
          ),
          { startImmediately: true }
        )
      yield* TestClock.adjust(0)
      const large = yield* publishing("large", 0.9 * room)
      const small = yield* publishing("small", 1)
      yield* open
      yield* Fiber.joinAll([...waiting, large, small])
      assert.deepStrictEqual(answered, ["large", "small"])
      yield* close
    })
  )

  it.effect("carries out all waiting calls when it closes, and no later ones", () =>
    Effect.gen(function* () {
      const { close, open, start, startLogs, transactions } = yield* held
      const callers = yield* startLogs(room)
      const calling = yield* start([event(2, "call")])
      yield* TestClock.adjust(0)
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      const late = yield* start([event(3, "call")])
      const lateLog = yield* start([event(3)])
      yield* open
      yield* Fiber.join(closing)
      assert.isTrue((yield* Fiber.joinAll([...callers, calling])).every(Exit.isSuccess))
      assert.isTrue((yield* Fiber.joinAll([late, lateLog])).every(Exit.isFailure))
      assert.lengthOf(transactions.flat(), room + 1)
    })
  )

  it.effect("carries out calls that wait for room when it closes", () =>
    Effect.gen(function* () {
      const { close, open, startLogs, stored } = yield* held
      const callers = yield* startLogs(5 * room)
      yield* TestClock.adjust(0)
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* TestClock.adjust(10_000)
      yield* open
      yield* Fiber.join(closing)
      assert.isTrue((yield* Fiber.joinAll(callers)).every(Exit.isSuccess))
      assert.strictEqual(stored("access_log"), 5 * room)
    })
  )
})
