import { assert, describe, it } from "@effect/vitest"
import type { Notification } from "@doorhook/core"
import {
  BuildingId,
  IntegrationId,
  MemoryStore,
  NotificationId,
  NotificationListener,
  Notifications
} from "@doorhook/core"
import { Deferred, Effect, Latch, Layer, Logger, Queue, References } from "effect"
import { TestClock } from "effect/testing"

const notification = (id: number): Notification => ({
  id: NotificationId.make(id),
  kind: "disabled",
  integration_id: IntegrationId.make(1),
  scope: { type: "building", id: BuildingId.make(1) },
  at: 0,
  reason: "gone"
})

const withListener = (listener: (notification: Notification) => Effect.Effect<void, unknown>) =>
  Notifications.layer.pipe(
    Layer.provide([MemoryStore.layer, Layer.succeed(NotificationListener, listener)]),
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  )

describe("the host's listener", () => {
  it.effect("gets each notification once, in order, even after it failed on one", () =>
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<number>()
      yield* Effect.gen(function* () {
        yield* (yield* Notifications).notify([notification(1), notification(2), notification(3)])
        assert.deepStrictEqual(
          [yield* Queue.take(heard), yield* Queue.take(heard), yield* Queue.take(heard)],
          [1, 2, 3]
        )
      }).pipe(
        Effect.provide(
          withListener(({ id }) =>
            Effect.andThen(Queue.offer(heard, id), id === 2 ? Effect.die(new Error("their bug")) : Effect.void)
          )
        )
      )
    })
  )

  it.effect("does not delay the caller of notify", () =>
    Effect.gen(function* () {
      const release = yield* Deferred.make<void>()
      const heard: Array<number> = []
      yield* Effect.gen(function* () {
        yield* (yield* Notifications).notify([notification(1), notification(2)])
        assert.deepStrictEqual(heard, [])
        yield* Deferred.succeed(release, undefined)
      }).pipe(
        Effect.provide(
          withListener(({ id }) =>
            Effect.andThen(
              Deferred.await(release),
              Effect.sync(() => heard.push(id))
            )
          )
        )
      )
      assert.deepStrictEqual(heard, [1, 2], "what waits at the end is still told")
    })
  )

  it.effect("gets the next notification after 30 s if it never returns, which is logged", () => {
    const heard: Array<number> = []
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const listener = ({ id }: Notification) =>
      Effect.andThen(
        Effect.sync(() => heard.push(id)),
        id === 1 ? Effect.uninterruptible(Effect.never) : Effect.void
      )
    return Effect.gen(function* () {
      yield* (yield* Notifications).notify([notification(1), notification(2), notification(3)])
      yield* TestClock.adjust(29_999)
      assert.deepStrictEqual(heard, [1])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(heard, [1, 2, 3])
      assert.match(lines.at(-1) ?? "", /^Notification 1 was not handled by its listener within 30 s/)
    }).pipe(
      Effect.provide(
        Notifications.layer.pipe(
          Layer.provide([MemoryStore.layer, Layer.succeed(NotificationListener, listener), logger])
        )
      )
    )
  })

  it.effect("has at most a thousand waiting notifications, and the log names the others", () => {
    const gate = Latch.makeUnsafe(false)
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    return Effect.gen(function* () {
      yield* (yield* Notifications).notify([notification(1)])
      yield* Effect.yieldNow
      yield* (yield* Notifications).notify(Array.from({ length: 1_001 }, (_, n) => notification(n + 2)))
      assert.match(lines.at(-1) ?? "", /^Notification 1002 is not sent to the listener: 1000 others are waiting/)
      assert.lengthOf(
        lines.filter((line) => line.includes("is not sent")),
        1
      )
    }).pipe(
      Effect.ensuring(gate.open),
      Effect.provide(
        Notifications.layer.pipe(
          Layer.provide([MemoryStore.layer, Layer.succeed(NotificationListener, () => gate.await)])
        )
      ),
      Effect.provide(logger)
    )
  })
})
