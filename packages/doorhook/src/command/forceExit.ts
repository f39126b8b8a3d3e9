/**
 * Ends this process by force when it can't stop: a database that neither answers nor breaks off can hold up what must not
 * be interrupted. Others send what it held when its membership has lapsed.
 */
import { defaultDeliverySettings, deliverySettingsOf, longestAttempt } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { deliveryOverrides } from "../config/EngineConfig.ts"

/** Time to finish requests, record outcomes and give back the rest, beyond the longest attempt, in milliseconds. */
const farewell = 20_000

const signals = ["SIGTERM", "SIGINT"] as const

/** From now on, until the scope is closed. */
export const forceExitAfterSignal = (config: EngineConfig): Effect.Effect<void, never, Scope.Scope> => {
  const listen = Effect.sync(() => {
    const settings = Result.flatMap(deliveryOverrides(config), deliverySettingsOf)
    const bound = longestAttempt(Result.getOrElse(settings, () => defaultDeliverySettings)) + farewell
    const force = (): void => {
      process.stderr.write(
        `doorhook: could not stop within ${bound} ms, so it was ended by force. Something was still under way: check whether the database answers\n`
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
