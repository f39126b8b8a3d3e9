/**
 * An integration that is sent nothing after it has failed is told of in time all the same.
 */
import type { Notice } from "@doorhook/core"
import { DeliverySettings, DeliveryStore, MemoryStore, NoticeListener, Notices, StoreError } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { makeWarnings } from "../../src/services/dispatch/Warnings.ts"

const { claim, createIntegration, enqueue, newEvent, record, retryAt, settle, start } = StoreFixtures

/** How long an integration may fail here, in milliseconds. */
const disableAfter = 100_000

/** Lets so many integrations fail at `start`, once each, and then time go by; says when each notice was heard. */
const heardOf = (count: number, warn?: DeliveryStore["Service"]["warn"]) => {
  const heard: Array<Notice> = []
  const listener = Layer.succeed(NoticeListener, (notice: Notice) => Effect.sync(() => heard.push(notice)))
  return Effect.gen(function* () {
    yield* TestClock.setTime(start)
    const integrations = yield* Effect.forEach(Array(count).keys(), () => createIntegration())
    yield* enqueue(record(newEvent(1), ...integrations))
    for (const leased of yield* claim(start, { limit: count })) yield* settle(start, retryAt(leased, start + 1))
    const store = yield* DeliveryStore
    const looking = makeWarnings((transaction) => transaction).pipe(
      Effect.provideService(DeliveryStore, warn === undefined ? store : { ...store, warn })
    )
    yield* Effect.forkScoped(Effect.flatten(looking), { startImmediately: true })
    for (let now = 0; now < 2 * disableAfter; now += 1_000) yield* TestClock.adjust(1_000)
    return heard.map(({ at, kind }) => `${kind} at ${(at - start) / disableAfter}`)
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Notices.layer.pipe(
        Layer.provideMerge(Layer.mergeAll(MemoryStore.layer, listener, DeliverySettings.layer({ disableAfter }))),
        Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
      )
    )
  )
}

describe("an integration that is sent nothing more", () => {
  it.effect("is told of three times before it may be disabled, and then no more", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* heardOf(1), ["failing at 0.5", "failing at 0.7", "failing at 0.9"])
    })
  )

  it.effect("is told of with however many others at its time", () =>
    Effect.gen(function* () {
      const heard = yield* heardOf(250)
      assert.lengthOf(heard, 750)
      assert.deepStrictEqual(new Set(heard.slice(0, 250)), new Set(["failing at 0.5"]))
    })
  )

  it.effect("is looked for again after the store refused", () => {
    let calls = 0
    const refused = new StoreError({ operation: "DeliveryStore.warn", cause: new Error("locked") })
    return Effect.gen(function* () {
      const heard = yield* heardOf(1, () => Effect.suspend(() => (++calls, Effect.fail(refused))))
      assert.deepStrictEqual(heard, [])
      assert.isAbove(calls, 50)
    })
  })
})
