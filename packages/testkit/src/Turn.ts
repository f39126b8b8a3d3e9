/**
 * Waits for the event loop, so that pending input is read before virtual time advances.
 */
import { Effect } from "effect"

/** Waits for one turn of the event loop, during which pending input is read. */
export const nextTurn: Effect.Effect<void> = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
