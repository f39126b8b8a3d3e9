/**
 * The delivery engine of core, built on given ports. Used by runs in real time, by runs on virtual time, and by the
 * deterministic simulation.
 */
import type {
  Crypto,
  DeliverySettingsShape,
  Notification,
  ResourceTypeTable,
  StoreClockShape,
  WakeSignal
} from "@doorhook/core"
import {
  AllowAllDirectory,
  builtInTable,
  DeliverySettings,
  DeliveryStore,
  Directory,
  Dispatcher,
  IdempotencyStore,
  IntegrationStore,
  NotificationListener,
  Notifications,
  Publisher,
  ResourceTypes,
  StoreClock,
  TokenStore,
  Transport
} from "@doorhook/core"
import type { Scope } from "effect"
import { Effect, Layer } from "effect"

/** The stores of an engine, which share their data. */
export interface Stores {
  readonly deliveries: DeliveryStore["Service"]
  readonly integrations: IntegrationStore["Service"]
  readonly keys: IdempotencyStore["Service"]
  readonly tokens: TokenStore["Service"]
}

/** The ports of an engine in one value, so that a test can replace a port by a faulty one. */
export interface EnginePorts {
  readonly stores: Stores
  /** Default: an allow-all directory, in which owners keep all rights. */
  readonly directory?: Directory["Service"]
  readonly transport: Transport["Service"]
  readonly settings: Partial<DeliverySettingsShape>
  /** Default: the built-in types. */
  readonly types?: ResourceTypeTable
  /** The store's clock, measured by this process. Default: null, for a store without a clock of its own. */
  readonly clock?: StoreClockShape | null
  /** Receives notifications, as the host does. */
  readonly listener?: (notification: Notification) => Effect.Effect<void>
}

/** Builds new stores from a layer. They are never shared. */
export const storesOf = <E>(
  layer: Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore, E>
): Effect.Effect<Stores, E, Scope.Scope> =>
  Effect.flatMap(Layer.build(Layer.fresh(layer)), (services) =>
    Effect.all({
      deliveries: DeliveryStore,
      integrations: IntegrationStore,
      keys: IdempotencyStore,
      tokens: TokenStore
    }).pipe(Effect.provide(services))
  )

/** Builds publisher and dispatcher, with the ports that they need. */
export const engineLayer = <E1, E2>(
  { clock = null, directory, listener, settings, stores, transport, types = builtInTable }: EnginePorts,
  signals: Layer.Layer<WakeSignal, E1>,
  crypto: Layer.Layer<Crypto, E2>
) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(Notifications.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.succeed(DeliveryStore, stores.deliveries),
        Layer.succeed(IntegrationStore, stores.integrations),
        Layer.succeed(IdempotencyStore, stores.keys),
        Layer.succeed(TokenStore, stores.tokens),
        Layer.succeed(StoreClock, clock),
        Layer.succeed(ResourceTypes, types),
        directory === undefined ? AllowAllDirectory.layer : Layer.succeed(Directory, directory),
        Layer.succeed(Transport, transport),
        Layer.succeed(NotificationListener, listener ?? (() => Effect.void)),
        Layer.orDie(DeliverySettings.layer(settings)),
        signals,
        crypto
      )
    )
  )

/** Services of `engineLayer`. */
export type EngineServices = Layer.Success<ReturnType<typeof engineLayer>>
