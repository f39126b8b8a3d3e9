/**
 * Ends this process by force when it can't stop, for example when the database neither answers nor closes its
 * connection. Other processes send its deliveries once its membership has lapsed.
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

/** Active from now until the scope is closed. */
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
