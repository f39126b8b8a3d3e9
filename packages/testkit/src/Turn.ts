/**
 * The event loop of this process, where virtual time must not run ahead of what comes in real time.
 */
import { Effect } from "effect"

/** Lets what has come in by now be read. */
export const nextTurn: Effect.Effect<void> = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
