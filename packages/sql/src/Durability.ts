/**
 * Which changes must survive a power cut before they are answered for.
 */
import { Context, Effect } from "effect"

/** Whether a change is on disk before the call that made it is answered. */
export const Durable = Context.Reference<boolean>("@doorhook/sql/Durable", { defaultValue: () => true })

/** For changes that mean nothing once their process is gone, like leases: without them things stand as if it had died. */
export const nonDurable = Effect.provideService(Durable, false)
