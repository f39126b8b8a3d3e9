/**
 * Handles SIGHUP. A closing terminal sends it, and operators send it to reload the directory file.
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
