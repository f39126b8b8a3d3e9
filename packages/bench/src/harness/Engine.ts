/**
 * The real engine without HTTP in front: publisher, store, dispatcher, sender.
 */
import type {
  DeliverySettingsShape,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  Transport
} from "@doorhook/core"
import { AbsentDirectory, DeliverySettings, Dispatcher, Notices, Publisher, Wake } from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { PostgresStore, PostgresWake } from "@doorhook/sql/postgres"
import { Layer, Logger, Redacted } from "effect"
import { IpNetwork } from "effect/net"

type Storage<E> = Layer.Layer<DeliveryStore | IntegrationStore | IdempotencyStore | Wake, E>

const engineOn = <E>(
  storage: Storage<E>,
  settings: Partial<DeliverySettingsShape>,
  transport: Layer.Layer<Transport>
) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(Notices.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        storage,
        transport,
        AbsentDirectory.layer,
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
  PostgresWake.layer.pipe(Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) })))

/** A new engine on a SQLite file, synced at each commit, that sends by undici or by what it is given. */
export const sqliteEngine = (
  filename: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) => engineOn(Layer.merge(SqliteStore.layer({ filename }), Wake.layerLocal), settings, transport)

/** A new engine on a PostgreSQL database. */
export const postgresEngine = (
  url: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) => engineOn(onPostgres(url), settings, transport)

/** Takes events in on a PostgreSQL database, and leaves their delivery to workers. */
export const postgresPublisher = (url: string) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(onPostgres(url), Dispatcher.layerNone, NodeCrypto.layer)),
    Layer.fresh
  )
