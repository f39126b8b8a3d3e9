/**
 * What every operation of `/v4` has in common: who calls, in which media type to answer, which query parameters there
 * may be, and how failures are told.
 */
import { AuthorizationServer } from "@doorhook/core"
import type { Principal } from "@doorhook/core"
import { Context, Effect, Layer, Predicate } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as BearerToken from "../http/BearerToken.ts"
import type { KnownError } from "../http/KnownFailures.ts"
import { recover } from "../http/KnownFailures.ts"
import * as MediaType from "../http/MediaType.ts"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { readQuery } from "../http/QueryParameters.ts"
import type { RequestFailure } from "../http/RequestFailure.ts"
import { failure, failureResponse } from "../http/RequestFailure.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { makeRateLimit } from "./RateLimit.ts"

/** What an operation answers with. */
export interface Answer {
  readonly status: number
  /** The JSON:API document, or its text where a part of it must not be encoded anew; none with 204. */
  readonly document?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** An operation of the API, for a caller who is known. */
export type Operation<Name extends string, R> = (
  caller: Principal,
  query: QueryParameters<Name>
) => Effect.Effect<Answer, KnownError, R>

type Request = HttpServerRequest.HttpServerRequest
type Response<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

const notAcceptable = failure(406, {
  code: "not_acceptable",
  title: "No media type in common",
  detail: `Answers come as ${MediaType.jsonApi}, without parameters, or as ${MediaType.json}.`,
  source: { header: "Accept" }
})

const unauthorized = (presented: BearerToken.Presented): RequestFailure =>
  failure(
    401,
    {
      code: "unauthorized",
      title: "Unauthorized",
      detail:
        presented._tag === "Absent"
          ? "Send an access token: `Authorization: Bearer <token>`."
          : "The access token is not valid or has expired. Get a new one with the refresh token."
    },
    { "www-authenticate": BearerToken.challenge(presented) }
  )

/**
 * Makes the handlers of operations. One for the whole API, as it counts requests.
 *
 * @effect-expect-leaking HttpServerRequest
 */
export class ApiEndpoint extends Context.Service<
  ApiEndpoint,
  {
    /** The handler of an operation that accepts these query parameters. */
    readonly operation: <Name extends string, R>(
      names: ReadonlyArray<Name>,
      run: Operation<Name, R>
    ) => Response<R | Request>
    /** The handler of an operation that answers everybody alike and takes no query parameters. */
    readonly open: (answer: Answer) => Response<Request>
    /** Answers with a failure. */
    readonly refuse: (failure: RequestFailure) => Response<Request>
  }
>()("@doorhook/server/api/ApiEndpoint") {
  static readonly layer: Layer.Layer<ApiEndpoint, never, AuthorizationServer | ApiSettings> = Layer.effect(
    ApiEndpoint,
    Effect.gen(function* () {
      const authorization = yield* AuthorizationServer
      const settings = yield* ApiSettings
      const countRequest = makeRateLimit(settings.requestsPerMinute)

      const authenticate = Effect.fnUntraced(function* (request: Request) {
        const presented = BearerToken.read(request.headers["authorization"])
        if (presented._tag !== "Token") return yield* unauthorized(presented)
        const caller = yield* authorization.authenticate(presented.token)
        return caller ?? (yield* unauthorized(presented))
      })

      const negotiate = (request: Request) =>
        settings.plainJson ? MediaType.json : MediaType.negotiate(request.headers["accept"])

      /** Headers of every answer. */
      const common = { vary: "Accept", "cache-control": "no-store" } as const

      /** Runs a handler and answers in the media type that the client takes; null is none. */
      const respond = <R>(
        run: (request: Request, mediaType: MediaType.ApiMediaType | null) => Effect.Effect<Answer, RequestFailure, R>
      ) =>
        Effect.withFiber<HttpServerResponse.HttpServerResponse, never, R | Request>((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const mediaType = negotiate(request)
          const contentType = mediaType ?? MediaType.jsonApi
          return Effect.matchEffect(run(request, mediaType), {
            onSuccess: ({ document, headers, status }) =>
              Effect.succeed(
                document === undefined
                  ? HttpServerResponse.empty({ status, headers: { ...headers, ...common } })
                  : HttpServerResponse.text(Predicate.isString(document) ? document : JSON.stringify(document), {
                      status,
                      headers: { ...headers, ...common },
                      contentType
                    })
              ),
            onFailure: (refusal) =>
              Effect.map(failureResponse(contentType)(refusal), HttpServerResponse.setHeaders(common))
          })
        })

      return ApiEndpoint.of({
        operation: (names, run) =>
          respond(
            Effect.fnUntraced(function* (request, mediaType) {
              const caller = yield* recover(authenticate(request))
              const limits = yield* countRequest(caller.grant_id)
              const answered =
                mediaType === null ? notAcceptable : Effect.flatMap(readQuery(names), (query) => run(caller, query))
              return yield* Effect.mapBoth(recover(answered), {
                onSuccess: (answer): Answer => ({ ...answer, headers: { ...limits, ...answer.headers } }),
                onFailure: (refusal) => refusal.with(limits)
              })
            })
          ),
        open: (answer) =>
          respond(
            Effect.fnUntraced(function* (_, mediaType) {
              if (mediaType === null) return yield* notAcceptable
              yield* readQuery([])
              return answer
            })
          ),
        refuse: (refusal) => respond(() => Effect.fail(refusal))
      })
    })
  )
}
