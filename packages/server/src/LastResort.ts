/**
 * What stands around all routes: every answer gets its request id and is taken for what it says it is, an address that
 * nobody serves gets a 404, credentials that came twice a 400, and a defect that no handler caught a 500 without inner detail.
 */
import { Cause, Context, Effect, References } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ApiSettings } from "./api/ApiSettings.ts"
import * as AuthorizationHeader from "./http/AuthorizationHeader.ts"
import { logFailure } from "./http/FailureLog.ts"
import { HttpSettings } from "./http/HttpSettings.ts"
import { ownRequests } from "./OwnPaths.ts"
import { internalError, notFound, nothingHere } from "./http/KnownFailures.ts"
import { json, jsonApi, negotiate } from "./http/MediaType.ts"
import { isPlainlySpelled } from "./http/PathSpelling.ts"
import { BodyTimeout } from "./http/RequestBody.ts"
import type { RequestFailure } from "./http/RequestFailure.ts"
import { failureResponse } from "./http/RequestFailure.ts"
import * as OAuthAnswers from "./oauth/Answers.ts"
import { RequestId, requestIdHeader, requestIdOf } from "./http/RequestId.ts"

const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Who opens the address that a service prints wants to know where to go on. */
const atRoot = notFound(
  "This is a doorhook service. Its console is at /console, the description of its API at /openapi.json."
)

/** The media type that an address nobody serves answers in: that of its neighbours. */
const mediaTypeFor = ({ headers, url }: HttpServerRequest.HttpServerRequest, plainJson: boolean): string =>
  /^\/v4(?:[/?]|$)/.test(url) && !plainJson ? (negotiate(headers["accept"]) ?? jsonApi) : json

/** Answers with a failure that is no handler's, as the neighbours of the address do (RFC 6749 section 5.2). */
const tell = Effect.fnUntraced(function* (failure: RequestFailure, plainJson: boolean) {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (/^\/(?:oauth|\.well-known\/oauth-authorization-server)(?:[/?]|$)/.test(request.url))
    return OAuthAnswers.failure(failure.status, failure.message)
  const response = yield* failureResponse(mediaTypeFor(request, plainJson))(failure)
  return HttpServerResponse.setHeaders(response, { "cache-control": "no-store", vary: "Accept" })
})

/** Answers what no handler has answered. */
const catchAll = <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>, plainJson: boolean) =>
  Effect.catchCause(
    handler,
    Effect.fnUntraced(function* (cause) {
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
      if (isRouteNotFound(Cause.squash(cause))) {
        const { url } = yield* HttpServerRequest.HttpServerRequest
        return yield* tell(url === "/" ? atRoot : nothingHere, plainJson)
      }
      yield* logFailure(null, cause)
      return yield* tell(internalError, plainJson)
    })
  )

/**
 * The layer that puts this around a router: all that every request has, laid over its context in one step. It also stops
 * effect/http's own line per request: query strings can carry a client's secret. A host's own requests pass through.
 */
export const LastResort = HttpRouter.middleware(
  Effect.gen(function* () {
    const { bodyTimeout } = yield* HttpSettings
    const { plainJson } = yield* ApiSettings
    const isOurs = yield* ownRequests
    return <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => {
      const answered = HttpMiddleware.withLoggerDisabled(catchAll(handler, plainJson))
      const misspelled = HttpMiddleware.withLoggerDisabled(tell(nothingHere, plainJson))
      const ambiguous = HttpMiddleware.withLoggerDisabled(tell(AuthorizationHeader.repeated, plainJson))
      return Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        if (!isOurs(request.url)) return handler
        const id = requestIdOf(request, fiber)
        const annotations = { ...fiber.getRef(References.CurrentLogAnnotations), request_id: id }
        return Effect.updateContext(
          !isPlainlySpelled(request.url) ? misspelled : AuthorizationHeader.isRepeated(request) ? ambiguous : answered,
          (context: Context.Context<R | HttpServerRequest.HttpServerRequest>) =>
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
  }),
  { global: true }
)

const asNobodys = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
  Effect.die(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))
)

/**
 * Keeps doorhook's routes from being reached by an address that is not taken for theirs, and so passes all of this: a router
 * reads `/%6fperator/events` as `/operator/events`, one that is set so `/Operator/events` too, and one of a host may have all
 * of them under a prefix that nobody has told. A request that was taken for theirs has an id.
 */
export const OwnAddresses = HttpRouter.middleware(
  <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.withFiber<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>((fiber) =>
      fiber.getRef(RequestId) === "" ? asNobodys : handler
    )
).layer
