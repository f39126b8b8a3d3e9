/**
 * What doorhook needs from outside, as this package has it, and an application's own in place of any of it.
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

/** Whatever is stored. These come together: most of what is done to one is done to others in the same transaction. */
export type StoragePort = DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore

/** What an application may have of its own. */
export type Port = StoragePort | WakeSignal | Transport | Crypto | NameResolver

const storagePorts = [DeliveryStore, IntegrationStore, IdempotencyStore, TokenStore, ClientStore, SettingStore]

/** The application's own, or the other. */
const ownOr = <I, S, E, R>(
  own: Context.Context<never>,
  port: Context.Service<I, S>,
  other: Layer.Layer<I, E, R>
): Layer.Layer<I, E, R> =>
  Option.match(Context.getOption(own, port), { onNone: () => other, onSome: (given) => Layer.succeed(port, given) })

/** A part of the stores can't be the application's and the rest another database's. */
const incomplete = (missing: ReadonlyArray<{ readonly key: string }>) =>
  new InvalidConfig({
    message: `ports: the stores come together; missing are ${missing.map(({ key }) => key.split("/").at(-1)).join(", ")}`
  })

/** The application's own stores, woken within this process alone, or the database of the settings. */
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

/** All ports but the directory and cryptography. */
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

/** Cryptography, which a directory may need too. */
export const cryptoLayer = (own: Context.Context<never>): Layer.Layer<Crypto> => ownOr(own, Crypto, NodeCrypto.layer)
