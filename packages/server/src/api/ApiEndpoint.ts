/**
 * Common parts of all `/v4` operations: access tokens and their scope, the rate limit, media types, and the format of
 * failures.
 */
import { apiPath, AuthorizationServer, makeMinuteCounter, mcpPath, minuteWindow, publicScope } from "@doorhook/core"
import type { FeedHub, Feeds, OwnApi, Principal } from "@doorhook/core"
import { Clock, Context, Effect, Exit } from "effect"
import { insufficientScope, readBearer, unauthorized } from "../http/Credentials.ts"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError, RequestFailure } from "../http/Failures.ts"
import { failure, failureBody } from "../http/Failures.ts"
import * as MediaType from "../http/MediaType.ts"
import { resourceMetadataUrl } from "../http/OwnPaths.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { QueryParameters } from "../http/Query.ts"
import { parseQuery } from "../http/Query.ts"
import type { Answer, Face, Method, Params, Pieces, Route } from "../http/Route.ts"
import { ApiSettings } from "./ApiSettings.ts"
import { FeedStreams } from "./FeedStreams.ts"

type Headers = Readonly<Record<string, string>>

/** The result of an operation. */
export interface Reply {
  readonly status: number
  /** The JSON:API document; absent with status 204. */
  readonly document?: string | Pieces
  readonly headers?: Headers
}

/** A request to an operation, with the user and the client of its access token. */
interface Call<Name extends string> {
  readonly caller: Principal
  readonly query: QueryParameters<Name>
  readonly params: Params
  readonly x: Exchange
}

/** An operation of the API. */
interface Operation<Name extends string> {
  /** Name in the OpenAPI description. */
  readonly operation: string
  readonly method: Method
  readonly path: `/v4/${string}`
  /** Accepted query parameters; none by default. */
  readonly query?: ReadonlyArray<Name>
  /** Parameters that may be given more than once. Their values are joined by commas. */
  readonly repeatable?: ReadonlyArray<Name>
  readonly run: (call: Call<Name>) => Effect.Effect<Reply, KnownError>
  /**
   * Answers clients that ask for an event stream, if there is one. `again` identifies the caller again; null if the token
   * is no longer valid.
   */
  readonly stream?: (
    call: Call<Name> & { readonly again: Effect.Effect<Principal | null, KnownError> }
  ) => Effect.Effect<Pieces, KnownError>
}

const notAcceptable = failure(406, {
  code: "not_acceptable",
  title: "No acceptable media type",
  detail: `Accept ${MediaType.jsonApi}, without parameters, or ${MediaType.json}.`,
  source: { header: "Accept" }
})

/** The rate limit headers for a request (draft-ietf-httpapi-ratelimit-headers), or the refusal of the request. */
type Limited = Exit.Exit<Headers, RequestFailure>

const unlimited: Limited = Exit.succeed({})

/**
 * Limits an authorization's requests per minute in this process. Requests are counted by grant rather than by token, so
 * that refreshing the token does not reset the count.
 */
const makeRateLimit = (limit: number | null, now: () => number): ((grant: string) => Limited) => {
  if (limit === null) return () => unlimited
  const countOf = makeMinuteCounter()
  const policy = `"default";q=${limit};w=${minuteWindow / 1_000}`
  return (grant) => {
    const { count, seconds } = countOf(grant, now())
    const headers = {
      "ratelimit-policy": policy,
      ratelimit: `"default";r=${Math.max(0, limit - count)};t=${seconds}`
    }
    if (count <= limit) return Exit.succeed(headers)
    return Exit.fail(
      failure(
        429,
        {
          code: "rate_limited",
          title: "Too many requests",
          detail: `At most ${limit} requests per minute are allowed. Try again in ${seconds} s.`
        },
        { ...headers, "retry-after": String(seconds) }
      )
    )
  }
}

/** Headers sent with every answer. */
const common = { vary: "Accept", "cache-control": "no-store" } as const

/**
 * Headers of event streams. Without `no-transform`, a host's compression would collect events; without
 * `X-Accel-Buffering`, nginx would.
 */
export const streamHeaders = {
  "content-type": MediaType.eventStream,
  vary: "Accept",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no"
} as const

export interface ApiEndpoint {
  /** The format of the API's failures. */
  readonly face: Face
  /**
   * Returns the caller of a request to one of doorhook's own APIs, and counts the request. Fails without an access token
   * for this API that has the scope `public`.
   */
  readonly admit: (x: Exchange, api: OwnApi) => Effect.Effect<Principal, KnownError>
  /** Identifies the caller of a request again; null if the token is no longer valid. Counts nothing. */
  readonly identify: (x: Exchange, api: OwnApi) => Effect.Effect<Principal | null, KnownError>
  /** The event streams of this process. */
  readonly streams: FeedStreams
  /** Makes the route of an operation that needs an access token. */
  readonly operation: <Name extends string>(operation: Operation<Name>) => Route
  /** Makes the route of a public document, which needs no access token. The document is made at the first request. */
  readonly open: (operation: string, path: `/v4/${string}`, document: () => string) => Route
}

