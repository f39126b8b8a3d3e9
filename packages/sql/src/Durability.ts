/**
 * Whether a change must be on disk before its call returns.
 */
import { Context, Effect } from "effect"

/** Whether a call returns only after its change is on disk. */
export const Durable = Context.Reference<boolean>("@doorhook/sql/Durable", { defaultValue: () => true })

/**
 * Runs an effect whose changes may be lost in a crash. A lease, for example, is worthless after its process has ended.
 */
export const nonDurable = Effect.provideService(Durable, false)
