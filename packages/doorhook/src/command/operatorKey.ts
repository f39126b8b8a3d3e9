/**
 * Reads the operator key from a flag or an environment variable.
 */
import { Config, Effect, Option, Redacted, Result } from "effect"
import { Flag } from "effect/cli"
import { presentedKeyOf } from "../config/KeySettings.ts"
import { problemsIn } from "../config/ReadingSettings.ts"
import { withFlags } from "./settingFlags.ts"

export const operatorKeyFlag = Flag.Redacted("operator-key").pipe(
  Flag.withDescription("Key of the operator API; the variable DOORHOOK_OPERATOR_KEY is safer"),
  Flag.optional
)

/** Lists the problems of a key, in terms of the command line. */
export const keyProblems = (operatorKey: string | undefined): ReadonlyArray<string> =>
  problemsIn([Result.mapError(presentedKeyOf({ operatorKey }), withFlags)])

/** Returns the given key. The flag takes precedence over the environment. */
export const operatorKeyOf = Effect.fnUntraced(function* (given: Option.Option<Redacted.Redacted>) {
  const inEnvironment = yield* Config.option(Config.Redacted("DOORHOOK_OPERATOR_KEY"))
  return Option.map(
    Option.orElse(given, () => inEnvironment),
    Redacted.value
  )
})
