/**
 * The key of the operator API, wherever a command takes one.
 */
import { Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import { fromEnvironment } from "./deliveryFlags.ts"

export const operatorKeyFlag = Flag.Redacted("operator-key").pipe(
  Flag.withDescription("Key of the operator API; better given as DOORHOOK_OPERATOR_KEY"),
  Flag.optional
)

/** The key that was given: the flag goes before the environment. */
export const operatorKeyOf = Effect.fnUntraced(function* (given: Option.Option<Redacted.Redacted>) {
  const inEnvironment = yield* fromEnvironment("DOORHOOK_OPERATOR_KEY")
  return Option.orElse(Option.map(given, Redacted.value), () => inEnvironment)
})
