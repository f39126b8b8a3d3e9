/**
 * Tells of integrations that fail when their time to be told of has come, also while nothing is sent to them: one that
 * gets an event a week should not be disabled without a word before.
 */
import { Clock, Duration, Effect } from "effect"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { DeliverySettings } from "../DeliverySettings.ts"
import { lasting } from "../Lasting.ts"
import { Notices } from "../Notices.ts"

/** How often it looks: so many times while an integration fails until it is disabled, but not oftener nor seldomer than that. */
const looks = 50
const leastInterval = 1_000
const greatestInterval = 3_600_000

/** The most integrations told of in one transaction. */
const batch = 100

/** The loop. A look that fails is made again at its next time. */
export const makeWarnings = Effect.fnUntraced(function* (
  inTurn: <A, E, R>(transaction: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) {
  const store = yield* DeliveryStore
  const { disableAfter } = yield* DeliverySettings
  const told = yield* Notices
  const interval = Duration.millis(Math.min(Math.max(disableAfter / looks, leastInterval), greatestInterval))

  const some = Effect.flatMap(Clock.currentTimeMillis, (now) => store.warn(now, disableAfter, batch)).pipe(
    Effect.tap((notices) => told.tell(notices)),
    inTurn
  )
  const all = Effect.repeat(some, { while: ({ length }) => length === batch })
  return lasting(
    "Telling of integrations that fail",
    all.pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
      Effect.andThen(Effect.sleep(interval))
    )
  )
})
