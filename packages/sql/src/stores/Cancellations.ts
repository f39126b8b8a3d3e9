/**
 * Cancels all active deliveries of a deleted or disabled integration, even a million of them.
 *
 * The integration store uses this service, which each database implements.
 */
import type { DeliveryReason, IntegrationId } from "@doorhook/core"
import { runForever } from "@doorhook/core"
import { Context, Effect, Queue } from "effect"
import type { SqlError } from "effect/sql"

type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** Maximum number of deliveries that one transaction moves, in about ten milliseconds. */
export const CancellationBatch = Context.Reference<number>("@doorhook/sql/EndingBatch", { defaultValue: () => 2_000 })

export class Cancellations extends Context.Service<
  Cancellations,
  {
    /**
     * Cancels the active deliveries of an integration, like core's `Transitions.cancel`. Runs in the caller's transaction.
     */
    readonly begin: (id: IntegrationId, reason: DeliveryReason) => Answer<void>
    /** Moves the rows of an integration's cancellation in separate transactions. Skips rows that others have locked. */
    readonly prepare: (id: IntegrationId) => Answer<void>
    /** Moves the remaining rows in the caller's transaction, which must have locked the integration. */
    readonly finish: (id: IntegrationId) => Answer<void>
    /**
     * Moves the rows of all cancellations in the background. Called after a cancellation has begun, and with each
     * heartbeat.
     */
    readonly resume: Effect.Effect<void>
  }
>()("@doorhook/sql/Endings") {}

/**
 * Runs a step for all cancellations in the background: now, and each time that the result is run. A failed step is
 * retried with the next one, because moving rows is not needed for correct results.
 */
export const inBackground = Effect.fnUntraced(function* (step: Effect.Effect<void, SqlError.SqlError>) {
  const wanted = yield* Queue.sliding<void>(1)
  const round = step.pipe(
    Effect.catchTag("SqlError", (error) =>
      Effect.logWarning(
        `Can't mark all deliveries of disabled and deleted integrations as cancelled, will retry: ${error.message}`
      )
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(runForever("Marking deliveries of disabled and deleted integrations as cancelled", round))
  return Effect.asVoid(Queue.offer(wanted, undefined))
})
