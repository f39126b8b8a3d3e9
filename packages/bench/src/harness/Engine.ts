/**
 * The real engine without HTTP in front: publisher, store, dispatcher, sender.
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

/** The directory of an embedding host, whose functions answer at once: what `createDoorhook` makes of them. */
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
    // Standard output is for results.
    Layer.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])),
    // Layers are shared by identity; each engine is to be its own.
    Layer.fresh
  )

const onPostgres = (url: string) =>
  PostgresWakeSignal.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) })))

/** A new engine on a SQLite file, synced at each commit. Sends by undici if no transport is given. */
export const sqliteEngine = (
  filename: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) => engineOn(Layer.merge(SqliteStore.layer({ filename }), WakeSignal.layerLocal), settings, transport, hostDirectory)

/** A new engine on a PostgreSQL database, with the directory of a host or without one. */
export const postgresEngine = (
  url: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer(),
  directory: Layer.Layer<Directory> = hostDirectory
) => engineOn(onPostgres(url), settings, transport, directory)

/** Takes events in on a PostgreSQL database, and leaves their delivery to workers. */
export const postgresPublisher = (url: string) =>
  Publisher.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(onPostgres(url), Dispatcher.layerNone, NodeCrypto.layer, Layer.orDie(DeliverySettings.layer()))
    ),
    Layer.fresh
  )
