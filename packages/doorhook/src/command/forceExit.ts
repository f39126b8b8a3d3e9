/**
 * Ends this process by force if it can't stop, for example because the database neither answers nor closes its
 * connection. Once the membership of this process has expired, other processes send its deliveries.
 */
import { defaultDeliverySettings, deliverySettingsOf, longestAttempt } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { deliveryOverrides } from "../config/EngineConfig.ts"

/**
 * Time allowed after the longest attempt to finish requests, record outcomes and release the remaining deliveries, in
 * milliseconds.
 */
const stopAllowance = 20_000

const signals = ["SIGTERM", "SIGINT"] as const

/** Forces an exit if a signal does not stop the process in time. Active until the scope closes. */
export const forceExitAfterSignal = (config: EngineConfig): Effect.Effect<void, never, Scope.Scope> => {
  const listen = Effect.sync(() => {
    const settings = Result.flatMap(deliveryOverrides(config), deliverySettingsOf)
    const bound = longestAttempt(Result.getOrElse(settings, () => defaultDeliverySettings)) + stopAllowance
    const force = (): void => {
      process.stderr.write(
        `doorhook: could not stop within ${bound} ms and was forced to exit with unfinished work: check whether the database responds\n`
      )
      process.exit(1)
    }
    const listener = (): void => void setTimeout(force, bound).unref()
    for (const signal of signals) process.once(signal, listener)
    return listener
  })
  return Effect.asVoid(
    Effect.acquireRelease(listen, (listener) =>
      Effect.sync(() => {
        for (const signal of signals) process.off(signal, listener)
      })
    )
  )
}
