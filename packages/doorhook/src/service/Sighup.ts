/**
 * SIGHUP, which a process hears when its terminal is closed, or when it is told to read its settings again.
 */
import { Effect } from "effect"
import type { Scope } from "effect"

/** Calls a listener at each SIGHUP, for as long as the scope lives. */
export const onSighup = (listener: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => process.on("SIGHUP", listener)),
      () => Effect.sync(() => process.off("SIGHUP", listener))
    )
  )
