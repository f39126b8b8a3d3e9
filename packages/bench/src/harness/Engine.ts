/**
 * The real engine (publisher, store, dispatcher, sender) without its HTTP server.
 */
import type {
  DeliverySettingsShape,
  DeliveryStore,
  Directory,
  IdempotencyStore,
  IntegrationStore,
  Transport
} from "@doorhook/core"
import { DeliverySettings, Dispatcher, Notifications, Publisher, WakeSignal, withDeadlines } from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { directoryOf } from "doorhook/effect"
import { Layer, Logger, Redacted } from "effect"
import { IpNetwork } from "effect/net"

type Storage<E> = Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | WakeSignal, E>

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

const onPostgres = (url: string) =>
  PostgresWakeSignal.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) })))

/** Makes a new engine on a SQLite file, synced at each commit. */
export const sqliteEngine = (
  filename: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) => engineOn(Layer.merge(SqliteStore.layer({ filename }), WakeSignal.layerLocal), settings, transport, hostDirectory)

/** Makes a new engine on a PostgreSQL database, with a host's directory or without one. */
export const postgresEngine = (
  url: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer(),
  directory: Layer.Layer<Directory> = hostDirectory
) => engineOn(onPostgres(url), settings, transport, directory)

/** Makes a publisher on a PostgreSQL database. It has no dispatcher, because worker processes send the deliveries. */
export const postgresPublisher = (url: string) =>
  Publisher.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(onPostgres(url), Dispatcher.layerNone, NodeCrypto.layer, Layer.orDie(DeliverySettings.layer()))
    ),
    Layer.fresh
  )
