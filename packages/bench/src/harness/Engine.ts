/**
 * The real engine without HTTP in front: publisher, store, dispatcher, sender.
 */
import type { DeliverySettingsShape, Transport } from "@doorhook/core"
import { DeliverySettings, Directory, Dispatcher, Publisher, Wake } from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"

const everybody = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => Effect.succeed(true),
  administers: () => Effect.succeed(true),
  isTenant: () => Effect.succeed(true),
  buildings: () => Effect.succeed([]),
  tenants: () => Effect.succeed([])
})

/** An engine on a SQLite file, synced at each commit, that sends by undici or by what it is given. */
export const sqliteEngine = (
  filename: string,
  settings: Partial<DeliverySettingsShape> = {},
  transport: Layer.Layer<Transport> = UndiciTransport.layer()
) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        SqliteStore.layer({ filename }),
        transport,
        everybody,
        Wake.layerLocal,
        DeliverySettings.layer({ allow: [IpNetwork.fromStringUnsafe("127.0.0.0/8")], ...settings })
      )
    ),
    Layer.provideMerge(NodeCrypto.layer)
  )
