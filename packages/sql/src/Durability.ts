/**
 * Which changes must be on disk before their call returns.
 */
import { Context, Effect } from "effect"

/** Whether a call returns only once its change is on disk. */
export const Durable = Context.Reference<boolean>("@doorhook/sql/Durable", { defaultValue: () => true })

/** For changes that a crash may lose, like leases: they are worthless once their process has ended. */
export const nonDurable = Effect.provideService(Durable, false)
