import { assert, describe, it } from "@effect/vitest"
import type { IdempotentRequest } from "@doorhook/core"
import { DeliveryStore, IdempotencyConflict, Publisher } from "@doorhook/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { event, publisherOver } from "./PublisherOver.ts"

const request = (key: string, fingerprint = "f"): IdempotentRequest => ({ key, fingerprint })

const layer = publisherOver((enqueue) => enqueue)

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
})
