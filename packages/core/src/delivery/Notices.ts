/**
 * Tells those who run the service what doorhook noticed: to the log, to the metrics, and to a listener of the host.
 *
 * Notices are stored before they are told, so what a listener missed is still found in the list. A listener is told one
 * notice after the other, apart from the sending of deliveries: a slow or failing one holds up nothing, and one that never
 * answers no other notice for long.
 */
import type { Cause } from "effect"
import { Context, Effect, Fiber, Layer, Metric, Queue } from "effect"
import { isoOf } from "../model/IsoTime.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Notice, Seen } from "../model/Notice.ts"
import { noticeText } from "../model/Notice.ts"
import type { NoticeFilter } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { noticesGiven } from "./DeliveryMetrics.ts"
import { settleBudget } from "./DeliverySettings.ts"

/** How long a listener has for a notice, in milliseconds. */
const patience = 30_000

/** The most notices that wait for a listener. All of them are in the list. */
const maxWaiting = 1_000

/**
 * What the host does with a notice: send a mail, page somebody. Nothing by default. A failure of it is logged, and so is that
 * it takes more than 30 s.
 */
export const NoticeListener = Context.Reference<(notice: Notice) => Effect.Effect<void, unknown>>(
  "@doorhook/core/delivery/Notices/NoticeListener",
  { defaultValue: () => () => Effect.void }
)

export class Notices extends Context.Service<
  Notices,
  {
    /** Tells notices that are stored, with what was seen of their integrations. Returns at once. */
    readonly tell: (notices: ReadonlyArray<Notice>, seen?: ReadonlyMap<IntegrationId, Seen>) => Effect.Effect<void>
    /** The notices that are kept, the oldest first unless another order is asked for. */
    readonly list: (filter: NoticeFilter) => Effect.Effect<ReadonlyArray<Notice>, StoreError>
  }
>()("@doorhook/core/delivery/Notices") {
  static readonly layer: Layer.Layer<Notices, never, DeliveryStore> = Layer.effect(
    Notices,
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const listener = yield* NoticeListener
      const waiting = yield* Queue.dropping<Notice, Cause.Done>(maxWaiting)

      const hear = Effect.fnUntraced(function* (notice: Notice) {
        const hearing = yield* Effect.forkDetach(
          Effect.suspend(() => listener(notice)),
          { startImmediately: true }
        )
        const late = Effect.logWarning(
          `Notice ${notice.id} was not taken by its listener within ${patience / 1_000} s: it is told of the next. The list of notices has it.`
        )
        yield* Fiber.join(hearing).pipe(
          Effect.timeoutOrElse({ duration: patience, orElse: () => late }),
          // Not waited for: one that can't be interrupted would hold up the next as well.
          Effect.ensuring(Effect.sync(() => hearing.interruptUnsafe()))
        )
      })

      const listening = yield* Queue.take(waiting).pipe(
        Effect.flatMap((notice) =>
          hear(notice).pipe(
            Effect.catchCause((cause) => Effect.logWarning(`Notice ${notice.id} was not taken by its listener`, cause)),
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

      const tellOne = Effect.fnUntraced(function* (notice: Notice, seen: Seen | undefined) {
        const text = noticeText(notice, isoOf, seen)
        yield* notice.kind === "recovered" ? Effect.logInfo(text) : Effect.logWarning(text)
        yield* Metric.update(Metric.withAttributes(noticesGiven, { kind: notice.kind }), 1)
        if (yield* Queue.offer(waiting, notice)) return
        yield* Effect.logWarning(
          `Notice ${notice.id} is not told to the listener: ${maxWaiting} others wait for it, or doorhook is closing. The list of notices has it.`
        )
      })

      return Notices.of({
        tell: (notices, seen) =>
          Effect.forEach(
            notices,
            (notice) => tellOne(notice, notice.integration_id === null ? undefined : seen?.get(notice.integration_id)),
            {
              discard: true
            }
          ),
        list: store.notices
      })
    })
  )
}
