/**
 * The HTTP surface as a whole: OAuth, `/v4`, the operator API, health, metrics and the OpenAPI description.
 */
import type {
  AuthorizationServer,
  Clients,
  Crypto,
  Deliveries,
  DeliveryStore,
  Dispatcher,
  Grants,
  IntegrationFeed,
  Integrations,
  Notices,
  OperatorIntegrations,
  Premises,
  Publisher,
  SettingStore,
  TestEvents
} from "@doorhook/core"
import { Context, Effect, Layer, Predicate } from "effect"
import type { Scope } from "effect"
import { HttpEffect, HttpMiddleware, HttpRouter } from "effect/http"
import type { HttpServer, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ApiEndpoint } from "./api/ApiEndpoint.ts"
import type { ApiSettings } from "./api/ApiSettings.ts"
import { FeedRoutes } from "./api/FeedRoutes.ts"
import { IntegrationRoutes } from "./api/IntegrationRoutes.ts"
import { PremisesRoutes } from "./api/PremisesRoutes.ts"
import { SourceRoutes } from "./api/SourceRoutes.ts"
import { ConsoleRoutes } from "./console/ConsoleRoutes.ts"
import { OpenApiRoute } from "./contract/OpenApiRoute.ts"
import { HealthRoutes } from "./health/HealthRoutes.ts"
import type { HealthSettings } from "./health/HealthSettings.ts"
import { MetricsRoute } from "./health/MetricsRoute.ts"
import { StoreProbe } from "./health/Pulse.ts"
import { ClientAddress, PeerAddress } from "./http/ClientAddress.ts"
import { LastResort, OwnAddresses } from "./LastResort.ts"
import { ownRequests, Territory } from "./OwnPaths.ts"
import type { PageSecret } from "./http/PageSecret.ts"
import type { PublicUrl } from "./http/PublicUrl.ts"
import { OAuthRoutes } from "./oauth/OAuthRoutes.ts"
import { ClientRoutes } from "./operator/ClientRoutes.ts"
import { DeliveryRoutes } from "./operator/DeliveryRoutes.ts"
import { EventRoutes } from "./operator/EventRoutes.ts"
import { FiguresRoutes } from "./operator/FiguresRoutes.ts"
import { GrantRoutes } from "./operator/GrantRoutes.ts"
import { NoticeRoutes } from "./operator/NoticeRoutes.ts"
import { OperatorEndpoint } from "./operator/OperatorEndpoint.ts"
import { OperatorIntegrationRoutes } from "./operator/OperatorIntegrationRoutes.ts"
import type { OperatorKey } from "./operator/OperatorKey.ts"
import { PortalLinkRoutes } from "./operator/PortalLinkRoutes.ts"
import { PortalLinks } from "./portal/PortalLinks.ts"
import { PortalRoutes } from "./portal/PortalRoutes.ts"

/** What the routes need. */
export type ServerServices =
  | AuthorizationServer
  | Clients
  | Grants
  | Integrations
  | IntegrationFeed
  | OperatorIntegrations
  | Notices
  | Premises
  | Publisher
  | Deliveries
  | DeliveryStore
  | Dispatcher
  | SettingStore
  | TestEvents
  | Crypto
  | OperatorKey
  | PageSecret
  | PublicUrl
  | ApiSettings
  | HealthSettings

const ApiRoutes = Layer.mergeAll(PremisesRoutes, IntegrationRoutes, FeedRoutes, SourceRoutes).pipe(
  Layer.provide(ApiEndpoint.layer)
)

const OperatorRoutes = Layer.mergeAll(
  EventRoutes,
  DeliveryRoutes,
  OperatorIntegrationRoutes,
  NoticeRoutes,
  ClientRoutes,
  GrantRoutes,
  FiguresRoutes,
  PortalLinkRoutes
).pipe(Layer.provide(OperatorEndpoint.layer))

/** Every route, for a router of the caller's; other routes in it are left alone. */
export const Routes: Layer.Layer<never, never, HttpRouter.HttpRouter | ServerServices> = Layer.mergeAll(
  Layer.mergeAll(
    OAuthRoutes,
    ApiRoutes,
    Layer.mergeAll(OperatorRoutes, PortalRoutes).pipe(Layer.provide(PortalLinks.layer)),
    ConsoleRoutes,
    HealthRoutes,
    MetricsRoute,
    OpenApiRoute
  ).pipe(Layer.provide(Layer.merge(OwnAddresses, StoreProbe.layer))),
  ClientAddress,
  LastResort
)

/**
 * A path has one spelling, as a rule of a proxy in front (`deny /operator/`) knows it. An id in it may be as long as a
 * client's, each of its characters escaped.
 */
export const routerConfig = { caseSensitive: true, ignoreDuplicateSlashes: false, maxParamLength: 3 * 255 } as const

/** No spans of requests: they would carry query strings, and those a client's secret (RFC 6749 section 2.3.1). */
const untraced = (): boolean => true

/** In a router of its own, doorhook answers whatever comes. */
const everything = (): boolean => true

/**
 * None either of doorhook's requests to a server that it shares: for what serves the router. A router's own middleware is too
 * late, the span of a request begins before.
 */
export const untracedLayer: Layer.Layer<never, never, PublicUrl> = Layer.effect(
  HttpMiddleware.TracerDisabledWhen,
  Effect.gen(function* () {
    const others = yield* HttpMiddleware.TracerDisabledWhen
    const isOurs = yield* ownRequests
    return (request: HttpServerRequest.HttpServerRequest) => isOurs(request.url) || others(request)
  })
)

/** Serves the routes on the server of the context. */
export const serve: Layer.Layer<never, never, HttpServer.HttpServer | ServerServices> = HttpRouter.serve(Routes, {
  disableLogger: true,
  disableListenLog: true,
  routerConfig
}).pipe(
  Layer.provide(Layer.succeed(Territory, everything)),
  Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, untraced))
)

/** What each request brings along. */
type OfRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

/** The routes for hosts that have a server already: built once, so that limits count all requests, whichever way they come. */
export interface Handlers {
  /** For a server of Effect's. */
  readonly app: Effect.Effect<HttpServerResponse.HttpServerResponse, HttpServerError.HttpServerError, OfRequest>
  /** The peer's address is that of the connection that the request came over: a web request does not know it. */
  readonly fetch: (request: Request, peer?: { readonly remoteAddress?: string | undefined }) => Promise<Response>
}

/** Builds them. Loggers and tracers of the context serve the requests too. */
export const makeHandlers: Effect.Effect<Handlers, never, ServerServices | Scope.Scope> = Effect.gen(function* () {
  const app = yield* HttpRouter.toHttpEffect(Routes)
  const answer = HttpEffect.toWebHandlerWith<never, OfRequest>(yield* Effect.context())(app)
  return {
    app,
    fetch: (request: Request, peer?: { readonly remoteAddress?: string | undefined }) => {
      // Servers that are given the function itself call it with arguments of their own.
      const address: unknown = peer?.remoteAddress
      return answer(request, Context.make(PeerAddress, Predicate.isString(address) ? address : null))
    }
  }
}).pipe(
  Effect.provideService(Territory, everything),
  Effect.provideService(HttpMiddleware.TracerDisabledWhen, untraced),
  Effect.provideService(HttpRouter.RouterConfig, routerConfig)
)
