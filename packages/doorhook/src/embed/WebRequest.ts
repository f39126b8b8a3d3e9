/**
 * Checks web requests that hosts pass to `doorhook.fetch`.
 */
import { Predicate } from "effect"
import { DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"

/**
 * Throws if the argument is no web request, or one whose body was read. A text or a URL is refused too: the web's `fetch`
 * takes a method and headers beside it, but this one takes the client's address there. Members are checked instead of the
 * class, because frameworks and test runners have their own classes.
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
      "; requests of node:http and Express are for doorhook.node"
    )
  }
  if (given["bodyUsed"] !== true) return
  throw new DoorhookError(
    "body_consumed",
    "Something in front of doorhook has read the request's body. Give doorhook.fetch the request before that, or read a clone of it."
  )
}
