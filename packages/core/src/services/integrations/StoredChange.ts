/**
 * Changes a stored integration, and has the dispatcher heed it. Where somebody else's change comes first, this one is
 * made to what is there by then: none is lost, and each lost race is another's progress.
 */
import { Clock, Effect, Equal } from "effect"
import type { Integration } from "../../domain/Integration.ts"
import type { LocatedIntegration } from "../../ports/IntegrationStore.ts"
import { IntegrationStore } from "../../ports/IntegrationStore.ts"
import { Dispatcher } from "../../delivery/Dispatcher.ts"
import { heeded } from "./Heeding.ts"

export const makeStoredChange = Effect.gen(function* () {
  const store = yield* IntegrationStore
  const dispatcher = yield* Dispatcher

  /** Puts what `apply` makes of an integration in its place, as its next version; nothing where that is the same. */
  const change = Effect.fnUntraced(function* <E>(
    find: Effect.Effect<Integration, E>,
    apply: (integration: Integration, now: number) => Integration
  ) {
    for (let lostRace = false; ; lostRace = true) {
      const current = yield* find
      const now = yield* Clock.currentTimeMillis
      const changed = apply(current, now)
      if (Equal.equals(current, changed)) {
        // What is answered holds from now on, and the dispatcher may not have heard yet of whoever made it so.
        if (lostRace || current.status === "disabled") yield* dispatcher.forget(current.id)
        return current
      }
      const updated_at = Math.max(now, current.updated_at + 1)
      const next = { ...changed, version: current.version + 1, updated_at }
      if (yield* heeded(dispatcher, current.id, store.update(next, current.version))) return next
    }
  })

  /** Deletes an integration in the version that was found. */
  const remove = Effect.fnUntraced(function* <E>(find: Effect.Effect<LocatedIntegration, E>) {
    for (;;) {
      const found = yield* find
      if (yield* heeded(dispatcher, found.id, store.remove(found))) return
    }
  })

  return { change, remove }
})
