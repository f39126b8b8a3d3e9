/**
 * What stands around all routes: every answer gets its request id and is taken for what it says it is, an address that
 * nobody serves gets a 404, and a defect that no handler caught a 500 without inner detail.
 */
import { Cause, Context, Effect, References } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { logFailure } from "./FailureLog.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { internalError, notFound } from "./KnownFailures.ts"
import { json, jsonApi } from "./MediaType.ts"
import { BodyTimeout } from "./RequestBody.ts"
import { failureResponse } from "./RequestFailure.ts"
import { RequestId, requestIdHeader, requestIdOf } from "./RequestId.ts"

const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

const nothingHere = notFound("Nothing is served at this address.")

/** Answers what no handler has answered. */
const catchAll = <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.catchCause(
    handler,
    Effect.fnUntraced(function* (cause) {
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
      const request = yield* HttpServerRequest.HttpServerRequest
      const respond = failureResponse(request.url.startsWith("/v4/") ? jsonApi : json)
      const isUnknown = isRouteNotFound(Cause.squash(cause))
      if (!isUnknown) yield* logFailure(null, cause)
      const response = yield* respond(isUnknown ? nothingHere : internalError)
      return HttpServerResponse.setHeader(response, "cache-control", "no-store")
    })
  )

/**
 * The layer that puts this around a router: all that every request has, laid over its context in one step. It also stops
 * effect/http's own line per request: query strings can carry a client's secret.
 */
export const LastResort = HttpRouter.middleware(
  Effect.map(
    HttpSettings,
    ({ bodyTimeout }) =>
      <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => {
        const answered = HttpMiddleware.withLoggerDisabled(catchAll(handler))
        return Effect.withFiber((fiber) => {
          const id = requestIdOf(Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest), fiber)
          const annotations = { ...fiber.getRef(References.CurrentLogAnnotations), request_id: id }
          return Effect.updateContext(answered, (context: Context.Context<R | HttpServerRequest.HttpServerRequest>) =>
            context.pipe(
              Context.add(RequestId, id),
              Context.add(References.CurrentLogAnnotations, annotations),
              Context.add(BodyTimeout, bodyTimeout)
            )
          ).pipe(
            Effect.map(HttpServerResponse.setHeaders({ [requestIdHeader]: id, "x-content-type-options": "nosniff" }))
          )
        })
      }
  ),
  { global: true }
)
