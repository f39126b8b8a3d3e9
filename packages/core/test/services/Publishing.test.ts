/**
 * Calls share transactions, and not each other's failures: what can't be read refuses the calls that need it.
 */
import type { NewEvent } from "@doorhook/core"
import { BuildingId, DeliveryStore, Publisher, StoreError } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
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
