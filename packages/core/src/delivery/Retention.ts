/**
 * Deletes expired data: old events with their settled deliveries, tokens, codes and idempotency keys.
 *
 * It deletes small batches with pauses, so that deliveries don't wait. Several workers of one store may delete at the
 * same time. A process that does not deliver deletes nothing.
 *
 * Ages are measured by the store's clock. If it jumps ahead of the monotonic clock, nothing is deleted for a day, even
 * after a restart. The clock may be wrong, and correcting it would not restore deleted rows. Expired tokens, codes and
 * keys are still refused.
 */
import { Clock, Effect, Layer } from "effect"
import type { NotificationId } from "../model/Ids.ts"
import type { Notification } from "../model/Notification.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { storeTime } from "../ports/StoreClock.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { runForever } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"

/** Pause between two rounds, in milliseconds. */
const interval = 60_000

/** Maximum number of rows deleted in one transaction. */
const batch = 500

/** Pause between two transactions, in milliseconds. */
const pause = 50

/** How far the store's clock may get ahead of the monotonic clock in one round, in milliseconds. More counts as a jump. */
const jump = 3_600_000

/** How long nothing is deleted after a jump, in milliseconds. */
const pauseAfterJump = 24 * 3_600_000

type Stores = DeliveryStore | IdempotencyStore | TokenStore

/** The current time for measuring ages; null while nothing may be deleted. Read before each transaction. */
type Now<R> = Effect.Effect<number | null, never, R>

/** Deletes batch after batch until one is not full. */
const drain = <R>(now: Now<R>, purge: (now: number, limit: number) => Effect.Effect<number, StoreError>) =>
  Effect.flatMap(now, (time) => (time === null ? Effect.succeed(0) : purge(time, batch))).pipe(
    Effect.delay(pause),
    Effect.repeat({ while: (purged) => purged === batch })
  )

const purgeExpiredBy = Effect.fnUntraced(function* <R>(now: Now<R>) {
  const deliveries = yield* DeliveryStore
  const keys = yield* IdempotencyStore
  const tokens = yield* TokenStore
  const { retention } = yield* DeliverySettings
  yield* drain(now, tokens.purgeExpired)
  yield* drain(now, keys.purgeExpired)
  if (retention === null) return
  let after: number | null = 0
  while (after !== null) {
    const time: number | null = yield* now
    if (time === null) return
    const purged: { readonly next: number | null } = yield* deliveries.purge({
      before: time - retention,
      now: time,
      after,
      limit: batch
    })
    after = purged.next
    if (after !== null) yield* Effect.sleep(pause)
  }
})

/** Deletes everything that has expired, in one round. */
export const purgeExpired: Effect.Effect<void, StoreError, Stores | DeliverySettings> = Effect.flatMap(
  storeTime,
  (now) => purgeExpiredBy(Effect.sync(now))
)

/** Number of notifications per read. */
const notificationsPerPage = 500

/** Reads from the stored notifications how much of an earlier process's pause is left, in milliseconds. */
const pauseLeft = Effect.fnUntraced(function* (now: number) {
  const store = yield* DeliveryStore
  let after: NotificationId | undefined
  while (true) {
    const page: ReadonlyArray<Notification> = yield* store.notifications({
      order: "newest",
      limit: notificationsPerPage,
      ...(after !== undefined && { after })
    })
    for (const notification of page) {
      // A notification from the future was written before the clock was corrected.
      if (notification.at > now) continue
      if (notification.at <= now - pauseAfterJump) return 0
      if (notification.kind === "retention_paused" && now < notification.until)
        return Math.min(notification.until - now, pauseAfterJump)
    }
    after = page.at(-1)?.id
    if (page.length < notificationsPerPage) return 0
  }
})

/**
 * The store's time; null until the notifications have been read, and for a day after each jump. Reports each jump as a
 * notification.
 */
const makeSteadyNow: Effect.Effect<Now<DeliveryStore | Notifications>, never, Dispatcher> = Effect.gen(function* () {
  const dispatcher = yield* Dispatcher
  const clock = yield* Clock.Clock
  const now = yield* storeTime
  const steadyMillis = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  let last = now()
  let steady = steadyMillis()
  let pausedUntil = Number.NEGATIVE_INFINITY
  let isRecalled = false
  return Effect.gen(function* () {
    const at = now()
    const elapsed = steadyMillis() - steady
    const ahead_ms = at - last - elapsed
    last = at
    steady += elapsed
    if (ahead_ms > jump) {
      pausedUntil = steady + pauseAfterJump
      const about = { integration_id: null, scope: null, at, ahead_ms, until: at + pauseAfterJump }
      const notifications = yield* Notifications
      yield* (yield* DeliveryStore).addNotification({ kind: "retention_paused", ...about }).pipe(
        Effect.flatMap((notification) => notifications.notify([notification])),
        Effect.catchTag("StoreError", (error) =>
          Effect.logWarning(`The clock jumped ahead, so nothing is deleted by age for a day. ${error.message}`)
        )
      )
    }
    if (!isRecalled) {
      const left = yield* Effect.catchTag(pauseLeft(at), "StoreError", (error) =>
        Effect.as(Effect.logWarning(error.message), null)
      )
      if (left === null) return null
      isRecalled = true
      pausedUntil = Math.max(pausedUntil, steady + left)
    }
    // Another process may keep events for longer, so only a process whose settings agree deletes.
    const { is_member } = yield* dispatcher.status
    return steady < pausedUntil || !is_member ? null : at
  })
})

/** Runs until the scope closes. A failed round is repeated at the next interval. */
export const layer: Layer.Layer<never, never, Stores | DeliverySettings | Dispatcher | Notifications> =
  Layer.effectDiscard(
    Effect.flatMap(makeSteadyNow, (now) =>
      purgeExpiredBy(now).pipe(
        Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
        Effect.andThen(Effect.sleep(interval)),
        (round) => runForever("Deleting expired data", round, interval),
        Effect.forkScoped
      )
    )
  )
