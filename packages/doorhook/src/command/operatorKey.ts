/**
 * The key of the operator API, wherever a command takes one.
 */
import { Config, Effect, Option, Redacted, Result } from "effect"
import { Flag } from "effect/cli"
import { presentedKeyOf } from "../config/KeySettings.ts"
import { problemsIn } from "../config/ReadingSettings.ts"
import { withFlags } from "./settingFlags.ts"

export const operatorKeyFlag = Flag.Redacted("operator-key").pipe(
  Flag.withDescription("Key of the operator API; better given as DOORHOOK_OPERATOR_KEY"),
  Flag.optional
)

/** What is wrong with a key, in the words of the command line. */
export const keyProblems = (operatorKey: string | undefined): ReadonlyArray<string> =>
  problemsIn([Result.mapError(presentedKeyOf({ operatorKey }), withFlags)])

/** The key that was given: the flag goes before the environment. */
export const operatorKeyOf = Effect.fnUntraced(function* (given: Option.Option<Redacted.Redacted>) {
  const inEnvironment = yield* Config.option(Config.Redacted("DOORHOOK_OPERATOR_KEY"))
  return Option.map(
    Option.orElse(given, () => inEnvironment),
    Redacted.value
  )
})
