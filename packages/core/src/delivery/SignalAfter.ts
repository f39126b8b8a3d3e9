/**
 * Wakes dispatchers after store changes that may leave deliveries to send, including changes with an unknown outcome.
 */
import { Cause, Effect, Exit, Predicate } from "effect"
import type { WakeSignal } from "../ports/WakeSignal.ts"

/**
 * Whether a failed change may have been carried out in whole or in part: its answer was lost, or it was interrupted.
 */
const mayHaveChanged = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterrupts(cause)) return true
  const error = Cause.squash(cause)
  return Predicate.isTagged(error, "StoreError") && Predicate.hasProperty(error, "outcome")
}

/** Makes a change, then wakes the dispatchers if the change leaves or may leave work for them. */
export const signalAfter = <A, E, R>(
  { signal }: WakeSignal["Service"],
  change: Effect.Effect<A, E, R>,
  leavesWork: (result: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.onExit(change, (exit) => {
    if (Exit.isSuccess(exit)) return leavesWork(exit.value) ? signal : Effect.void
    // The caller does not wait for this signal, because a store that loses answers may also be slow to signal.
    return mayHaveChanged(exit.cause) ? Effect.forkDetach(signal, { startImmediately: true }) : Effect.void
  })
