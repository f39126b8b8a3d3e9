/**
 * What a test gives to operate its receiver, as a hook of the suite.
 */
import { Effect } from "effect"
import { hookPatience } from "../hooks/Commands.ts"
import { HookFailed } from "../hooks/Hooks.ts"

/** Null where the test gives none. One that never settles fails: a run that is interrupted waits for its hooks. */
export const hook = <Arguments extends ReadonlyArray<unknown>>(
  name: string,
  act: ((...given: Arguments) => void | Promise<void>) | undefined
) =>
  act === undefined
    ? null
    : (...given: Arguments): Effect.Effect<void, HookFailed> =>
        Effect.tryPromise({
          try: async () => act(...given),
          catch: (error) => new HookFailed({ message: `the test's \`${name}\` threw: ${String(error)}` })
        }).pipe(
          Effect.timeoutOrElse({
            duration: hookPatience,
            orElse: () =>
              Effect.fail(
                new HookFailed({ message: `the test's \`${name}\` did not end within ${hookPatience / 1_000} s` })
              )
          })
        )
