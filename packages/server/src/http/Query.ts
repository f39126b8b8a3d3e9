/**
 * Reads query parameters and ids in paths. A failure lists all unknown and repeated parameters. If there are none, it
 * lists all parameters with invalid values.
 */
import { didYouMean, IntegrationId, isHost, parsePositiveInt } from "@doorhook/core"
import type { IntegrationSearch, ListOrder } from "@doorhook/core"
import { Array, Effect, Exit, Option } from "effect"
import type { ErrorDetail } from "./Failures.ts"
import { internalError, notFound, parameterFailure, parameterProblem, RequestFailure } from "./Failures.ts"
import type { Params } from "./Route.ts"

/** Maximum number of problems in one answer. */
const maxProblems = 20

/** The parameters of a query by name. */
export type QueryParameters<Name extends string> = Readonly<Partial<Record<Name, string>>>

/** A parsed part of a request, or the reason to refuse the request. */
export type Read<A> = Exit.Exit<A, RequestFailure>

/** Combines named results. If some of them are failures, fails with all their problems. */
export function all<A extends object>(reads: { readonly [Name in keyof A]: Read<A[Name]> }): Read<A>
export function all(reads: Readonly<Record<string, Read<unknown>>>): Read<unknown> {
  const values: Record<string, unknown> = {}
  const failures: Array<RequestFailure> = []
  for (const [name, read] of Object.entries(reads)) {
    if (Exit.isSuccess(read)) values[name] = read.value
    else failures.push(Option.getOrElse(Exit.findErrorOption(read), () => internalError))
  }
  const [first, ...others] = failures
  if (first === undefined) return Exit.succeed(values)
  const { errors, headers, status } = first
  return Exit.fail(
    new RequestFailure({ status, errors: [...errors, ...others.flatMap((other) => other.errors)], headers })
  )
}

const accepted = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "This address accepts no query parameters." : `Accepted here: ${names.join(", ")}.`

/**
 * Parses a query. Fails if parameters are repeated or not in `names`. The values of a parameter that may be repeated are
 * joined by commas.
 */
export const parseQuery = <Name extends string>(
  query: string,
  names: ReadonlyArray<Name>,
  repeatable: ReadonlyArray<Name> = []
): Read<QueryParameters<Name>> => {
  const given: Partial<Record<Name, string>> = {}
  if (query === "") return Exit.succeed(given)
  const problems = new Map<string, ErrorDetail>()
  for (const [key, value] of new URLSearchParams(query)) {
    const name = names.find((candidate) => candidate === key)
    if (name === undefined)
      problems.set(key, parameterProblem(key, `The query parameter \`${key}\` is unknown. ${accepted(names)}`))
    else if (given[name] === undefined) given[name] = value
    else if (repeatable.includes(name)) given[name] = `${given[name]},${value}`
    else problems.set(key, parameterProblem(key, `The query parameter \`${key}\` is given more than once.`))
  }
  const errors = [...problems.values()].slice(0, maxProblems)
  if (Array.isReadonlyArrayNonEmpty(errors)) return Exit.fail(new RequestFailure({ status: 400, errors, headers: {} }))
  return Exit.succeed(given)
}

const defaultLimit = 100
const maxLimit = 1_000

/** Reads one parameter; null if it is missing or empty. */
export const readParameter = <Name extends string, A>(
  query: QueryParameters<Name>,
  name: Name,
  parse: (text: string) => Option.Option<A>,
  expected: string
): Read<A | null> => {
  const text: string | undefined = query[name]
  if (text === undefined || text === "") return Exit.succeed(null)
  return Option.match(parse(text), {
    onNone: () =>
      Exit.fail(parameterFailure(name, `\`${name}\` must be ${expected}${expected.endsWith("?") ? "" : "."}`)),
    onSome: Exit.succeed
  })
}

/** Reads a number from 1 to `maxLimit`. */
const parseLimit = (text: string): Option.Option<number> =>
  Option.filter(Option.some(/^\d{1,4}$/.test(text) ? Number(text) : 0), (limit) => limit >= 1 && limit <= maxLimit)

/** Reads the maximum number of items. */
export const readLimit = (query: QueryParameters<"limit">): Read<number> =>
  Exit.map(
    readParameter(query, "limit", parseLimit, `a whole number from 1 to ${maxLimit}`),
    (limit) => limit ?? defaultLimit
  )

