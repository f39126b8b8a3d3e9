/**
 * Checks web requests that hosts pass to `doorhook.fetch`.
 */
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"

/**
 * Throws if the argument is not a web request, or if its body was read. A string or a URL is refused: unlike the global
 * `fetch`, `doorhook.fetch` has no second argument for method and headers. Members are checked instead of the class,
 * because frameworks and test runners have their own classes.
 */
export const checkWebRequest = (given: unknown): void => {
  const isRequest =
    Predicate.isObject(given) &&
    Predicate.isString(given["method"]) &&
    Predicate.isString(given["url"]) &&
    URL.canParse(given["url"]) &&
    Predicate.hasProperty(given["headers"], "get")
  if (!isRequest) {
    throw badArgument(
      "request",
      'a web request, like new Request("http://localhost/health/live")',
      given,
      "; pass requests of node:http and Express to doorhook.node"
    )
  }
  if (given["bodyUsed"] !== true) return
  throw new DoorhookError(
    "body_consumed",
    "Something read the request's body before doorhook. Call doorhook.fetch before that, or read a clone of the request."
  )
}
