/**
 * Has the dispatcher heed a change of an integration that the store makes.
 */
import { Effect } from "effect"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { StoreError } from "../../ports/StoreError.ts"
import type { Dispatcher } from "../../delivery/Dispatcher.ts"

/** Also when nobody waits for the answer any more, and when it was lost: the change may have been made all the same. */
export const heeded = (
  dispatcher: Dispatcher["Service"],
  id: IntegrationId,
  change: Effect.Effect<boolean, StoreError>
): Effect.Effect<boolean, StoreError> =>
  change.pipe(
    Effect.tap((changed) => (changed ? dispatcher.forget(id) : Effect.void)),
    Effect.tapError(({ outcome }) => (outcome === "unknown" ? dispatcher.forget(id) : Effect.void)),
    Effect.uninterruptible
  )
