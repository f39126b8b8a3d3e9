/**
 * Notifications to operators: in the log, in the metrics, and through a listener of the host.
 *
 * Each notification is stored first, so operators can list the notifications that a listener misses. A listener gets
 * one notification at a time. A slow or failing listener does not delay deliveries. If a listener never returns, the
 * next notification follows after the time limit.
 */
import type { Cause } from "effect"
import { Context, Effect, Fiber, Layer, Metric, Queue } from "effect"
import { isoOf } from "../model/IsoTime.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Notification, LastAttemptSummary } from "../model/Notification.ts"
import { notificationText } from "../model/Notification.ts"
import type { NotificationFilter } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { notificationsCounted } from "./DeliveryMetrics.ts"
import { settleBudget, DeliverySettings } from "./DeliverySettings.ts"
import { storeTime } from "../ports/StoreClock.ts"
import { runForever } from "./Loops.ts"

/** Time limit of a listener for one notification, in milliseconds. */
const patience = 30_000

/** Maximum number of notifications that wait for the listener. The stored list has all of them. */
const maxWaiting = 1_000

/**
 * Handles a notification in the host, for example by mail or pager. The default does nothing. Failures and calls that
 * take longer than 30 s are logged.
 */
export const NotificationListener = Context.Reference<(notification: Notification) => Effect.Effect<void, unknown>>(
  "@doorhook/core/delivery/Notifications/NotificationListener",
  { defaultValue: () => () => Effect.void }
)

export class Notifications extends Context.Service<
  Notifications,
  {
    /**
     * Reports stored notifications. `seen` has the last attempts of their integrations, for the text. Does not wait for
     * the listener.
     */
    readonly notify: (
      notifications: ReadonlyArray<Notification>,
      seen?: ReadonlyMap<IntegrationId, LastAttemptSummary>
    ) => Effect.Effect<void>
    /** Returns stored notifications, oldest first by default. */
    readonly list: (filter: NotificationFilter) => Effect.Effect<ReadonlyArray<Notification>, StoreError>
  }
>()("@doorhook/core/delivery/Notifications") {
  static readonly layer: Layer.Layer<Notifications, never, DeliveryStore> = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const listener = yield* NotificationListener
      const waiting = yield* Queue.dropping<Notification, Cause.Done>(maxWaiting)

      const hear = Effect.fnUntraced(function* (notification: Notification) {
        const hearing = yield* Effect.forkDetach(
          Effect.suspend(() => listener(notification)),
          { startImmediately: true }
        )
        const late = Effect.logWarning(
          `Notification ${notification.id} was not handled by its listener within ${patience / 1_000} s; the next one follows. It remains in the list of notifications.`
        )
        yield* Fiber.join(hearing).pipe(
          Effect.timeoutOrElse({ duration: patience, orElse: () => late }),
          // The interruption is not awaited: a listener that can't be interrupted would delay the next notification.
          Effect.ensuring(Effect.sync(() => hearing.interruptUnsafe()))
        )
      })

      const listening = yield* Queue.take(waiting).pipe(
        Effect.flatMap((notification) =>
          hear(notification).pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning(`Notification ${notification.id} was not handled by its listener`, cause)
            ),
            // The logger may throw, which must not end the loop.
            Effect.catchDefect(() => Effect.void)
          )
        ),
        Effect.forever,
        Effect.forkScoped
      )
      // When the scope closes, the listener gets the waiting notifications, within a time limit.
      yield* Effect.addFinalizer(() =>
        Queue.end(waiting).pipe(
          Effect.andThen(Fiber.await(listening)),
          Effect.timeoutOption(settleBudget),
          Effect.andThen(Fiber.interrupt(listening))
        )
      )

      const tellOne = Effect.fnUntraced(function* (notification: Notification, seen: LastAttemptSummary | undefined) {
        const text = notificationText(notification, isoOf, seen)
        yield* notification.kind === "recovered" ? Effect.logInfo(text) : Effect.logWarning(text)
        yield* Metric.update(Metric.withAttributes(notificationsCounted, { kind: notification.kind }), 1)
        if (yield* Queue.offer(waiting, notification)) return
        yield* Effect.logWarning(
          `Notification ${notification.id} is not sent to the listener: ${maxWaiting} others are waiting, or doorhook is closing. It remains in the list of notifications.`
        )
      })

      return Notifications.of({
        notify: (notifications, seen) =>
          Effect.forEach(
            notifications,
            (notification) =>
              tellOne(
                notification,
                notification.integration_id === null ? undefined : seen?.get(notification.integration_id)
              ),
            {
              discard: true
            }
          ),
        list: store.notifications
      })
    })
  )
}

// Warnings about failing integrations that are due because time has passed, not because of a new attempt. Even an
// integration with one event a week must cause a warning before it is disabled.

/** Number of checks for warnings within `disableAfter`. */
const looks = 50
const shortestInterval = 1_000
const longestInterval = 3_600_000

/** Maximum number of warnings stored in one transaction. */
const batch = 100

/** Repeatedly stores and reports the warnings that are due. Never ends. */
export const warnOfFailures = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const notifications = yield* Notifications
  const now = yield* storeTime
  const { disableAfter } = yield* DeliverySettings
  const interval = Math.min(Math.max(disableAfter / looks, shortestInterval), longestInterval)
  const warnSome = Effect.suspend(() => store.warn(now(), disableAfter, batch)).pipe(
    Effect.tap((stored) => notifications.notify(stored))
  )
  return yield* runForever(
    "The check for failing integrations",
    Effect.repeat(warnSome, { while: ({ length }) => length === batch }).pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
      Effect.andThen(Effect.sleep(interval))
    )
  )
})
