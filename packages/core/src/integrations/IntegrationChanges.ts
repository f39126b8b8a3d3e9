/**
 * Changes stored integrations. A change that loses a race is applied again to the newer version, so that no change is
 * lost. While an integration is moved to another database, its database changes nothing, so each try first asks whether
 * this process serves its building or tenant. After a change, the dispatcher drops its state of the integration.
 */
import { Effect, Equal } from "effect"
import type { Dispatcher } from "../delivery/Dispatcher.ts"
import type { Absence, NotServed } from "../model/BuildingMoves.ts"
import { refusalOf } from "../model/BuildingMoves.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import type { IntegrationStore, IntegrationRef } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"

/** What a change needs. */
export interface Changing {
  readonly store: IntegrationStore["Service"]
  readonly dispatcher: Dispatcher["Service"]
  readonly absence: (typeof Absence)["Service"]
  readonly now: () => number
}

/**
 * Stores the result of `apply` as the next version, unless `apply` changes nothing. `find` reads the integration before
 * each try.
 */
export const changeStored = Effect.fnUntraced(function* <E>(
  { absence, dispatcher, now, store }: Changing,
  find: () => Effect.Effect<Integration, E>,
  apply: (integration: Integration, at: number) => Integration
) {
  for (let lostRace = false; ; lostRace = true) {
    const current = yield* find()
    const refusal = refusalOf(absence, [current.scope])
    if (refusal !== null) return yield* refusal
    const at = now()
    const changed = apply(current, at)
    if (Equal.equals(current, changed)) {
      // Another process may have made the change, so this dispatcher's state may be outdated.
      if (lostRace || current.status === "disabled") yield* dispatcher.forget(current.id)
      return current
    }
    const updated_at = Math.max(at, current.updated_at + 1)
    const next = { ...changed, version: current.version + 1, updated_at }
    if (yield* forgetting(dispatcher, current.id, store.update(next, current.version))) return next
  }
})

/** Deletes an integration in the version that `find` returns. */
export const removeStored: <E>(
  changing: Omit<Changing, "now">,
  find: () => Effect.Effect<IntegrationRef, E>
) => Effect.Effect<void, E | NotServed | StoreError> = Effect.fnUntraced(function* (
  { absence, dispatcher, store },
  find
) {
  for (;;) {
    const found = yield* find()
    const refusal = refusalOf(absence, [found.scope])
    if (refusal !== null) return yield* refusal
    if (yield* forgetting(dispatcher, found.id, store.remove(found))) return
  }
})

/**
 * Runs a change uninterruptibly. If the change was made, or may have been, the dispatcher then forgets the integration.
 */
const forgetting = (
  dispatcher: Dispatcher["Service"],
  id: IntegrationId,
  change: Effect.Effect<boolean, StoreError>
): Effect.Effect<boolean, StoreError> =>
  change.pipe(
    Effect.tap((changed) => (changed ? dispatcher.forget(id) : Effect.void)),
    Effect.tapError(({ outcome }) => (outcome === "unknown" ? dispatcher.forget(id) : Effect.void)),
    Effect.uninterruptible
  )
