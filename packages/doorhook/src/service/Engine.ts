/**
 * Assembles a complete doorhook for one process from the packages.
 */
import {
  clientDocumentsLayer,
  AuthorizationServer,
  AuthorizationSettings,
  apiPath,
  BuildingMoves,
  Clients,
  ClockWatch,
  Deliveries,
  defaultPublicUrl,
  DeliverySettings,
  Directory,
  Dispatcher,
  Grants,
  HostIntegrations,
  Retention,
  FeedHub,
  Feeds,
  Integrations,
  MaxDetail,
  mcpPath,
  Notifications,
  OperatorIntegrations,
  ScopeReader,
  Publisher,
  ResourceTypeAliases,
  ResourceTypes,
  runForever,
  serviceKeyLayer,
  ServiceUrl,
  SettingStore,
  SubscriptionEnds,
  Subscriptions,
  TestEvents,
  TokenStore,
  ValidGrants,
  withDeadlines
} from "@doorhook/core"
import {
  ApiSettings,
  Appearance,
  HomeUrl,
  HostTexts,
  HealthSettings,
  httpDefaults,
  HttpSettings,
  McpEndpoint,
  McpRoutes,
  OperatorKey,
  PageSecret,
  StoreProbe
} from "@doorhook/server"
import { Context, Effect, Layer, Result } from "effect"
import { hostname } from "node:os"
import { maxDetailOf } from "../config/DetailLimits.ts"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { deliveryOverrides, resourceTypesOf } from "../config/EngineConfig.ts"
import { metricsKeyOf, operatorKeyOf } from "../config/KeySettings.ts"
import { invalid } from "../config/ReadingSettings.ts"
import { apiOverrides, authorizationOverrides, httpOverrides, resourceTypeAliases } from "../config/SurfaceConfig.ts"
import * as KeptGauges from "../telemetry/KeptGauges.ts"
import { tracedPublisher } from "../telemetry/Spans.ts"
import * as Agreement from "./Agreement.ts"
import { defaultDatabase, isPostgres } from "./Database.ts"
import * as NotificationWebhook from "./NotificationWebhook.ts"
import * as Ports from "./Ports.ts"

/**
 * Provides delivery and retention, unless the process has no directory or is not to deliver, with the database, the network, and time limits for the directory. `own` contains the
 * application's ports, which replace doorhook's.
 */
export const deliveryLayer = <E, R = never>(
  config: EngineConfig,
  directory: Layer.Layer<Directory, E, R>,
  own: Context.Context<never> = Context.empty()
) => {
  const settings = Layer.unwrap(
    Effect.map(Effect.fromResult(deliveryOverrides(config)), (overrides) => DeliverySettings.layer(overrides))
  )
  const types = Layer.effect(ResourceTypes, Effect.fromResult(resourceTypesOf(config)))
  const ports = serviceKeyLayer.pipe(
    Layer.provideMerge(Layer.mergeAll(withDeadlines(directory), settings, Ports.layer(config, own))),
    Layer.provideMerge(Layer.merge(Ports.cryptoLayer(own), types))
  )
  const dispatcher = Layer.unwrap(
    Effect.map(Directory, ({ kind }) =>
      config.deliver === false || kind === "none" ? Dispatcher.layerNone : Dispatcher.layer
    )
  )
  const gauges = KeptGauges.layer.pipe(Layer.provide(StoreProbe.layer), Layer.provide(healthOf(config)))
  return Layer.mergeAll(gauges, Retention.layer, SubscriptionEnds.layer, ClockWatch.layer(hostname())).pipe(
    Layer.provideMerge(dispatcher),
    Layer.provide(validGrantsLayer),
    Layer.provideMerge(Notifications.layer),
    Layer.provideMerge(NotificationWebhook.layer),
    Layer.provideMerge(Agreement.layer(config)),
    Layer.provideMerge(serviceUrlLayer(config)),
    Layer.provideMerge(absenceLayer(config)),
    Layer.provideMerge(ports),
    // An application may provide a function instead.
    Layer.provideMerge(
      config.maxDetail === undefined ? Layer.empty : Layer.succeed(MaxDetail, maxDetailOf(config.maxDetail))
    )
  )
}

/** Time between two looks at the moves of buildings. A move waits three times as long. */
const movesEvery = "1 second"

/** Provides which buildings other databases serve. Buildings can leave a PostgreSQL database while it is in use. */
const absenceLayer = ({ database = defaultDatabase }: EngineConfig) =>
  Layer.effect(
    BuildingMoves.Absence,
    Effect.gen(function* () {
      const store = yield* SettingStore
      let moves = BuildingMoves.decodeMoves(yield* store.find(BuildingMoves.movesName)) ?? []
      const look = Effect.matchEffect(store.find(BuildingMoves.movesName), {
        onFailure: (error) => Effect.logDebug(`Can't read the moves of buildings: ${error.message}`),
        onSuccess: (text) => Effect.sync(() => (moves = BuildingMoves.decodeMoves(text) ?? moves))
      })
      const step = Effect.andThen(Effect.sleep(movesEvery), look)
      if (isPostgres(database)) yield* Effect.forkScoped(runForever("Reading the moves of buildings", step))
      return (scope) => (moves.length === 0 ? null : BuildingMoves.absenceOf(moves, scope))
    })
  )

