/**
 * The engine behind a port of its own.
 */
import type { Directory } from "@doorhook/core"
import { CommandFailure } from "@doorhook/core"
import { httpDefaults, PublicUrl, serve } from "@doorhook/server"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Predicate } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { headersTimeoutOf } from "../config/ServeConfig.ts"
import { httpOverrides } from "../config/SurfaceConfig.ts"
import { makeFolder } from "./DatabaseFolder.ts"
import { layer as engineLayer } from "./Engine.ts"
import { answerUnread } from "./UnreadRequests.ts"

export const defaultPort = 4_000
const defaultHost = "127.0.0.1"

/** How long open requests may take to finish when the service stops. */
const patience = "3 seconds"

/** How much longer than its head and its body may take a request is waited for, so that it can still be answered. */
const grace = 5_000

/** A client's idle connection outlives the pauses between its requests; a request that never ends does not live on. */
const makeServer = (headersTimeout: number, bodyTimeout: number) => () =>
  answerUnread(
    createServer({
      keepAliveTimeout: 65_000,
      headersTimeout,
      requestTimeout: headersTimeout + bodyTimeout + grace,
      // Node looks at neither in between.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout)
    })
  )

const listen = (port: number, host: string, server: () => Server) =>
  NodeHttpServer.layer(server, { port, host, gracefulShutdownTimeout: patience }).pipe(
    Layer.catchTag("ServeError", ({ cause }) =>
      Layer.effect(HttpServer.HttpServer, new CommandFailure({ message: explain(cause, port, host), exitCode: 1 }))
    )
  )

const explain = (cause: unknown, port: number, host: string): string => {
  if (Predicate.hasProperty(cause, "code") && cause.code === "EADDRINUSE") {
    return `Port ${port} on ${host} is in use. Stop the program that listens there, or choose another port with --port.`
  }
  return `Can't listen on ${host}:${port}: ${Predicate.isError(cause) ? cause.message : String(cause)}`
}

/** Serves until its scope is closed: then it takes no more requests, finishes what is open, and drains the engine. */
export const layer = <E, R>(config: ServeConfig, directory: Layer.Layer<Directory, E, R>) => {
  const server = Layer.unwrap(
    Effect.gen(function* () {
      const headersTimeout = yield* Effect.fromResult(headersTimeoutOf(config))
      const { bodyTimeout = httpDefaults.bodyTimeout } = yield* Effect.fromResult(httpOverrides(config))
      return listen(config.port ?? defaultPort, config.host ?? defaultHost, makeServer(headersTimeout, bodyTimeout))
    })
  )
  const publicUrl = config.publicUrl === undefined ? PublicUrl.layerListening : PublicUrl.layer(config.publicUrl)
  return serve.pipe(
    Layer.provideMerge(publicUrl),
    Layer.provideMerge(engineLayer(config, directory)),
    // A port that is in use is found out before a database is made.
    Layer.provide(Layer.effectDiscard(makeFolder(config))),
    Layer.provideMerge(server)
  )
}

/** Where the service listens, like `http://127.0.0.1:4000`. */
export const address = HttpServer.addressFormattedWith((url) => Effect.succeed(url))
