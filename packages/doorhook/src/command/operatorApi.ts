/**
 * How commands call the operator API, and tell what it says.
 */
import { CommandFailure } from "@doorhook/core"
import type { Redacted } from "effect"
import { Console, Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { DoorhookError } from "../embed/DoorhookError.ts"
import type { OperatorCalls } from "../embed/OperatorCalls.ts"
import { makeOperatorCalls } from "../embed/OperatorCalls.ts"
import { inFlags } from "./inFlags.ts"
import { operatorKeyFlag, operatorKeyOf } from "./operatorKey.ts"

/** The flags of every command that calls it. */
export const connection = {
  url: Flag.String("url").pipe(
    Flag.withDescription("The service (default http://127.0.0.1:4000)"),
    Flag.withDefault("http://127.0.0.1:4000")
  ),
  operatorKey: operatorKeyFlag,
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print the answer of the API as it is"), Flag.withDefault(false))
}

interface Connection {
  readonly url: string
  readonly operatorKey: Option.Option<Redacted.Redacted<string>>
}

const callsTo = Effect.fnUntraced(function* ({ operatorKey, url }: Connection) {
  return yield* Option.match(yield* operatorKeyOf(operatorKey), {
    onNone: () => CommandFailure.usage("No operator key. Set DOORHOOK_OPERATOR_KEY, or give --operator-key."),
    onSome: (key) => Effect.succeed(makeOperatorCalls(fetch, key, url.replace(/\/+$/, "")))
  })
})

/** What an answer says, as the command's own user understands it. */
const tell = ({ operatorKey, url }: Connection, { code, message }: DoorhookError): string =>
  code === "unauthorized"
    ? `The service at ${url} refuses the operator key of ${
        Option.isSome(operatorKey) ? "--operator-key" : "DOORHOOK_OPERATOR_KEY"
      }. Give the one that it was started with, or that it printed at its first start.`
    : inFlags(code, message)

/** Calls a part of the API, that `makeClient` makes. A failure is told in a line. */
export const askThrough =
  <Client>(makeClient: (calls: OperatorCalls) => Client) =>
  <A>(given: Connection, call: (client: Client) => Promise<A>) =>
    Effect.flatMap(callsTo(given), (calls) =>
      Effect.tryPromise({
        try: () => call(makeClient(calls)),
        catch: (error) =>
          new CommandFailure({
            exitCode: 1,
            message:
              error instanceof DoorhookError
                ? tell(given, error)
                : `No answer from ${given.url}. Is the service running there? Give another address with --url.`
          })
      })
    )

export const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, null, 2))

/** Prints a page: a line for each item, or that there is none, and how to go on. */
export const printPage = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, none: string, next: string | null) {
  for (const line of lines) yield* Console.log(line)
  if (lines.length === 0) yield* Console.log(none)
  if (next !== null) yield* Console.log(`more: --after ${next}`)
})

/** A flag for a text that may be left out. */
export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional, Flag.map(Option.getOrUndefined))

/** The order of a list: a flag, and what the API calls it. */
export const newest = Flag.Boolean("newest").pipe(
  Flag.withDescription("The newest first (default: the oldest first)"),
  Flag.withDefault(false),
  Flag.map((isNewest) => (isNewest ? "newest" : undefined))
)

/** The flags of every list. */
export const paging = {
  after: optionalText("after", "Continue after this one"),
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("At most so many (1 to 1,000; default 100)"),
    Flag.withDefault(100)
  )
}