/** Lets deliveries to subscriptions of MCP clients end with the grant. */
const validGrantsLayer = Layer.effect(
  ValidGrants,
  Effect.map(
    TokenStore,
    (tokens) => (id) =>
      // A grant that is purged without having been revoked has no tokens left.
      Effect.mapEager(tokens.findGrant(id), (grant) => grant === null || grant.revoked_at === null)
  )
)

/** Name of the stored public URL. */
const urlName = "public_url"

/**
 * Provides the address for links in webhooks. A process without HTTP uses its setting, or that of the service, which the
 * service has stored.
 */
const serviceUrlLayer = ({ publicUrl }: EngineConfig) =>
  Layer.effect(
    ServiceUrl,
    Effect.gen(function* () {
      const own = yield* ServiceUrl
      const store = yield* SettingStore
      const stored = yield* store.find(urlName)
      if (own === null) return { url: publicUrl?.replace(/\/+$/, "") ?? stored ?? defaultPublicUrl }
      if (publicUrl !== undefined && stored !== own.url) yield* store.put(urlName, own.url)
      return own
    })
  )

/**
 * Provides the health settings. Their limits allow for the poll interval, so a dispatcher that polls rarely does not
 * count as stalled.
 */
const healthOf = (config: EngineConfig) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { lease, pollInterval } = yield* DeliverySettings
      const metricsKey = yield* Effect.fromResult(metricsKeyOf(config))
      return HealthSettings.layer({
        claimPause: 5_000 + 5 * pollInterval,
        recordPause: lease,
        ...(config.metricsFor !== undefined && { metricsFor: config.metricsFor }),
        ...(metricsKey !== undefined && { metricsKey })
      })
    })
  )

/** Checks that the host declares the scopes of its tools, because nobody could get others. */
const checkToolScopes = (mcp: McpRoutes | null, { scopes = {} }: EngineConfig) => {
  const unknown = McpRoutes.scopesOf(mcp).filter((name) => !Object.hasOwn(scopes, name))
  return unknown.length === 0
    ? Result.void
    : invalid(
        `mcp: tools need the scope ${unknown.join(", ")}; declare it in scopes, with a description for the consent page`
      )
}

/**
 * Provides everything except HTTP: stores, rules, publishing, delivery and tokens. Closing the scope drains the engine.
 */
export const layer = <E, R = never>(
  config: EngineConfig,
  directory: Layer.Layer<Directory, E, R>,
  own: Context.Context<never> = Context.empty()
) => {
  const operatorKey = Layer.unwrap(
    Effect.map(Effect.fromResult(operatorKeyOf(config)), (key) =>
      key === undefined ? OperatorKey.layerStored : OperatorKey.layer(key)
    )
  )
  const services = Layer.mergeAll(
    tracedPublisher(Publisher.layer),
    Deliveries.layer,
    OperatorIntegrations.layer,
    HostIntegrations.layer,
    TestEvents.layer,
    AuthorizationServer.layer,
    Clients.layer,
    Grants.layer,
    ScopeReader.layer
  ).pipe(
    Layer.provide(Layer.unwrap(Effect.map(DeliverySettings, ({ allow }) => clientDocumentsLayer(allow)))),
    Layer.provideMerge(Subscriptions.layer.pipe(Layer.provideMerge(Feeds.layer))),
    Layer.provideMerge(Layer.merge(Integrations.layer, FeedHub.layer)),
    Layer.provide(Layer.succeed(ResourceTypeAliases, resourceTypeAliases(config)))
  )
  const api = Layer.unwrap(
    Effect.map(Effect.fromResult(apiOverrides(config)), (overrides) => ApiSettings.layer(overrides))
  )
  const http = Layer.effect(
    HttpSettings,
    Effect.map(Effect.fromResult(httpOverrides(config)), (overrides) => ({ ...httpDefaults, ...overrides }))
  )
  const appearance = Layer.mergeAll(
    Layer.succeed(Appearance, config.appearance ?? {}),
    Layer.succeed(HomeUrl, config.homeUrl ?? null),
    Layer.succeed(HostTexts, config.texts ?? {})
  )
  const notifications = NotificationWebhook.targetLayer(config)
  const mcp = Context.get(own, McpEndpoint)
  const authorization = Layer.unwrap(
    Effect.map(Effect.fromResult(checkToolScopes(mcp, config)), () =>
      AuthorizationSettings.layer({
        ...authorizationOverrides(config),
        ...(mcp !== null && { apis: [apiPath, mcpPath] })
      })
    )
  )
  return Layer.mergeAll(
    services,
    operatorKey,
    notifications,
    PageSecret.layer,
    api,
    http,
    appearance,
    healthOf(config),
    Layer.succeed(McpEndpoint, mcp)
  ).pipe(Layer.provideMerge(deliveryLayer(config, directory, own)), Layer.provideMerge(authorization))
}
