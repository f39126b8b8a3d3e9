/**
 * What stands around all routes: every answer gets its request id, an address that nobody serves a 404, and a defect
 * that no handler caught a 500 without inner detail.
 */
import { Cause, Effect } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { logFailure } from "./FailureLog.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { internalError, notFound } from "./KnownFailures.ts"
import { json, jsonApi } from "./MediaType.ts"
import { BodyTimeout } from "./RequestBody.ts"
import { failureResponse } from "./RequestFailure.ts"
import { withRequestId } from "./RequestId.ts"

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
      if (isRouteNotFound(Cause.squash(cause))) return yield* respond(nothingHere)
      yield* logFailure(null, cause)
      return yield* respond(internalError)
    })
  )

/**
 * The layer that puts this around a router. It also stops effect/http's own line per request: query strings can carry
 * a client's secret.
 */
export const LastResort = HttpRouter.middleware(
  Effect.map(
    HttpSettings,
    ({ bodyTimeout }) =>
      <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        HttpMiddleware.withLoggerDisabled(
          withRequestId(catchAll(handler)).pipe(Effect.provideService(BodyTimeout, bodyTimeout))
        )
  ),
  { global: true }
)
