/**
 * The engine with an HTTP listener.
 */
import type { Directory } from "@doorhook/core"
import { CommandFailure } from "@doorhook/core"
import { httpDefaults, Listener, PublicUrl, serve, serviceUrl } from "@doorhook/server"
import { Context, Effect, Layer } from "effect"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { headersTimeoutOf } from "../config/ServeConfig.ts"
import { httpOverrides } from "../config/SurfaceConfig.ts"
import { makeFolder } from "./DatabaseFolder.ts"
import { layer as engineLayer } from "./Engine.ts"

export const defaultPort = 4_000
export const defaultHost = "127.0.0.1"

/**
 * Serves until its scope is closed. `own` contains ports and routes in addition to doorhook's. Then it accepts no more requests, finishes open requests, and drains the engine.
 */
export const layer = <E, R>(
  config: ServeConfig,
  directory: Layer.Layer<Directory, E, R>,
  own: Context.Context<never> = Context.empty()
) => {
  const listener = Layer.unwrap(
    Effect.gen(function* () {
      const headersTimeout = yield* Effect.fromResult(headersTimeoutOf(config))
      const { bodyTimeout = httpDefaults.bodyTimeout } = yield* Effect.fromResult(httpOverrides(config))
      const { host = defaultHost, port = defaultPort } = config
      return Listener.layer({ host, port, headersTimeout, bodyTimeout })
    })
  ).pipe(
    Layer.catchTag("ListenFailed", ({ message }) =>
      Layer.effect(Listener, new CommandFailure({ message, exitCode: 1 }))
    )
  )
  const publicUrl = config.publicUrl === undefined ? PublicUrl.layerListening : PublicUrl.layer(config.publicUrl)
  return serve.pipe(
    Layer.provideMerge(publicUrl),
    Layer.provideMerge(engineLayer(config, directory, own)),
    Layer.provideMerge(serviceUrl.pipe(Layer.provide(publicUrl))),
    // The listener starts first, so that no database is created if the port is in use.
    Layer.provide(Layer.effectDiscard(makeFolder(config))),
    Layer.provideMerge(listener)
  )
}

/** The service's address, like `http://127.0.0.1:4000`. */
export const address = Effect.map(Listener, ({ url }) => url)
