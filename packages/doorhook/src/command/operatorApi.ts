/**
 * Calls the operator API for commands, and prints its answers.
 */
import { columns, commandAdvice, CommandFailure, onOneLine, shownJson, tlsProblemOf } from "@doorhook/core"
import { Config, Console, Effect, Option, Predicate, Redacted, Result } from "effect"
import { Argument, Flag } from "effect/cli"
import { presentedKeyOf } from "../config/KeySettings.ts"
import { problemsIn } from "../config/ReadingSettings.ts"
import { DoorhookError } from "../DoorhookError.ts"
import { makeHttpCalls } from "../embed/OperatorCalls.ts"
import type { OperatorClient } from "../embed/OperatorClient.ts"
import { makeOperatorClient } from "../embed/OperatorClient.ts"
import { withFlags } from "./settingFlags.ts"

export const operatorKeyFlag = Flag.Redacted("operator-key").pipe(
  Flag.withDescription("Key of the operator API; the variable DOORHOOK_OPERATOR_KEY is safer"),
  Flag.optional
)

/** Lists the problems of a key, in terms of the command line. */
const keyProblems = (operatorKey: string | undefined): ReadonlyArray<string> =>
  problemsIn([Result.mapError(presentedKeyOf({ operatorKey }), withFlags)])

/** Returns the given key. The flag takes precedence over the environment. */
const operatorKeyOf = Effect.fnUntraced(function* (given: Option.Option<Redacted.Redacted>) {
  const inEnvironment = yield* Config.option(Config.Redacted("DOORHOOK_OPERATOR_KEY"))
  return Option.map(
    Option.orElse(given, () => inEnvironment),
    Redacted.value
  )
})

const defaultUrl = "http://127.0.0.1:4000"

/** Makes the flag of a command that can print JSON instead of text. */
export const jsonFlag = (description: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(description), Flag.withDefault(false))

/** Flags of every command that calls the operator API. */
export const connection = {
  url: Flag.String("url").pipe(
    Flag.withDescription(`URL of the service (default: the variable DOORHOOK_URL, else ${defaultUrl})`),
    Flag.withFallbackConfig(Config.NonEmptyString("DOORHOOK_URL").pipe(Config.withDefault(defaultUrl)))
  ),
  operatorKey: operatorKeyFlag,
  json: jsonFlag("Print the API's response unchanged")
}

export interface Connection {
  readonly url: string
  readonly operatorKey: Option.Option<Redacted.Redacted<string>>
}

/** A complete command for the same service, ready to copy. */
export const commandTo = ({ url }: Connection, ...words: ReadonlyArray<string>): string =>
  ["npx doorhook", ...words, ...(url === defaultUrl ? [] : [`--url ${url}`])].join(" ")

export const isWebUrl = (text: string): boolean => ["http:", "https:"].includes(URL.parse(text)?.protocol ?? "")

const clientOf = Effect.fnUntraced(function* ({ operatorKey, url }: Connection) {
  const key = yield* operatorKeyOf(operatorKey)
  const problems = [
    ...(isWebUrl(url)
      ? []
      : [`--url or DOORHOOK_URL: must be an http or https URL like ${defaultUrl}, not ${JSON.stringify(url)}.`]),
    ...(Option.isNone(key)
      ? [
          "No operator key. Set DOORHOOK_OPERATOR_KEY in this shell, or give --operator-key. The service was started with this key, or printed it at its first start; an embedded doorhook has it as the option operatorKey."
        ]
      : keyProblems(key.value))
  ]
  if (Option.isNone(key) || problems.length > 0) return yield* CommandFailure.usage(problems.join(" "))
  return makeOperatorClient(makeHttpCalls(url.replace(/\/+$/, ""), key.value))
})

/** What to do about a failed call, by error code. */
export type Remedies = Readonly<Record<string, string>>

/** Returns what to do if the integration is disabled. */
export const whereDisabled = (given: Connection, integration: string) => ({
  integration_disabled: `To enable it: ${commandTo(given, "integrations set", integration, "--status enabled")}`
})

/** Returns the message about a failed call, in terms of the command line. */
const messageFor = ({ operatorKey, url }: Connection, { code, message }: DoorhookError, remedies: Remedies): string => {
  switch (code) {
    case "unauthorized":
      return `The service at ${url} rejects the operator key from ${
        Option.isSome(operatorKey) ? "--operator-key" : "DOORHOOK_OPERATOR_KEY"
      }. Give the key that it was started with or printed at its first start.`
    case "not_doorhook":
      return `--url ${url}: ${message} Give the address of the service.`
    default:
      return [onOneLine(withFlagNames(message)), ...(remedies[code] === undefined ? [] : [remedies[code]])].join(" ")
  }
}

/** Statuses that mean bad input to the command. */
const badInput: ReadonlyArray<number> = [400, 422]

