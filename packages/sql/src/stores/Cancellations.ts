/**
 * Ending all active deliveries of an integration that takes no more, also when it has a million of them.
 *
 * How it is done is each database's own; what changes integrations uses it through this.
 */
import type { DeliveryReason, IntegrationId } from "@doorhook/core"
import type { Effect } from "effect"
import { Context } from "effect"
import type { SqlError } from "effect/sql"

type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** The most deliveries that are moved in one transaction: some ten milliseconds. */
export const CancellationBatch = Context.Reference<number>("@doorhook/sql/EndingBatch", { defaultValue: () => 2_000 })

export class Cancellations extends Context.Service<
  Cancellations,
  {
    /** Ends the active deliveries of an integration: core's `Transitions.cancelled`. In the caller's transaction. */
    readonly begin: (id: IntegrationId, reason: DeliveryReason) => Answer<void>
    /** Moves the rows of an integration's ending, in transactions of its own, but for those that others lock now. */
    readonly prepare: (id: IntegrationId) => Answer<void>
    /** Moves the rest, in the caller's transaction, which has locked the integration. */
    readonly finish: (id: IntegrationId) => Answer<void>
    /** Lets the rows of all endings be moved in the background: after one was begun, and with each heartbeat. */
    readonly resume: Effect.Effect<void>
  }
>()("@doorhook/sql/Endings") {}