type ApiServices = AuthorizationServer | ApiSettings | FeedHub | Feeds | PublicUrl

/**
 * Makes the factory of the API's routes. All routes must share one factory, because it counts requests for the rate
 * limit.
 */
export const makeApiEndpoint: Effect.Effect<ApiEndpoint, never, ApiServices> = Effect.gen(function* () {
  const authorization = yield* AuthorizationServer
  const streams = yield* FeedStreams.make
  const publicUrl = yield* PublicUrl
  const { plainJson, requestsPerMinute } = yield* ApiSettings
  const clock = Context.get(yield* Effect.context<never>(), Clock.Clock)
  const countRequest = makeRateLimit(requestsPerMinute, () => clock.currentTimeMillisUnsafe())

  /** Chooses the media type of the answer; null if the client accepts none that doorhook supports. */
  const negotiate = (x: Exchange): MediaType.ApiMediaType | null =>
    plainJson ? MediaType.json : MediaType.negotiate(x.header("accept"))

  const face: Face = {
    refuse: (x, refusal) =>
      Exit.succeed({
        status: refusal.status,
        headers: { "content-type": negotiate(x) ?? MediaType.jsonApi, ...refusal.headers, ...common },
        body: failureBody(x.id, refusal)
      })
  }

  const identify = (x: Exchange, api: OwnApi): Effect.Effect<Principal | null, KnownError> => {
    const presented = readBearer(x.header("authorization"))
    // Only `/v4` is older than bound tokens.
    const audience = { resource: publicUrl.url + api, acceptsUnbound: api === apiPath }
    return presented._tag === "Token" ? authorization.authenticate(presented.token, audience) : Exit.succeed(null)
  }

  const authenticate = (x: Exchange, api: OwnApi): Effect.Effect<Principal, KnownError> => {
    const presented = readBearer(x.header("authorization"))
    const metadata = () => resourceMetadataUrl(publicUrl.url, api)
    return Effect.flatMapEager(identify(x, api), (caller) => {
      if (caller === null)
        return Exit.fail(unauthorized(presented, metadata(), api === mcpPath ? publicScope : undefined))
      return caller.scopes.includes(publicScope)
        ? Exit.succeed(caller)
        : Exit.fail(insufficientScope(publicScope, metadata()))
    })
  }

  const admit = (x: Exchange, api: OwnApi): Effect.Effect<Principal, KnownError> =>
    Effect.flatMapEager(authenticate(x, api), (caller) =>
      Exit.map(countRequest(caller.grant_id), (limits) => {
        x.also = limits
        x.client = `grant ${caller.grant_id}`
        return caller
      })
    )

  const answerWith =
    (mediaType: MediaType.ApiMediaType) =>
    ({ document, headers, status }: Reply): Answer =>
      document === undefined
        ? { status, headers: { ...headers, ...common }, body: null }
        : { status, headers: { "content-type": mediaType, ...headers, ...common }, body: document }

  return {
    face,
    admit,
    identify,
    streams,
    operation: <Name extends string>({
      method,
      operation,
      path,
      query: names = [],
      repeatable = [],
      run,
      stream
    }: Operation<Name>): Route => ({
      method,
      path,
      face,
      operation,
      query: names,
      crossOrigin: true,
      handle: (x, params) =>
        Effect.flatMapEager(admit(x, apiPath), (caller) => {
          if (stream !== undefined && MediaType.prefersStream(x.header("accept"))) {
            const pieces = Effect.flatMapEager(parseQuery(x.query, names, repeatable), (query) =>
              stream({ caller, query, params, x, again: Effect.suspend(() => identify(x, apiPath)) })
            )
            return Effect.mapEager(pieces, (body): Answer => ({ status: 200, headers: streamHeaders, body }))
          }
          const mediaType = negotiate(x)
          if (mediaType === null) return Exit.fail(notAcceptable)
          const reply = Effect.flatMapEager(parseQuery(x.query, names, repeatable), (query) =>
            run({ caller, query, params, x })
          )
          return Effect.mapEager(reply, answerWith(mediaType))
        })
    }),
    open: (operation, path, make) => {
      let known: string | null = null
      return {
        method: "GET",
        path,
        face,
        operation,
        crossOrigin: true,
        handle: (x) => {
          const mediaType = negotiate(x)
          if (mediaType === null) return Exit.fail(notAcceptable)
          return Exit.map(parseQuery(x.query, []), () => {
            known ??= make()
            return answerWith(mediaType)({ status: 200, document: known })
          })
        }
      }
    }
  }
})
