/**
 * Requests of the web, as hosts give them.
 */
import { Predicate } from "effect"
import { badArgument } from "./Arguments.ts"

/**
 * Throws when it is no web request. A text or a URL is none either: `fetch` of the web takes a method and headers beside it, where
 * this one takes the client's address. Checked by members, because frameworks and test runners have classes of their own.
 */
export const checkWebRequest = (given: unknown): void => {
  const isRequest =
    Predicate.isObject(given) &&
    Predicate.isString(given["method"]) &&
    Predicate.isString(given["url"]) &&
    URL.canParse(given["url"]) &&
    Predicate.hasProperty(given["headers"], "get")
  if (isRequest) return
  throw badArgument(
    "request",
    'a web request, like new Request("http://localhost/health/live")',
    given,
    "; requests of node:http and Express are for doorhook.node"
  )
}
