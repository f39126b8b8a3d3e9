/**
 * Changes of the store that leave something to send: dispatchers are woken, also where nobody knows whether they were made.
 */
import { Cause, Effect, Exit, Predicate } from "effect"
import type { WakeSignal } from "../ports/WakeSignal.ts"

/** Whether a change that failed may have been carried out, all of it or a part: its answer was lost, or nobody waited for it. */
const mayHaveChanged = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterrupts(cause)) return true
  const error = Cause.squash(cause)
  return Predicate.isTagged(error, "StoreError") && Predicate.hasProperty(error, "outcome")
}

/** Makes a change, and wakes the dispatchers after it where it left them something, or may have. */
export const signalAfter = <A, E, R>(
  { signal }: WakeSignal["Service"],
  change: Effect.Effect<A, E, R>,
  leavesWork: (result: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.onExit(change, (exit) => {
    if (Exit.isSuccess(exit)) return leavesWork(exit.value) ? signal : Effect.void
    // Not waited for: a store that loses answers may take its time for a signal too.
    return mayHaveChanged(exit.cause) ? Effect.forkDetach(signal, { startImmediately: true }) : Effect.void
  })
