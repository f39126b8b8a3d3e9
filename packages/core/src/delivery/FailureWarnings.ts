/**
 * Warnings about integrations that fail, stored by time alone: an integration that gets an event a week should not be disabled
 * without one. When they are due is decided by `model/FailureState`.
 */
import { Clock, Effect } from "effect"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { runForever } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"

/** Warnings are looked for this often while an integration fails until it is disabled. */
const looks = 50
const shortestInterval = 1_000
const longestInterval = 3_600_000

/** The most warnings stored in one transaction. */
const batch = 100

/** Stores and reports warnings that are due, forever. */
export const warnOfFailures = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const notifications = yield* Notifications
  const { disableAfter } = yield* DeliverySettings
  const interval = Math.min(Math.max(disableAfter / looks, shortestInterval), longestInterval)
  const warnSome = Effect.flatMap(Clock.currentTimeMillis, (now) => store.warn(now, disableAfter, batch)).pipe(
    Effect.tap((stored) => notifications.notify(stored))
  )
  return yield* runForever(
    "Warning of integrations that fail",
    Effect.repeat(warnSome, { while: ({ length }) => length === batch }).pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
      Effect.andThen(Effect.sleep(interval))
    )
  )
})
