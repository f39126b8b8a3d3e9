/**
 * Handles SIGHUP, sent when a terminal closes, and by operators to reload settings.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Calls a listener at each SIGHUP until the scope is closed. */
export const onSighup = (listener: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => process.on("SIGHUP", listener)),
      () => Effect.sync(() => process.off("SIGHUP", listener))
    )
  )
