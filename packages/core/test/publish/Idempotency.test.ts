import { assert, describe, it } from "@effect/vitest"
import type { IdempotentRequest } from "@doorhook/core"
import { DeliveryStore, IdempotencyConflict, JsonText, Publisher, StoreError } from "@doorhook/core"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { event, publisherOver } from "./PublisherOver.ts"

const request = (key: string, fingerprint = "f"): IdempotentRequest => ({ key, fingerprint })

const layer = publisherOver((enqueue) => enqueue)

type Stored = ReturnType<DeliveryStore["Service"]["enqueue"]>

const countEvents = Effect.gen(function* () {
  return (yield* (yield* DeliveryStore).summary(0)).events
})

describe("publishing with an idempotency key", () => {
  it.effect("publishes once, however often and whenever it is repeated", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const publish = publisher.publish([event(1), event(2)], request("k"))
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => publish),
        { concurrency: "unbounded" }
      )
      answers.push(yield* publish)
      assert.strictEqual(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
      assert.strictEqual(answers[0]?.length, 2)
      assert.strictEqual(yield* countEvents, 2)
      yield* publisher.publish([event(3)])
      yield* publisher.publish([event(4)], request("another"))
      assert.strictEqual(yield* countEvents, 4)
    }).pipe(Effect.provide(layer))
  )

  it.effect("refuses a different request with the same key, in the same batch and later", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const [first, second] = yield* Effect.all(
        [
          Effect.result(publisher.publish([event(1)], request("k", "one"))),
          Effect.result(publisher.publish([event(2)], request("k", "two")))
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([first._tag, second._tag], ["Success", "Failure"])
      const error = yield* Effect.flip(publisher.publish([event(2)], request("k", "two")))
      assert.strictEqual(error._tag, "KeyReused")
      assert.strictEqual(yield* countEvents, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("forgets a key after a day", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const [first] = yield* publisher.publish([event(1)], request("k"))
      yield* TestClock.adjust("23 hours")
      assert.strictEqual((yield* publisher.publish([event(1)], request("k")))[0]?.id, first?.id)
      yield* TestClock.adjust("1 hour")
      const [later] = yield* publisher.publish([event(1)], request("k"))
      assert.notStrictEqual(later?.id, first?.id)
    }).pipe(Effect.provide(layer))
  )

  it.effect("returns the answer of a concurrent publication by another process", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const [mine] = yield* publisher.publish([event(1)], request("k"))
      assert.strictEqual(yield* countEvents, 1)
      assert.match(mine?.id ?? "", /^evt_theirs/)
    }).pipe(
      Effect.provide(
        publisherOver((enqueue) => {
          let first = true
          return Effect.fnUntraced(function* (records, keys = []) {
            if (!first) return yield* enqueue(records, keys)
            first = false
            // Another process stores the same keys first.
            yield* enqueue(
              records,
              keys.map((key) => ({ ...key, answer: `[{"id":"evt_theirs0000000000000000","deliveries":0}]` }))
            )
            return yield* new IdempotencyConflict({ key: keys[0]?.key ?? "" })
          })
        })
      )
    )
  )

  const waitingBytes = 262_144
  const large = { ...event(1), data: JsonText.JsonText.make(`"${"x".repeat(waitingBytes / 2)}"`) }

  /** A publisher whose store finds the key in use once, and then answers each call as `later` says, in order. */
  const afterBusy = (later: ReadonlyArray<(stored: Stored) => Stored>) => {
    const answers: Array<(stored: Stored) => Stored> = [
      () => Effect.fail(new IdempotencyConflict({ key: "k", busy: ["k"] })),
      ...later
    ]
    return publisherOver(
      (enqueue) => (records, keys) => {
        const stored = enqueue(records, keys)
        return answers.shift()?.(stored) ?? stored
      },
      (real) => real,
      { waitingBytes }
    )
  }

  it.effect("repeats a call whose key is in use, however the other calls end", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const held = yield* Effect.forkChild(Effect.result(publisher.publish([event(1)], request("k"))))
      const other = yield* Effect.forkChild(Effect.result(publisher.publish([event(2)])))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([(yield* Fiber.join(held))._tag, (yield* Fiber.join(other))._tag], ["Success", "Failure"])
      assert.strictEqual(yield* countEvents, 1)
    }).pipe(
      Effect.provide(
        afterBusy([
          () => Effect.delay(Effect.fail(new StoreError({ operation: "enqueue", cause: "down" })), 200),
          (stored) => Effect.delay(stored, 300)
        ])
      )
    )
  )

  it.effect("closes after the calls that it repeats are answered", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const slow = afterBusy([(stored) => Effect.delay(stored, 500)])
      const { publish } = Context.get(yield* Layer.buildWithScope(slow, scope), Publisher)
      const held = yield* Effect.forkChild(publish([event(1)], request("k")))
      yield* TestClock.adjust(200)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(200)
      assert.isUndefined(closing.pollUnsafe(), "the call is being stored")
      yield* TestClock.adjust(200)
      yield* Fiber.join(closing)
      assert.lengthOf(yield* Fiber.join(held), 1)
    })
  )

  it.effect("gives up a call five seconds after it closes, if another process never frees the key", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const stuck = publisherOver(() => () => Effect.fail(new IdempotencyConflict({ key: "k", busy: ["k"] })))
      const { publish } = Context.get(yield* Layer.buildWithScope(stuck, scope), Publisher)
      const calling = yield* Effect.forkChild(Effect.flip(publish([event(1)], request("k"))))
      yield* TestClock.adjust("1 minute")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(4_900)
      assert.isUndefined(closing.pollUnsafe(), "the key may become free")
      yield* TestClock.adjust(200)
      yield* Fiber.join(closing)
      assert.strictEqual((yield* Fiber.join(calling))._tag, "PublisherClosed")
    })
  )

  it.effect("counts the events of a repeated call as waiting", () =>
    Effect.gen(function* () {
      const publisher = yield* Publisher
      const held = yield* Effect.forkChild(publisher.publish([large], request("k")))
      yield* TestClock.adjust(150)
      const next = yield* Effect.forkChild(Effect.flip(publisher.publish([large])))
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(next))._tag, "PublisherBusy")
      yield* TestClock.adjust("5 seconds")
      assert.lengthOf(yield* Fiber.join(held), 1)
    }).pipe(Effect.provide(afterBusy([(stored) => Effect.delay(stored, 10_000)])))
  )
})
