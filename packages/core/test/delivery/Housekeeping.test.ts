/**
 * What keeps deleting what has served its time.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  BuildingId,
  DeliverySettings,
  DeliveryStore,
  Housekeeping,
  IdempotencyStore,
  IntegrationId,
  MemoryStore,
  NoticeListener,
  Notices,
  StoreError,
  TokenStore
} from "@doorhook/core"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"

describe("housekeeping", () => {
  it.effect("goes on each minute, also after a round that ended in a defect", () => {
    const rounds: Array<number> = []
    const broken = Layer.effect(
      TokenStore,
      Effect.map(TokenStore, (store) => ({
        ...store,
        purgeExpired: () =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            rounds.push(now)
            return rounds.length === 2 ? Effect.die(new Error("a defect")) : Effect.succeed(0)
          })
      }))
    )
    return Effect.gen(function* () {
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(
        rounds.map((at) => Math.round(at / 60_000)),
        [0, 1, 2, 3, 4]
      )
    }).pipe(
      Effect.provide(
        Housekeeping.layer.pipe(
          Layer.provide(broken),
          Layer.provide(Notices.layer),
          Layer.provide(Layer.mergeAll(MemoryStore.layer, DeliverySettings.layer()))
        )
      )
    )
  })

  const hour = 3_600_000
  const day = 24 * hour

  /** Housekeeping by a wall clock that can be set, over a store that counts what it is asked to delete. */
  const startSkewed = Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let skew = 0
    const now = () => clock.currentTimeMillisUnsafe() + skew
    const skewed: Clock.Clock = {
      currentTimeMillisUnsafe: now,
      currentTimeMillis: Effect.sync(now),
      currentTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
    const counted = { deliveries: 0, keys: 0, tokens: 0 }
    const told: Array<string> = []
    const broken = { notices: false }
    const unreadable = new StoreError({ operation: "DeliveryStore.notices", cause: new Error("broken") })
    const stores = yield* Layer.build(MemoryStore.layer)
    const deliveries = Context.get(stores, DeliveryStore)
    const keys = Context.get(stores, IdempotencyStore)
    const tokens = Context.get(stores, TokenStore)
    const counting = Layer.mergeAll(
      Layer.succeed(DeliveryStore, {
        ...deliveries,
        purge: (request) => Effect.suspend(() => (counted.deliveries++, deliveries.purge(request))),
        notices: (filter) =>
          Effect.suspend(() => (broken.notices ? Effect.fail(unreadable) : deliveries.notices(filter)))
      }),
      Layer.succeed(IdempotencyStore, {
        ...keys,
        purgeExpired: (...given) => Effect.suspend(() => (counted.keys++, keys.purgeExpired(...given)))
      }),
      Layer.succeed(TokenStore, {
        ...tokens,
        purgeExpired: (...given) => Effect.suspend(() => (counted.tokens++, tokens.purgeExpired(...given)))
      })
    )
    const boot = Effect.gen(function* () {
      const process = yield* Scope.fork(yield* Effect.scope)
      yield* Layer.buildWithScope(
        Housekeeping.layer.pipe(
          Layer.provide(Notices.layer),
          Layer.provide(Layer.mergeAll(counting, DeliverySettings.layer())),
          Layer.provide(Layer.succeed(NoticeListener, ({ kind }) => Effect.sync(() => void told.push(kind)))),
          Layer.fresh
        ),
        process
      ).pipe(Effect.provideService(Clock.Clock, skewed))
      return process
    })
    let running = yield* boot
    const stop = Effect.suspend(() => Scope.close(running, Exit.void))
    const start = Effect.map(boot, (process) => void (running = process))
    /** What was deleted from while the machine ran for so long. */
    const during = Effect.fnUntraced(function* (duration: number) {
      Object.assign(counted, { deliveries: 0, keys: 0, tokens: 0 })
      yield* TestClock.adjust(duration)
      return { ...counted }
    })
    return {
      addNotice: deliveries.addNotice,
      broken,
      during,
      jump: (millis: number) => (skew += millis),
      notices: deliveries.notices({ limit: 10 }),
      now,
      start,
      stop,
      told
    }
  })

  const nothing = { deliveries: 0, keys: 0, tokens: 0 }

  it.effect("deletes nothing for a day after the clock jumped ahead by more than an hour, and gives one notice", () =>
    Effect.gen(function* () {
      const { during, jump, notices, told } = yield* startSkewed
      yield* during(5 * 60_000)
      jump(200 * day)
      assert.deepStrictEqual(yield* during(day - 60_000), nothing)
      const [notice, ...others] = yield* notices
      assert.deepStrictEqual(others, [])
      assert.strictEqual(notice?.kind, "retention_paused")
      if (notice?.kind !== "retention_paused") return
      assert.approximately(notice.ahead_ms, 200 * day, 1_000)
      assert.strictEqual(notice.until, notice.at + day)
      assert.deepStrictEqual(told, ["retention_paused"])
      const after = yield* during(5 * 60_000)
      assert.isAbove(after.deliveries, 0)
      assert.isAbove(after.keys, 0)
      assert.isAbove(after.tokens, 0)
      assert.strictEqual((yield* notices).length, 1)
    })
  )

  it.effect("goes on while the clock moves by less, or back; back and ahead again is a jump", () =>
    Effect.gen(function* () {
      const { during, jump, notices } = yield* startSkewed
      for (const millis of [hour - 1_000, -200 * day]) {
        yield* during(60_000)
        jump(millis)
        assert.isAbove((yield* during(2 * 60_000)).tokens, 0)
      }
      assert.deepStrictEqual(yield* notices, [])
      jump(2 * hour)
      assert.deepStrictEqual(yield* during(hour), nothing)
    })
  )

  it.effect("goes on with the pause after a restart, and no longer than a day in all", () =>
    Effect.gen(function* () {
      const { addNotice, during, jump, notices, now, start, stop } = yield* startSkewed
      yield* during(5 * 60_000)
      jump(200 * day)
      assert.deepStrictEqual(yield* during(10 * hour), nothing)
      // More than are read at once.
      const about = {
        integration_id: IntegrationId.make(1),
        scope: { type: "building", id: BuildingId.make(1) }
      } as const
      for (let n = 0; n < 600; n++) yield* addNotice({ kind: "exhausted", ...about, at: now(), deliveries: 1 })
      yield* stop
      assert.deepStrictEqual(yield* during(2 * hour), nothing)
      yield* start
      assert.deepStrictEqual(yield* during(11 * hour), nothing)
      assert.isAbove((yield* during(hour + 5 * 60_000)).tokens, 0)
      assert.strictEqual((yield* notices).filter(({ kind }) => kind === "retention_paused").length, 1)
    })
  )

  it.effect("deletes again after a restart with a clock that was put right, or after the pause is over", () =>
    Effect.gen(function* () {
      const { during, jump, start, stop } = yield* startSkewed
      yield* during(5 * 60_000)
      jump(200 * day)
      assert.deepStrictEqual(yield* during(hour), nothing)
      yield* stop
      jump(-200 * day)
      yield* start
      assert.isAbove((yield* during(5 * 60_000)).tokens, 0)
      yield* stop
      jump(202 * day)
      yield* start
      assert.isAbove((yield* during(5 * 60_000)).tokens, 0)
    })
  )

  it.effect("deletes nothing after a start until notices can be read", () =>
    Effect.gen(function* () {
      const { broken, during, start, stop } = yield* startSkewed
      yield* stop
      broken.notices = true
      yield* start
      assert.deepStrictEqual(yield* during(hour), nothing)
      broken.notices = false
      assert.isAbove((yield* during(5 * 60_000)).tokens, 0)
    })
  )

  it.effect("stops within a round when the clock jumps during it", () =>
    Effect.gen(function* () {
      const { during, jump, notices } = yield* startSkewed
      // The round has looked at tokens, and rests before it looks at keys.
      const begun = yield* during(60)
      assert.isAbove(begun.tokens, 0)
      assert.strictEqual(begun.keys, 0)
      jump(2 * hour)
      assert.deepStrictEqual(yield* during(60_000), nothing)
      assert.strictEqual((yield* notices).length, 1)
    })
  )
})
