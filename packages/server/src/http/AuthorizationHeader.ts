/**
 * Requests with several `Authorization` headers. Servers differ in which of them a program sees: `node:http` shows the first, a web
 * request all in one text. A proxy in front that has judged another one would be got round, so none is taken.
 */
import { Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"
import { failure } from "./RequestFailure.ts"

const name = "authorization"

/**
 * The values of all these headers of a request of `node:http`, whose list has names and values in turns; none of another, or of
 * one without a list, as those are that are made up for a test.
 */
export const authorizationsOf = (source: object): ReadonlyArray<string> => {
  const list: ReadonlyArray<unknown> =
    Predicate.hasProperty(source, "rawHeaders") && Array.isArray(source.rawHeaders) ? source.rawHeaders : []
  return list.flatMap((text, at) => (at % 2 === 0 && String(text).toLowerCase() === name ? [String(list[at + 1])] : []))
}

/** Several in one text. A comma alone is no sign: parameters of other schemes have some between them. */
const several = /^(?:basic|bearer)\s[^,]*,\s*[\w-]+\s|,\s*(?:basic|bearer)\s/i

/** Whether a request has several of these headers. */
export const isRepeated = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean => {
  const value = headers[name]
  return value !== undefined && (several.test(value) || authorizationsOf(source).length > 1)
}

/** RFC 6749 section 5.2, RFC 6750 section 3.1. */
export const repeated = failure(400, {
  code: "invalid_request",
  title: "Several Authorization headers",
  detail: "The Authorization header came more than once. Send it once.",
  source: { header: "Authorization" }
})
