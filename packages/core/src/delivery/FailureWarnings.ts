/**
 * Sends the warnings about failing integrations that are due because time has passed, not because of a new attempt.
 * Even an integration with one event a week must cause a warning before it is disabled. `model/FailureState` decides
 * when warnings are due.
 */
import { Effect } from "effect"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { runForever } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"

/** Number of checks for warnings within `disableAfter`. */
const looks = 50
const shortestInterval = 1_000
const longestInterval = 3_600_000

/** Maximum number of warnings stored in one transaction. */
const batch = 100

/** Repeatedly stores and reports the warnings that are due. Never ends. */
export const warnOfFailures = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const notifications = yield* Notifications
  const now = yield* storeTime
  const { disableAfter } = yield* DeliverySettings
  const interval = Math.min(Math.max(disableAfter / looks, shortestInterval), longestInterval)
  const warnSome = Effect.suspend(() => store.warn(now(), disableAfter, batch)).pipe(
    Effect.tap((stored) => notifications.notify(stored))
  )
  return yield* runForever(
    "The check for failing integrations",
    Effect.repeat(warnSome, { while: ({ length }) => length === batch }).pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
      Effect.andThen(Effect.sleep(interval))
    )
  )
})
