/**
 * The real engine without HTTP in front: publisher, store, dispatcher, sender.
 */
import {
  BuildingId,
  ClientId,
  DeliverySettings,
  DeliveryStore,
  Directory,
  Dispatcher,
  IntegrationStore,
  Publisher,
  UserId,
  Wake
} from "@doorhook/core"
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { SqliteStore } from "@doorhook/sql"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { IpNetwork } from "effect/net"
import { integrationCount, openRequests, signingSecret } from "./Workload.ts"

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

/** One integration for each building, all of them to the same receiver. */
export const createIntegrations = Effect.fnUntraced(function* (port: number) {
  const store = yield* IntegrationStore
  for (let building = 1; building <= integrationCount; building++) {
    yield* store.create({
      scope: { type: "building", id: BuildingId.make(building) },
      integrator: "webhook",
      configuration: { url: `http://127.0.0.1:${port}/hook`, method: "post" },
      bindings: [{ resource_type: "access_log", actions: ["create"] }],
      status: "enabled",
      disabled_reason: null,
      created_by: { user_id: UserId.make("admin"), client_id: ClientId.make("c1") },
      signing_secret: Redacted.make(signingSecret),
      version: 1,
      created_at: 0,
      updated_at: 0
    })
  }
})

/** Waits until so many deliveries are delivered. */
export const delivered = (count: number) =>
  Effect.flatMap(DeliveryStore, (store) => store.summary(0)).pipe(
    Effect.repeat({ until: ({ states }) => states.delivered >= count, schedule: Schedule.spaced("2 millis") })
  )
