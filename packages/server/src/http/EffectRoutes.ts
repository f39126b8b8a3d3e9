/**
 * The surface in a router of Effect's, beside routes of the host's own.
 */
import { ByteSize, Context, Effect, Layer, Option, Predicate } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { BodySource, Incoming } from "./Exchange.ts"
import { authorizationsIn, declaredLength, originForm } from "./Exchange.ts"
import { HttpSurface } from "./HttpSurface.ts"
import { isOwnPath, metadataPath, ownPaths, ownPrefixes } from "./OwnPaths.ts"
import { PublicUrl } from "./PublicUrl.ts"
import type { Answer } from "./Route.ts"

/**
 * A path has one spelling, as a rule of a proxy in front (`deny /operator/`) knows it. An id in it may be as long as a client's,
 * each of its characters escaped.
 */
export const routerConfig = { caseSensitive: true, ignoreDuplicateSlashes: false, maxParamLength: 3 * 255 } as const

/** A target without the path of the public URL, under which a host may have these routes. */
const withoutPrefix = (target: string, publicUrl: string): string => {
  const at = publicUrl.indexOf("/", publicUrl.indexOf("//") + 2)
  const prefix = at === -1 ? "" : publicUrl.slice(at)
  return prefix !== "" && target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : target
}

/**
 * The target of a request as doorhook has it; null where it is the host's. A router under a prefix takes that off, so the whole
 * target is looked at.
 */
const ownTarget = ({ originalUrl }: HttpServerRequest.HttpServerRequest, publicUrl: string): string | null => {
  const target = originForm(originalUrl)
  const inner = withoutPrefix(target, publicUrl)
  return [target, inner].find((candidate) => isOwnPath(candidate, publicUrl)) ?? null
}

const rawHeadersOf = (source: unknown): ReadonlyArray<string> =>
  Predicate.hasProperty(source, "rawHeaders") && Array.isArray(source.rawHeaders) ? source.rawHeaders.map(String) : []

/** A body that Effect reads. `run` runs it in the request's fiber's context. */
const bodyOf = (
  request: HttpServerRequest.HttpServerRequest,
  run: (effect: Effect.Effect<void>) => () => void
): BodySource => ({
  declared: declaredLength(request.headers["content-length"]),
  start: (chunk, end) =>
    run(
      Effect.matchEffect(
        Effect.provideService(request.arrayBuffer, HttpServerRequest.MaxBodySize, ByteSize.fromInputUnsafe(maxBody)),
        {
          onSuccess: (bytes) =>
            Effect.sync(() => {
              if (chunk(new Uint8Array(bytes))) end(true)
            }),
          onFailure: (error) =>
            Effect.sync(() => {
              const isTooLarge = error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
              // More than any route takes.
              if (isTooLarge) chunk(new Uint8Array(maxBody + 1))
              else end(false)
            })
        }
      )
    )
})

/** More than any route takes, in bytes. */
const maxBody = 2 * 1_024 * 1_024

const incomingOf = (
  request: HttpServerRequest.HttpServerRequest,
  target: string,
  run: (effect: Effect.Effect<void>) => () => void
): Incoming => ({
  method: request.method,
  target,
  peer: Option.getOrNull(request.peerAddress),
  header: (name) => request.headers[name],
  headers: () => ({ ...request.headers }),
  authorizations: () => authorizationsIn(rawHeadersOf(request.source)),
  body: () => bodyOf(request, run)
})

const responseOf = ({ body, headers, status }: Answer): HttpServerResponse.HttpServerResponse => {
  if (body === null) return HttpServerResponse.empty({ status, headers })
  const { "content-type": contentType, ...others } = headers
  const options = { status, headers: others, ...(contentType !== undefined && { contentType }) }
  return Predicate.isString(body)
    ? HttpServerResponse.text(body, options)
    : HttpServerResponse.uint8Array(body, options)
}

/** What a router answers where it has no route. */
const notFound = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.die(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))

/** Has effect/http log no line of a request to doorhook, wherever it arrives: query strings can carry a client's secret. */
const unlogged = HttpRouter.middleware(
  Effect.map(
    PublicUrl,
    ({ url }) =>
      <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          ownTarget(request, url) === null ? handler : HttpMiddleware.withLoggerDisabled(handler)
        )
  ),
  { global: true }
)

/**
 * Every route of doorhook's, for a router of the caller's; other routes in it are left alone. A router reads
 * `/%6fperator/events` as `/operator/events`, and may have all routes under a prefix that doorhook does not know: only paths
 * that are spelled as doorhook's, and below the path of its public URL, are answered.
 */
export const routesOf = <E, R>(
  surface: Layer.Layer<HttpSurface, E, R>
): Layer.Layer<never, E, HttpRouter.HttpRouter | PublicUrl | R> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { answer } = yield* HttpSurface
      const publicUrl = yield* PublicUrl
      const handler = Effect.withFiber<
        HttpServerResponse.HttpServerResponse,
        never,
        HttpServerRequest.HttpServerRequest
      >((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const target = ownTarget(request, publicUrl.url)
        if (target === null) return notFound(request)
        const fork = Effect.runForkWith(fiber.context)
        const run = (effect: Effect.Effect<void>) => {
          const reading = fork(effect)
          return () => reading.interruptUnsafe()
        }
        return Effect.map(answer(incomingOf(request, target, run)), responseOf)
      })
      const prefixes = [...ownPrefixes, `${metadataPath}/`] as const
      // A route with any rest has the path without one, too.
      const paths = ownPaths.filter((path) => !prefixes.some((prefix) => prefix === `${path}/`))
      for (const path of [...paths, ...prefixes.map((prefix) => `${prefix}*` as const)]) {
        yield* router.add("*", path, handler)
      }
    })
  ).pipe(Layer.provide(surface), Layer.merge(unlogged))

/**
 * Has a server that runs the router make no spans of requests to doorhook: they would carry query strings. A router's own
 * middleware is too late, because the span of a request begins before it.
 */
export const untracedLayer: Layer.Layer<never, never, PublicUrl> = Layer.effect(
  HttpMiddleware.TracerDisabledWhen,
  Effect.gen(function* () {
    const others = yield* HttpMiddleware.TracerDisabledWhen
    const publicUrl = yield* PublicUrl
    return (request: HttpServerRequest.HttpServerRequest) =>
      ownTarget(request, publicUrl.url) !== null || others(request)
  })
)
