/**
 * The HTTP surface as a handler of `node:http` requests, for hosts that have a server already.
 */
import { Routes } from "@doorhook/server"
import type { ServerServices } from "@doorhook/server"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Scope } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"

export class NodeHandler extends Context.Service<
  NodeHandler,
  { readonly handle: (request: IncomingMessage, response: ServerResponse) => void }
>()("doorhook/embed/NodeHandler") {
  static readonly layer: Layer.Layer<NodeHandler, never, ServerServices> = Layer.effect(
    NodeHandler,
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const app = yield* HttpRouter.toHttpEffect(Routes)
      return { handle: yield* NodeHttpServer.makeHandler(app, { scope }) }
    }).pipe(Effect.provideService(HttpMiddleware.TracerDisabledWhen, () => true))
  ).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
}
