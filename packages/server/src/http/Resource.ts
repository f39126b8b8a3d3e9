/**
 * One address and what can be done with it. A method that is not among them is answered with 405 and an `Allow` header
 * (RFC 9110 section 15.5.6), which routing by method alone can't do.
 */
import type { Effect } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RequestFailure } from "./RequestFailure.ts"
import { failure } from "./RequestFailure.ts"

type Answer<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

/** What is done for each method. `HEAD` is answered like `GET`, without the body. */
export type Methods<R> = Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Answer<R>>>>

/** What an `Allow` header says of these methods. */
export const allowed = (methods: Iterable<string>): string =>
  [...methods].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ")

/** A route for every method of an address. `refuse` answers the others. */
export const resource = <R, R2>(
  path: HttpRouter.PathInput,
  methods: Methods<R>,
  refuse: (failure: RequestFailure) => Answer<R2>
) => {
  const handlers = new Map(Object.entries(methods))
  const allow = allowed(handlers.keys())
  const notAllowed = failure(
    405,
    { code: "method_not_allowed", title: "Method not allowed", detail: `Only ${allow} can be used here.` },
    { allow }
  )
  return HttpRouter.route("*", path, (request: HttpServerRequest.HttpServerRequest): Answer<R | R2> => {
    const handler = handlers.get(request.method === "HEAD" ? "GET" : request.method)
    return handler ?? refuse(notAllowed)
  })
}
