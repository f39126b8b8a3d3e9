/**
 * Requests with several `Authorization` headers. Servers differ in which of them a program sees: `node:http` shows the first, a web
 * request all in one text. A proxy in front that has judged another one would be got round, so none is taken.
 */
import { Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"
import { failure } from "./RequestFailure.ts"

const name = "authorization"

/** How often a request of `node:http` has the header; its list has names and values in turns. */
const timesIn = (source: object): number =>
  Predicate.hasProperty(source, "rawHeaders") && Array.isArray(source.rawHeaders)
    ? source.rawHeaders.filter((text, at) => at % 2 === 0 && String(text).toLowerCase() === name).length
    : 1

/** Several in one text. A comma alone is no sign: parameters of other schemes have some between them. */
const several = /^(?:basic|bearer)\s[^,]*,\s*[\w-]+\s|,\s*(?:basic|bearer)\s/i

/** Whether a request has several of these headers. */
export const isRepeated = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean => {
  const value = headers[name]
  return value !== undefined && (several.test(value) || timesIn(source) > 1)
}

/** RFC 6749 section 5.2, RFC 6750 section 3.1. */
export const repeated = failure(400, {
  code: "invalid_request",
  title: "Several Authorization headers",
  detail: "The Authorization header came more than once. Send it once.",
  source: { header: "Authorization" }
})
