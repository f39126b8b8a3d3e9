/**
 * The real engine without HTTP in front: publisher, store, dispatcher, sender.
 */
import { DeliverySettings, Directory, Dispatcher, Publisher, Wake } from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"
import { openRequests } from "./Workload.ts"

const everybody = Layer.succeed(Directory, {
  client: () => Effect.succeed(null),
  authenticate: () => Effect.succeed(null),
  isActive: () => Effect.succeed(true),
  administers: () => Effect.succeed(true),
  isTenant: () => Effect.succeed(true),
  buildings: () => Effect.succeed([]),
  tenants: () => Effect.succeed([])
})

/** An engine on a SQLite file, synced at each commit, with about 64 requests open. */
export const sqliteEngine = (filename: string) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        SqliteStore.layer({ filename }),
        UndiciTransport.layer(),
        everybody,
        Wake.layerLocal,
        // Access logs use four fifths of all places.
        DeliverySettings.layer({
          concurrency: (openRequests * 5) / 4,
          allow: [IpNetwork.fromStringUnsafe("127.0.0.0/8")]
        })
      )
    ),
    Layer.provideMerge(NodeCrypto.layer)
  )
