import { assert, describe, it } from "@effect/vitest"
import type { Notice } from "@doorhook/core"
import { BuildingId, IntegrationId, MemoryStore, NoticeId, NoticeListener, Notices } from "@doorhook/core"
import { Deferred, Effect, Layer, Queue, References } from "effect"

const notice = (id: number): Notice => ({
  id: NoticeId.make(id),
  kind: "disabled",
  integration_id: IntegrationId.make(1),
  scope: { type: "building", id: BuildingId.make(1) },
  at: 0,
  reason: "gone"
})

const withListener = (listener: (notice: Notice) => Effect.Effect<void, unknown>) =>
  Notices.layer.pipe(
    Layer.provide([MemoryStore.layer, Layer.succeed(NoticeListener, listener)]),
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  )

describe("the host's listener", () => {
  it.effect("is told each notice once, in order, and goes on after one that it fails on", () =>
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<number>()
      yield* Effect.gen(function* () {
        yield* (yield* Notices).tell([notice(1), notice(2), notice(3)])
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

  it.effect("does not hold up who tells", () =>
    Effect.gen(function* () {
      const release = yield* Deferred.make<void>()
      const heard: Array<number> = []
      yield* Effect.gen(function* () {
        yield* (yield* Notices).tell([notice(1), notice(2)])
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
})