const whys: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "the name can't be looked up at the moment",
  ECONNRESET: "the connection broke",
  UND_ERR_SOCKET: "the connection was closed without an answer"
}

/** Returns why a call got no answer, and what to do. */
export const whyNoAnswer = ({ url }: Pick<Connection, "url">, error: unknown): string => {
  const cause = Predicate.hasProperty(error, "cause") ? error.cause : error
  const code = Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : ""
  const problem = tlsProblemOf(cause)
  if (problem !== null) return `the TLS handshake failed (${code}). ${commandAdvice[problem]}`
  const said = Predicate.isError(cause) ? cause.message : String(cause)
  const isClosed = code === "UND_ERR_SOCKET" && url.startsWith("http:")
  const hint = isClosed ? `${commandAdvice.perhaps_https} ` : ""
  return `${whys[code] ?? said}. ${hint}Start the service there (npx doorhook serve), or give its address with --url.`
}

const failureOf = (given: Connection, error: unknown, remedies: Remedies): CommandFailure => {
  if (error instanceof DoorhookError) {
    const exitCode = badInput.includes(error.status) ? CommandFailure.usageExitCode : 1
    return new CommandFailure({ exitCode, message: messageFor(given, error, remedies) })
  }
  return new CommandFailure({
    exitCode: 1,
    message: `No answer from ${given.url}: ${whyNoAnswer(given, error)}`
  })
}

/** Calls the API. Fails with one line that says what to do. */
export const ask = <A>(given: Connection, call: (client: OperatorClient) => Promise<A>, remedies: Remedies = {}) =>
  Effect.flatMap(clientOf(given), (client) =>
    Effect.tryPromise({
      try: () => call(client),
      catch: (error) => failureOf(given, error, remedies)
    })
  )

/** Argument for the integration on which a command acts. */
export const integrationArgument = Argument.String("integration").pipe(
  Argument.filter(
    (text) => /^[1-9]\d*$/.test(text),
    () => "must be the id of an integration, like 12"
  ),
  Argument.withDescription("The integration's id, like 12")
)

/**
 * Prints one line. Replaces control characters, because foreign text, like a receiver's answer, must not control the
 * terminal.
 */
export const printLine = (text: string): Effect.Effect<void> => Console.log(onOneLine(text))

export const printJson = (value: unknown): Effect.Effect<void> => Console.log(shownJson(value))

/** Prints a page of a list: its rows, or `none` if it is empty, and the flag for the next page. */
export const printPage = Effect.fnUntraced(function* (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  none: string,
  next: string | null
) {
  for (const line of columns(rows)) yield* printLine(line)
  if (rows.length === 0) yield* printLine(none)
  if (next !== null) yield* printLine(`more: --after ${next}`)
})

/** Makes a flag for an optional text. */
export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional, Flag.map(Option.getOrUndefined))

/** Flag for the order of a list. Its value is that of the API's parameter `order`. */
export const newest = Flag.Boolean("newest").pipe(
  Flag.withDescription("Newest first (default: oldest first)"),
  Flag.withDefault(false),
  Flag.map((isNewest) => (isNewest ? "newest" : undefined))
)

/** The flags of every list. */
export const paging = {
  after: optionalText("after", "Id to continue after"),
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("Maximum number of items to list (1 to 1,000; default 100)"),
    Flag.withDefault(100)
  )
}

/** The flags that search for integrations. */
export const search = {
  client: optionalText("client", "Only integrations that this client created (its client_id)"),
  host: optionalText("host", "Only integrations whose URL has this host, like hooks.example.com"),
  name: optionalText("name", "Only integrations whose name contains this text, in any case")
}

/**
 * Patterns for members (JSON Pointers at the beginning of a problem) and for parameters (in backquotes), with their
 * flags.
 */
const names: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?<=^|\s)\/overrides\/retry\/(\w+)(?:\/\d+)?/g, "--retry $1"],
  [/(?<=^|\s)\/overrides\/allow_targets(?:\/\d+)?/g, "--allow-target"],
  [/(?<=^|\s)\/overrides\/acknowledge/g, "--acknowledge"],
  [/(?<=^|\s)\/redirect_uris(?:\/\d+)?/g, "--redirect-uri"],
  [/(?<=^|\s)\/expires_in/g, "--expires-in"],
  [/(?<=^|\s)\/(status|detail|name|id|overlap|since)\b/g, "--$1"],
  [/`integration_id`/g, "--integration"],
  [/^userId(?=: )|(?<=^|\s)\/user_id\b|`user_id`/g, "--user"],
  [/^client(?=: )|(?<=^|\s)\/client_id\b/g, "--client"],
  [/`event_id`/g, "--event"],
  [/`client_id`/g, "--client"],
  [/`(state|status|host|name|limit|after|since)`/g, "--$1"]
]

const withFlagNames = (message: string): string =>
  names.reduce((text, [pattern, flag]) => text.replaceAll(pattern, flag), message)
