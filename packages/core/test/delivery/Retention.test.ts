/**
 * Retention: expired data is deleted regularly.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  BuildingId,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  idleStatus,
  Retention,
  IdempotencyStore,
  IntegrationId,
  MemoryStore,
  NotificationListener,
  Notifications,
  StoreError,
  TokenStore
} from "@doorhook/core"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"

/** A dispatcher that is a member, so retention deletes. */
const member = Layer.effect(
  Dispatcher,
  Effect.map(Dispatcher, (none) => ({ ...none, status: Effect.succeed({ ...idleStatus, is_member: true }) }))
).pipe(Layer.provide(Dispatcher.layerNone))

describe("housekeeping", () => {
  it.effect("deletes nothing in a process that does not deliver", () => {
    const purged: Array<number> = []
    const counting = Layer.effect(
      TokenStore,
      Effect.map(TokenStore, (tokens) => ({
        ...tokens,
        purgeExpired: (now: number) => Effect.sync(() => purged.push(now))
      }))
    )
    return Effect.gen(function* () {
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(purged, [])
    }).pipe(
      Effect.provide(
        Retention.layer.pipe(
          Layer.provide(Layer.merge(Notifications.layer, Dispatcher.layerNone)),
          Layer.provide(Layer.provideMerge(counting, Layer.merge(MemoryStore.layer, DeliverySettings.layer())))
        )
      )
    )
  })

  it.effect("continues each minute, even after a round that ended in a defect", () => {
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
        Retention.layer.pipe(
          Layer.provide(broken),
          Layer.provide(Layer.merge(Notifications.layer, member)),
          Layer.provide(Layer.mergeAll(MemoryStore.layer, DeliverySettings.layer()))
        )
      )
    )
  })

  const hour = 3_600_000
  const day = 24 * hour

  /** Starts retention with a wall clock that the test can set, over stores that count purges. */
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
    const notified: Array<string> = []
    const broken = { notifications: false }
    const unreadable = new StoreError({ operation: "DeliveryStore.notifications", cause: new Error("broken") })
    const stores = yield* Layer.build(MemoryStore.layer)
    const deliveries = Context.get(stores, DeliveryStore)
    const keys = Context.get(stores, IdempotencyStore)
    const tokens = Context.get(stores, TokenStore)
    const counting = Layer.mergeAll(
      Layer.succeed(DeliveryStore, {
        ...deliveries,
        purge: (request) => Effect.suspend(() => (counted.deliveries++, deliveries.purge(request))),
        notifications: (filter) =>
          Effect.suspend(() => (broken.notifications ? Effect.fail(unreadable) : deliveries.notifications(filter)))
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
        Retention.layer.pipe(
          Layer.provide(Layer.merge(Notifications.layer, member)),
          Layer.provide(Layer.mergeAll(counting, DeliverySettings.layer())),
          Layer.provide(Layer.succeed(NotificationListener, ({ kind }) => Effect.sync(() => void notified.push(kind)))),
          Layer.fresh
        ),
        process
      ).pipe(Effect.provideService(Clock.Clock, skewed))
      return process
    })
    let running = yield* boot
    const stop = Effect.suspend(() => Scope.close(running, Exit.void))
    const start = Effect.map(boot, (process) => void (running = process))
    /** Advances the clock by `duration`, and returns the number of purges in each store during this time. */
    const during = Effect.fnUntraced(function* (duration: number) {
      Object.assign(counted, { deliveries: 0, keys: 0, tokens: 0 })
      yield* TestClock.adjust(duration)
      return { ...counted }
    })
    return {
      addNotification: deliveries.addNotification,
      broken,
      during,
      jump: (millis: number) => (skew += millis),
      notifications: deliveries.notifications({ limit: 10 }),
      now,
      start,
      stop,
      notified
    }
  })

  const nothing = { deliveries: 0, keys: 0, tokens: 0 }

  it.effect("deletes nothing for a day after the clock jumped ahead by more than an hour, and notifies once", () =>
    Effect.gen(function* () {
      const { during, jump, notifications, notified } = yield* startSkewed
      yield* during(5 * 60_000)
      jump(200 * day)
      assert.deepStrictEqual(yield* during(day - 60_000), nothing)
      const [notification, ...others] = yield* notifications
      assert.deepStrictEqual(others, [])
      assert.strictEqual(notification?.kind, "retention_paused")
      if (notification?.kind !== "retention_paused") return
      assert.approximately(notification.ahead_ms, 200 * day, 1_000)
      assert.strictEqual(notification.until, notification.at + day)
      assert.deepStrictEqual(notified, ["retention_paused"])
      const after = yield* during(5 * 60_000)
      assert.isAbove(after.deliveries, 0)
      assert.isAbove(after.keys, 0)
      assert.isAbove(after.tokens, 0)
      assert.strictEqual((yield* notifications).length, 1)
    })
  )

  it.effect("continues if the clock jumps by less or is set back, but not if it is set back and then ahead again", () =>
    Effect.gen(function* () {
      const { during, jump, notifications } = yield* startSkewed
      for (const millis of [hour - 1_000, -200 * day]) {
        yield* during(60_000)
        jump(millis)
        assert.isAbove((yield* during(2 * 60_000)).tokens, 0)
      }
      assert.deepStrictEqual(yield* notifications, [])
      jump(2 * hour)
      assert.deepStrictEqual(yield* during(hour), nothing)
    })
  )

  it.effect("continues the pause after a restart, for no longer than a day in total", () =>
    Effect.gen(function* () {
      const { addNotification, during, jump, notifications, now, start, stop } = yield* startSkewed
      yield* during(5 * 60_000)
      jump(200 * day)
      assert.deepStrictEqual(yield* during(10 * hour), nothing)
      // More notifications than fit on one page.
      const about = {
        integration_id: IntegrationId.make(1),
        scope: { type: "building", id: BuildingId.make(1) }
      } as const
      for (let n = 0; n < 600; n++) yield* addNotification({ kind: "exhausted", ...about, at: now(), deliveries: 1 })
      yield* stop
      assert.deepStrictEqual(yield* during(2 * hour), nothing)
      yield* start
      assert.deepStrictEqual(yield* during(11 * hour), nothing)
      assert.isAbove((yield* during(hour + 5 * 60_000)).tokens, 0)
      assert.strictEqual((yield* notifications).filter(({ kind }) => kind === "retention_paused").length, 1)
    })
  )

  it.effect("deletes again after a restart if the clock was corrected or the pause is over", () =>
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

  it.effect("deletes nothing after a start until notifications can be read", () =>
    Effect.gen(function* () {
      const { broken, during, start, stop } = yield* startSkewed
      yield* stop
      broken.notifications = true
      yield* start
      assert.deepStrictEqual(yield* during(hour), nothing)
      broken.notifications = false
      assert.isAbove((yield* during(5 * 60_000)).tokens, 0)
    })
  )

  it.effect("stops within a round when the clock jumps during it", () =>
    Effect.gen(function* () {
      const { during, jump, notifications } = yield* startSkewed
      // The round has purged tokens, and pauses before it purges idempotency keys.
      const begun = yield* during(60)
      assert.isAbove(begun.tokens, 0)
      assert.strictEqual(begun.keys, 0)
      jump(2 * hour)
      assert.deepStrictEqual(yield* during(60_000), nothing)
      assert.strictEqual((yield* notifications).length, 1)
    })
  )
})
