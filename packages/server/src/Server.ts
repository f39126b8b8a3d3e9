/**
 * The HTTP surface of doorhook: its routes, and layers that serve them with a listener or in an Effect router.
 */
import type {
  AuthorizationServer,
  AuthorizationSettings,
  Clients,
  Crypto,
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  Grants,
  Feeds,
  Integrations,
  Notifications,
  HostIntegrations,
  OperatorIntegrations,
  ScopeReader,
  Publisher,
  SettingStore,
  Subscriptions,
  TestEvents
} from "@doorhook/core"
import { FeedHub } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import type { HttpRouter } from "effect/http"
import type { ApiEndpoint } from "./api/ApiEndpoint.ts"
import { makeApiEndpoint } from "./api/ApiEndpoint.ts"
import type { ApiSettings } from "./api/ApiSettings.ts"
import { makeFeedRoutes } from "./api/FeedRoutes.ts"
import { makeIntegrationRoutes } from "./api/IntegrationRoutes.ts"
import { makeScopeRoutes } from "./api/ScopeRoutes.ts"
import { makeHealthRoutes } from "./health/HealthRoutes.ts"
import type { HealthSettings } from "./health/HealthSettings.ts"
import { StoreProbe } from "./health/HealthStatus.ts"
import { routesOf } from "./http/EffectRoutes.ts"
import { HttpSurface, makeHttpSurface } from "./http/HttpSurface.ts"
import { Listener } from "./http/Listener.ts"
import type { PageSecret } from "./http/PageSecret.ts"
import type { PublicUrl } from "./http/PublicUrl.ts"
import type { Route } from "./http/Route.ts"
import { makeOAuthRoutes, oauthFace } from "./oauth/OAuthRoutes.ts"
import { makeOpenApiRoute } from "./openapi/OpenApi.ts"
import { makeOperatorRoutes, OperatorApi } from "./operator/OperatorApi.ts"
import { KeyGuard } from "./operator/OperatorKey.ts"
import type { OperatorKey } from "./operator/OperatorKey.ts"
import { PortalLinks } from "./operator/PortalLinks.ts"
import { makeUiRoutes } from "./ui/Ui.ts"

/** Services that the routes need. */
export type ServerServices =
  | AuthorizationServer
  | AuthorizationSettings
  | Clients
  | Grants
  | Integrations
  | Feeds
  | FeedHub
  | HostIntegrations
  | OperatorIntegrations
  | Notifications
  | ScopeReader
  | Publisher
  | Deliveries
  | DeliverySettings
  | DeliveryStore
  | Dispatcher
  | SettingStore
  | Subscriptions
  | TestEvents
  | Crypto
  | OperatorKey
  | PageSecret
  | PublicUrl
  | ApiSettings
  | HealthSettings

/** The routes of the endpoint for assistants (`mcpPath`), which `@doorhook/mcp` makes. Its users see no members. */
export class McpRoutes {
  readonly #scopes: ReadonlyArray<string>
  readonly #make: (api: ApiEndpoint) => Effect.Effect<ReadonlyArray<Route>, never, ServerServices | Scope.Scope>

  /** `scopes` are the scopes that its tools need, in addition to `public`. The host must declare them. */
  constructor(
    scopes: ReadonlyArray<string>,
    make: (api: ApiEndpoint) => Effect.Effect<ReadonlyArray<Route>, never, ServerServices | Scope.Scope>
  ) {
    this.#scopes = scopes
    this.#make = make
  }

  static readonly scopesOf = (routes: McpRoutes | null): ReadonlyArray<string> =>
    routes === null ? [] : routes.#scopes

  static readonly make = (routes: McpRoutes | null, api: ApiEndpoint) =>
    routes === null ? Effect.succeed<ReadonlyArray<Route>>([]) : routes.#make(api)
}

/** The endpoint for assistants; null where it is not served. */
export const McpEndpoint = Context.Reference<McpRoutes | null>("@doorhook/server/McpEndpoint", {
  defaultValue: () => null
})

/** Makes all routes, and the format of the API's failures. */
export const makeRoutes = Effect.gen(function* () {
  const api = yield* makeApiEndpoint
  const routes: ReadonlyArray<Route> = [
    ...(yield* makeOAuthRoutes),
    ...(yield* makeScopeRoutes(api)),
    ...(yield* makeIntegrationRoutes(api)),
    ...(yield* makeFeedRoutes(api)),
    ...(yield* makeOperatorRoutes),
    ...(yield* makeUiRoutes),
    ...(yield* makeHealthRoutes),
    ...(yield* McpRoutes.make(yield* McpEndpoint, api))
  ]
  return { routes: [...routes, yield* makeOpenApiRoute(routes)], api: api.face }
})

/**
 * The HTTP surface. It must be built only once, because its rate limits must count the requests from a listener and
 * from a host together.
 */
export const surface: Layer.Layer<HttpSurface, never, ServerServices> = Layer.effect(
  HttpSurface,
  Effect.flatMap(makeRoutes, ({ api, routes }) => makeHttpSurface(routes, { api, oauth: oauthFace }))
).pipe(Layer.provide(Layer.mergeAll(OperatorApi.layer, PortalLinks.layer, StoreProbe.layer, KeyGuard.layer)))

/** Serves the requests that arrive at a listener. */
export const serve: Layer.Layer<never, never, Listener | ServerServices> = Layer.unwrap(
  Effect.gen(function* () {
    const { handle } = yield* HttpSurface
    const listener = yield* Listener
    const hub = yield* FeedHub
    // Streams end first. The listener waits for all other open requests.
    return Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(hub.close))).pipe(
      Layer.provide(listener.serve((request, response) => handle(request, response)))
    )
  })
).pipe(Layer.provide(surface))

/** Adds all routes to the caller's own router. The router's other routes are not affected. */
export const Routes: Layer.Layer<never, never, HttpRouter.HttpRouter | ServerServices> = routesOf(surface)
