/**
 * Serves the HTTP surface in an Effect router, along with the host's own routes.
 */
import { AuthorizationSettings } from "@doorhook/core"
import { ByteSize, Context, Effect, Layer, Option, Predicate, Stream } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { WebAnswer } from "./AnswerWriter.ts"
import type { BodySource, Incoming } from "./Exchange.ts"
import { authorizationsIn, declaredLength, originForm } from "./Exchange.ts"
import { HttpSurface } from "./HttpSurface.ts"
import type { Apis } from "./OwnPaths.ts"
import { isOwnPath, metadataPrefixes, ownPaths, ownPrefixes, pathsOf } from "./OwnPaths.ts"
import { PublicUrl } from "./PublicUrl.ts"

/**
 * Configuration of a router for doorhook. Paths must match exactly, so that a proxy's rule like `deny /operator/` can't
 * be bypassed. The longest id in a path is a client id with every character percent-encoded.
 */
export const routerConfig = { caseSensitive: true, ignoreDuplicateSlashes: false, maxParamLength: 3 * 255 } as const

/** Removes the public URL's path from a target, because a host may mount these routes under that path. */
const withoutPrefix = (target: string, publicUrl: string): string => {
  const at = publicUrl.indexOf("/", publicUrl.indexOf("//") + 2)
  const prefix = at === -1 ? "" : publicUrl.slice(at)
  return prefix !== "" && target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : target
}

/**
 * Returns a request's target below doorhook's public URL; null if the request is for the host. Uses the original URL,
 * because a router with a prefix removes the prefix from `url`.
 */
const ownTarget = (
  { originalUrl }: HttpServerRequest.HttpServerRequest,
  publicUrl: string,
  settings?: Apis
): string | null => {
  const target = originForm(originalUrl)
  const inner = withoutPrefix(target, publicUrl)
  return [target, inner].find((candidate) => isOwnPath(candidate, publicUrl, settings)) ?? null
}

const rawHeadersOf = (source: unknown): ReadonlyArray<string> =>
  Predicate.hasProperty(source, "rawHeaders") && Array.isArray(source.rawHeaders) ? source.rawHeaders.map(String) : []

/** Adapts the body of an Effect request. `run` runs effects in the context of the request's fiber. */
const bodyOf = (
  request: HttpServerRequest.HttpServerRequest,
  run: (effect: Effect.Effect<void>) => () => void
): BodySource => ({
  declared: declaredLength(request.headers["content-length"]),
  coding: request.headers["content-encoding"],
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
              // Passes one byte too many, so the route refuses the body in its own format.
              if (isTooLarge) chunk(new Uint8Array(maxBody + 1))
              else end(false)
            })
        }
      )
    )
})

/** Maximum size of bodies that Effect reads, in bytes. Larger than any route accepts. */
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

const responseOf = ({ body, headers, status }: WebAnswer): HttpServerResponse.HttpServerResponse => {
  if (body === null) return HttpServerResponse.empty({ status, headers })
  const { "content-type": contentType, ...others } = headers
  const options = { status, headers: others, ...(contentType !== undefined && { contentType }) }
  if (Predicate.isString(body)) return HttpServerResponse.text(body, options)
  if (body instanceof Uint8Array) return HttpServerResponse.uint8Array(body, options)
  // The stream fails with an error for its reader. There is no more to say.
  const stream = Stream.fromReadableStream({ evaluate: () => body, onError: (error) => error })
  return HttpServerResponse.stream(stream, options)
}

/** Fails as the router does for a path without a route. */
const notFound = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.die(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))

/**
 * Disables effect/http's request log for doorhook's paths on all servers, because query strings can contain a client's
 * secret.
 */
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
 * Adds all routes to the caller's own router. The router's other routes are not affected. A router decodes
 * `/%6fperator/events` to `/operator/events`. Therefore doorhook checks the original path. It answers only paths below
 * the public URL in their exact spelling.
 */
export const routesOf = <E, R>(
  surface: Layer.Layer<HttpSurface, E, R>
): Layer.Layer<never, E, HttpRouter.HttpRouter | AuthorizationSettings | PublicUrl | R> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { answer } = yield* HttpSurface
      const publicUrl = yield* PublicUrl
      const settings = yield* AuthorizationSettings
      const handler = Effect.withFiber<
        HttpServerResponse.HttpServerResponse,
        never,
        HttpServerRequest.HttpServerRequest
      >((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const target = ownTarget(request, publicUrl.url, settings)
        if (target === null) return notFound(request)
        const fork = Effect.runForkWith(fiber.context)
        const run = (effect: Effect.Effect<void>) => {
          const reading = fork(effect)
          return () => reading.interruptUnsafe()
        }
        return Effect.map(answer(incomingOf(request, target, run)), responseOf)
      })
      const prefixes = [...ownPrefixes, ...metadataPrefixes] as const
      // A wildcard route also matches the path without the wildcard.
      const paths = ownPaths.filter((path) => !prefixes.some((prefix) => prefix === `${path}/`))
      for (const path of [...paths, ...pathsOf(settings), ...prefixes.map((prefix) => `${prefix}*` as const)]) {
        yield* router.add("*", path, handler)
      }
    })
  ).pipe(Layer.provide(surface), Layer.merge(unlogged))

/**
 * Keeps the router's server from tracing requests to doorhook, because spans would contain query strings. This can't be
 * a middleware, because a request's span begins before any middleware runs.
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
