/**
 * The real engine (publisher, store, dispatcher, sender) without its HTTP server, its integrations and their deliveries.
 */
import type { DeliverySettingsShape, Directory, IdempotencyStore, TokenStore, Transport } from "@doorhook/core"
import {
  bindAll,
  BuildingId,
  builtInTable,
  ClientId,
  DeliverySettings,
  DeliveryStore,
  Dispatcher,
  IntegrationStore,
  Notifications,
  Publisher,
  UserId,
  WakeSignal,
  withDeadlines
} from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { directoryOf } from "doorhook/effect"
import { Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { IpNetwork } from "effect/net"
import { eventOf, integrationCount, openRequests, signingSecret } from "./Workload.ts"

type Storage<E> = Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | WakeSignal, E>

/** The directory that `createDoorhook` makes for a host with synchronous functions. */
const hostDirectory = withDeadlines(
  directoryOf({
    client: () => null,
    authenticate: () => null,
    isActive: () => true,
    administers: () => true,
    isTenant: () => true
  })
)

const engineOn = <E>(
  storage: Storage<E>,
  settings: Partial<DeliverySettingsShape>,
  transport: Layer.Layer<Transport>,
  directory: Layer.Layer<Directory>
) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(Notifications.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        storage,
        transport,
        directory,
        DeliverySettings.layer({ allow: [IpNetwork.fromStringUnsafe("127.0.0.0/8")], ...settings })
      )
    ),
    Layer.provideMerge(NodeCrypto.layer),
    // Standard output is reserved for results.
    Layer.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])),
    // Effect builds identical layers once and shares them, but each engine must be separate.
    Layer.fresh
  )

const onSqlite = (filename: string) => Layer.merge(SqliteStore.layer({ filename }), WakeSignal.layerLocal)

const onPostgres = (url: string) =>
  PostgresWakeSignal.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) })))

/** Makes a new engine on a SQLite file, synced at each commit. */
export const sqliteEngine = (
  filename: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) => engineOn(onSqlite(filename), settings, transport, hostDirectory)

/** Makes a new engine on a PostgreSQL database, with a host's directory or without one. */
export const postgresEngine = (
  url: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer(),
  directory: Layer.Layer<Directory> = hostDirectory
) => engineOn(onPostgres(url), settings, transport, directory)

const publisherOn = <E>(storage: Storage<E>) =>
  Publisher.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(storage, Dispatcher.layerNone, NodeCrypto.layer, Layer.orDie(DeliverySettings.layer()))
    ),
    Layer.fresh
  )

/** Makes a publisher on a SQLite file. It has no dispatcher, so its deliveries wait for an engine. */
export const sqlitePublisher = (filename: string) => publisherOn(onSqlite(filename))

/** Makes a publisher on a PostgreSQL database. It has no dispatcher, because worker processes send the deliveries. */
export const postgresPublisher = (url: string) => publisherOn(onPostgres(url))

/** Creates an integration of a building with a receiver on this machine. `host` is the host name in its URL. */
export const createIntegration = (building: number, port: number, host = "127.0.0.1") =>
  Effect.flatMap(IntegrationStore, (store) =>
    store.create({
      scope: { type: "building", id: BuildingId.make(building) },
      integrator: "webhook",
      configuration: { url: `http://${host}:${port}/hook`, method: "post" },
      bindings: bindAll(builtInTable),
      name: null,
      description: null,
      detail: "full",
      status: "enabled",
      disabled_reason: null,
      created_by: { user_id: UserId.make("admin"), client_id: ClientId.make("c1") },
      signing_secret: Redacted.make(signingSecret),
      previous_secrets: [],
      overrides: {},
      version: 1,
      created_at: 0,
      updated_at: 0
    })
  )

/** Creates one integration per building, all with the same receiver. */
export const createIntegrations = Effect.fnUntraced(function* (port: number, count = integrationCount) {
  for (let building = 1; building <= count; building++) yield* createIntegration(building, port)
})

/** Returns the number of deliveries in the state `delivered`. */
export const countDelivered = Effect.flatMap(DeliveryStore, (store) =>
  Effect.map(store.summary(0), ({ states }) => states.delivered)
)

/** Waits until `count` deliveries are in the state `delivered`. Polls rarely, because polling slows down the engine. */
export const delivered = (count: number) =>
  Effect.repeat(countDelivered, { until: (found) => found >= count, schedule: Schedule.spaced("20 millis") })

const publishBatch = 100
const publishers = 4

/**
 * Settings that give the engine as many open requests as the peers have. Deliveries of access logs use at most four
 * fifths of `concurrency`.
 */
export const settings = { concurrency: (openRequests * 5) / 4 }

/** Publishes events without waiting for their deliveries. */
export const publishAll = Effect.fnUntraced(function* (count: number) {
  const publisher = yield* Publisher
  const batches = Array.from({ length: Math.ceil(count / publishBatch) }, (_, batch) =>
    Array.from({ length: Math.min(publishBatch, count - batch * publishBatch) }, (_, index) =>
      eventOf(batch * publishBatch + index)
    )
  )
  yield* Effect.forEach(batches, (events) => publisher.publish(events), { concurrency: publishers, discard: true })
})

/** Publishes events and waits until all are settled. Returns deliveries and publications per second. */
export const drain = Effect.fnUntraced(function* (count: number) {
  const before = yield* countDelivered
  const began = performance.now()
  yield* publishAll(count)
  const published = performance.now()
  yield* delivered(before + count)
  const ended = performance.now()
  return { rate: (count * 1_000) / (ended - began), published: (count * 1_000) / (published - began) }
})
