/**
 * Tells those who run the service what doorhook noticed: to the log, to the metrics, and to a listener of the host.
 *
 * Notifications are stored before they are told, so what a listener missed is still found in the list. A listener is told one
 * notification after the other, apart from the sending of deliveries: a slow or failing one holds up nothing, and one that never
 * answers no other notification for long.
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
import { settleBudget } from "./DeliverySettings.ts"

/** How long a listener has for a notification, in milliseconds. */
const patience = 30_000

/** The most notifications that wait for a listener. All of them are in the list. */
const maxWaiting = 1_000

/**
 * What the host does with a notification: send a mail, page somebody. Nothing by default. A failure of it is logged, and so is that
 * it takes more than 30 s.
 */
export const NotificationListener = Context.Reference<(notification: Notification) => Effect.Effect<void, unknown>>(
  "@doorhook/core/delivery/Notifications/NotificationListener",
  { defaultValue: () => () => Effect.void }
)

export class Notifications extends Context.Service<
  Notifications,
  {
    /** Tells notifications that are stored, with what was seen of their integrations. Returns at once. */
    readonly notify: (
      notifications: ReadonlyArray<Notification>,
      seen?: ReadonlyMap<IntegrationId, LastAttemptSummary>
    ) => Effect.Effect<void>
    /** The notifications that are kept, the oldest first unless another order is asked for. */
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
          `Notification ${notification.id} was not taken by its listener within ${patience / 1_000} s: it is told of the next. The list of notifications has it.`
        )
        yield* Fiber.join(hearing).pipe(
          Effect.timeoutOrElse({ duration: patience, orElse: () => late }),
          // Not waited for: one that can't be interrupted would hold up the next as well.
          Effect.ensuring(Effect.sync(() => hearing.interruptUnsafe()))
        )
      })

      const listening = yield* Queue.take(waiting).pipe(
        Effect.flatMap((notification) =>
          hear(notification).pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning(`Notification ${notification.id} was not taken by its listener`, cause)
            ),
            // Of a logger that throws.
            Effect.catchDefect(() => Effect.void)
          )
        ),
        Effect.forever,
        Effect.forkScoped
      )
      // What is waiting when the scope closes is still told, for a while.
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
          `Notification ${notification.id} is not told to the listener: ${maxWaiting} others wait for it, or doorhook is closing. The list of notifications has it.`
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
