/**
 * What the lists of the operator API have in common: their query parameters, and how they go on.
 */
import { didYouMean, IntegrationId, parsePositiveInt } from "@doorhook/core"
import type { ListOrder } from "@doorhook/core"
import type { Array } from "effect"
import { Effect, Option } from "effect"
import { pathId } from "./PathId.ts"
import type { QueryParameters } from "./QueryParameters.ts"
import { parameterFailure } from "./RequestFailure.ts"

const defaultLimit = 100
const maxLimit = 1_000

/** Reads one parameter; null when it is not given. An empty one counts as not given. */
export const readParameter = <Name extends string, A>(
  query: QueryParameters<Name>,
  name: Name,
  parse: (text: string) => Option.Option<A>,
  expected: string
) => {
  const text: string | undefined = query[name]
  if (text === undefined || text === "") return Effect.succeed(null)
  return Option.match(parse(text), {
    onNone: () => parameterFailure(name, `\`${name}\` must be ${expected}${expected.endsWith("?") ? "" : "."}`),
    onSome: Effect.succeed
  })
}

/** Reads a number of at most `maxLimit`. */
const parseLimit = (text: string): Option.Option<number> =>
  Option.filter(Option.some(/^\d{1,4}$/.test(text) ? Number(text) : 0), (limit) => limit >= 1 && limit <= maxLimit)

/** How many are asked for. */
export const readLimit = (query: QueryParameters<"limit">) =>
  Effect.map(
    readParameter(query, "limit", parseLimit, `a whole number from 1 to ${maxLimit}`),
    (limit) => limit ?? defaultLimit
  )

/** After which one to go on; null is from the beginning. */
export const readAfter = <A>(query: QueryParameters<"after">, parse: (text: string) => Option.Option<A>) =>
  readParameter(query, "after", parse, "the `next` of an earlier answer")

/** Reads one of a few words. */
export const readChoice = <Name extends string, Choice extends string>(
  query: QueryParameters<Name>,
  name: Name,
  choices: ReadonlyArray<Choice>
) => {
  const text: string | undefined = query[name]
  const meant = text === undefined ? "" : didYouMean(text, choices)
  const parse = (given: string) => Option.fromUndefinedOr(choices.find((choice) => choice === given))
  return readParameter(query, name, parse, `${choices.join(choices.length === 2 ? " or " : ", ")}${meant}`)
}

/** Reads some of a few words, with commas between them. */
export const readChoices = <Name extends string, Choice extends string>(
  query: QueryParameters<Name>,
  name: Name,
  choices: ReadonlyArray<Choice>
) => {
  const given = new Set((query[name] ?? "").split(",").map((word: string) => word.trim()))
  const unknown = [...given].find((word) => !choices.some((choice) => choice === word))
  const meant = unknown === undefined ? "" : didYouMean(unknown, choices)
  const [first, ...others] = choices.filter((choice) => given.has(choice))
  const chosen =
    first === undefined || unknown !== undefined
      ? Option.none<Array.NonEmptyReadonlyArray<Choice>>()
      : Option.some<Array.NonEmptyReadonlyArray<Choice>>([first, ...others])
  return readParameter(query, name, () => chosen, `${choices.join(", ")}, or several of them with commas${meant}`)
}

const orders = ["oldest", "newest"] as const satisfies ReadonlyArray<ListOrder>

/** Which comes first; the oldest, unless it is said. */
export const readOrder = (query: QueryParameters<"order">) =>
  Effect.map(readChoice(query, "order", orders), (order) => order ?? "oldest")

export const parseIntegrationId = (text: string): Option.Option<IntegrationId> => parsePositiveInt(IntegrationId, text)

/** Whose is asked for; null is of all. */
export const readIntegrationId = (query: QueryParameters<"integration_id">) =>
  readParameter(query, "integration_id", parseIntegrationId, "the id of an integration, like 12")

/** The integration that the path names. */
export const integrationId = pathId("id", parseIntegrationId, "an integration")

/** A page, and the one after which the next begins; null when there is no more. */
export const pageOf = <A, E, R>(limit: number, list: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>) =>
  // One more than asked for tells whether there are more.
  Effect.map(list(limit + 1), (found) => {
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1) ?? null) : null }
  })
