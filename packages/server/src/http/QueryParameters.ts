/**
 * Query parameters, read strictly: a parameter that is not known, or is given twice, is refused rather than ignored
 * (JSON:API 1.1 section 5.7), because a filter that silently does nothing answers the wrong question.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { parameterFailure } from "./RequestFailure.ts"

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
  for (const [key, value] of new URLSearchParams(request.url.slice(start))) {
    const name = names.find((candidate) => candidate === key)
    if (name === undefined) {
      return yield* parameterFailure(key, `The query parameter \`${key}\` is not known. ${nearest(names)}`)
    }
    if (given[name] !== undefined) {
      return yield* parameterFailure(key, `The query parameter \`${key}\` is given more than once.`)
    }
    given[name] = value
  }
  return given
})
