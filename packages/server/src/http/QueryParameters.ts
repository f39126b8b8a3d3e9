/**
 * Query parameters, read strictly: a parameter that is not known, or is given twice, is refused rather than ignored
 * (JSON:API 1.1 section 5.7), because a filter that silently does nothing answers the wrong question.
 */
import { Array, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { ErrorDetail } from "./RequestFailure.ts"
import { parameterProblem, RequestFailure } from "./RequestFailure.ts"

/** The most problems that are told at once. */
const maxProblems = 20

/** The parameters that were given, by name. */
export type QueryParameters<Name extends string> = Readonly<Partial<Record<Name, string>>>

const nearest = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "This address takes none." : `Accepted here: ${names.join(", ")}.`

/** Reads the query of a request whose accepted parameters are `names`. */
export const readQuery = Effect.fnUntraced(function* <Name extends string>(names: ReadonlyArray<Name>) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const start = request.url.indexOf("?")
  const given: Partial<Record<Name, string>> = {}
  if (start === -1) return given
  const problems = new Map<string, ErrorDetail>()
  for (const [key, value] of new URLSearchParams(request.url.slice(start))) {
    const name = names.find((candidate) => candidate === key)
    if (name === undefined)
      problems.set(key, parameterProblem(key, `The query parameter \`${key}\` is not known. ${nearest(names)}`))
    else if (given[name] === undefined) given[name] = value
    else problems.set(key, parameterProblem(key, `The query parameter \`${key}\` is given more than once.`))
  }
  const errors = [...problems.values()].slice(0, maxProblems)
  if (Array.isReadonlyArrayNonEmpty(errors)) return yield* new RequestFailure({ status: 400, errors, headers: {} })
  return given
})