/** Reads the cursor of a page; null for the beginning. */
export const readAfter = <A>(query: QueryParameters<"after">, parse: (text: string) => Option.Option<A>) =>
  readParameter(query, "after", parse, "the `next` of an earlier answer")

/** Reads one of several words. */
export const readChoice = <Name extends string, Choice extends string>(
  query: QueryParameters<Name>,
  name: Name,
  choices: ReadonlyArray<Choice>
): Read<Choice | null> => {
  const text: string | undefined = query[name]
  const meant = text === undefined ? "" : didYouMean(text, choices)
  const parse = (given: string) => Option.fromUndefinedOr(choices.find((choice) => choice === given))
  return readParameter(query, name, parse, `${choices.join(choices.length === 2 ? " or " : ", ")}${meant}`)
}

/** Reads a comma-separated list of words. */
export const readChoices = <Name extends string, Choice extends string>(
  query: QueryParameters<Name>,
  name: Name,
  choices: ReadonlyArray<Choice>
): Read<Array.NonEmptyReadonlyArray<Choice> | null> => {
  const given = new Set((query[name] ?? "").split(",").map((word: string) => word.trim()))
  const unknown = [...given].find((word) => !choices.some((choice) => choice === word))
  const meant = unknown === undefined ? "" : didYouMean(unknown, choices)
  const [first, ...others] = choices.filter((choice) => given.has(choice))
  const chosen =
    first === undefined || unknown !== undefined
      ? Option.none<Array.NonEmptyReadonlyArray<Choice>>()
      : Option.some<Array.NonEmptyReadonlyArray<Choice>>([first, ...others])
  return readParameter(
    query,
    name,
    () => chosen,
    `${choices.join(", ")}, or several of them separated by commas${meant}`
  )
}

const orders = ["oldest", "newest"] as const satisfies ReadonlyArray<ListOrder>

/** Reads the order of a list. Default: oldest first. */
export const readOrder = (query: QueryParameters<"order">): Read<ListOrder> =>
  Exit.map(readChoice(query, "order", orders), (order) => order ?? "oldest")

export const parseIntegrationId = (text: string): Option.Option<IntegrationId> => parsePositiveInt(IntegrationId, text)

/** Reads the integration to filter by; null for all. */
export const readIntegrationId = (query: QueryParameters<"integration_id">): Read<IntegrationId | null> =>
  readParameter(query, "integration_id", parseIntegrationId, "the id of an integration, like 12")

/** The parameters that search for integrations. */
export const searchParameters = ["client_id", "host", "name"] as const

/** Reads a search for integrations. */
export const readSearch = (query: QueryParameters<(typeof searchParameters)[number]>): Read<IntegrationSearch> => {
  const host = readParameter(
    query,
    "host",
    Option.liftPredicate(isHost),
    "the host of a URL, like hooks.example.com, 192.0.2.7 or hooks.example.com:8443"
  )
  const { client_id, name } = query
  return Exit.map(host, (found) => ({
    ...(client_id !== undefined && client_id !== "" && { client_id }),
    ...(found !== null && { host: found }),
    ...(name !== undefined && name !== "" && { name })
  }))
}

/**
 * Reads an id in the path. Fails with 404 if the text is not an id. `what` completes the sentence "... is not the id
 * of".
 */
export const pathId = <A>(
  params: Params,
  name: string,
  parse: (text: string) => Option.Option<A>,
  what: string
): Read<A> => {
  const text = params[name] ?? ""
  return Option.match(parse(text), {
    onNone: () => Exit.fail(notFound(`${JSON.stringify(text)} is not the id of ${what}.`)),
    onSome: Exit.succeed
  })
}

/** Reads the integration in the path. */
export const integrationIdIn = (params: Params): Read<IntegrationId> =>
  pathId(params, "id", parseIntegrationId, "an integration")

/** Reads a page of items. `next` is the last item if there is another page, else null. */
export const pageOf = <A, E, R>(limit: number, list: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>) =>
  // One item more than the limit shows whether there is another page.
  Effect.map(list(limit + 1), (found) => {
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1) ?? null) : null }
  })
