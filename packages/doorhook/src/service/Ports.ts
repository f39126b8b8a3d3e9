/**
 * Provides the ports that doorhook needs. An application can replace any of these implementations.
 */
import {
  ClientStore,
  Crypto,
  DeliveryStore,
  IdempotencyStore,
  IntegrationStore,
  NameResolver,
  SettingStore,
  TokenStore,
  Transport,
  WakeSignal
} from "@doorhook/core"
import { NodeCrypto, NodeNameResolver, UndiciTransport } from "@doorhook/node"
import { Context, Effect, Layer, Option, Result } from "effect"
import { authoritiesOf } from "../config/Authorities.ts"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { egressProxyOf } from "../config/EngineConfig.ts"
import { collect, InvalidConfig } from "../config/ReadingSettings.ts"
import { tracedTransport } from "../telemetry/Spans.ts"
import * as Database from "./Database.ts"
import * as FileOwner from "./FileOwner.ts"

/** The stores. An application must replace all of them or none, because most transactions change several stores. */
export type StoragePort = DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore

/** Ports that an application can replace. */
export type Port = StoragePort | WakeSignal | Transport | Crypto | NameResolver

const storagePorts = [DeliveryStore, IntegrationStore, IdempotencyStore, TokenStore, ClientStore, SettingStore]

/** Returns the application's port if it provides one, otherwise the default. */
const ownOr = <I, S, E, R>(
  own: Context.Context<never>,
  port: Context.Service<I, S>,
  other: Layer.Layer<I, E, R>
): Layer.Layer<I, E, R> =>
  Option.match(Context.getOption(own, port), { onNone: () => other, onSome: (given) => Layer.succeed(port, given) })

/** Returns the error for an application that replaces only some of the stores. */
const incomplete = (missing: ReadonlyArray<{ readonly key: string }>) =>
  new InvalidConfig({
    message: `ports: replace all stores or none; missing are ${missing.map(({ key }) => key.split("/").at(-1)).join(", ")}`
  })

/** Provides the configured database, or the application's stores with wake signals that reach only this process. */
const storageOf = (config: EngineConfig, own: Context.Context<never>) => {
  const database = Layer.unwrap(
    Effect.map(FileOwner.FileOwner, ({ evicted }) => Database.layer({ ...config, evicted }))
  ).pipe(Layer.provide(FileOwner.layer(config)))
  const missing = storagePorts.filter(({ key }) => !own.mapUnsafe.has(key))
  if (missing.length === storagePorts.length) return database
  if (missing.length > 0) return Layer.unwrap(Effect.as(Effect.fail(incomplete(missing)), database))
  return Layer.mergeAll(
    ownOr(own, DeliveryStore, database),
    ownOr(own, IntegrationStore, database),
    ownOr(own, IdempotencyStore, database),
    ownOr(own, TokenStore, database),
    ownOr(own, ClientStore, database),
    ownOr(own, SettingStore, database),
    WakeSignal.layerLocal
  )
}

/** Provides all ports except the directory and cryptography. */
export const layer = (config: EngineConfig, own: Context.Context<never>) => {
  const transport = tracedTransport(
    ownOr(
      own,
      Transport,
      Layer.unwrap(
        Effect.fromResult(
          Result.map(
            collect({ proxy: egressProxyOf(config), authorities: authoritiesOf(config) }),
            ({ authorities, proxy }) => UndiciTransport.layer({ authorities, ...(proxy !== null && { proxy }) })
          )
        )
      )
    )
  )
  const storage = storageOf(config, own)
  return Layer.mergeAll(
    storage,
    ownOr(own, WakeSignal, storage),
    transport,
    ownOr(own, NameResolver, NodeNameResolver.layer)
  )
}

/** Provides cryptography. Separate from the other ports, because the directory might need cryptography. */
export const cryptoLayer = (own: Context.Context<never>): Layer.Layer<Crypto> => ownOr(own, Crypto, NodeCrypto.layer)
