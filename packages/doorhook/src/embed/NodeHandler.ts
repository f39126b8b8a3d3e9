/**
 * The HTTP surface as a handler of `node:http` requests, for hosts that have a server already.
 */
import { isOwnPath, routerConfig, Routes } from "@doorhook/server"
import type { ServerServices } from "@doorhook/server"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Scope } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"

/**
 * Handles a request. Where the host's framework gives a `next`, as Express does, it gets the requests that are not
 * doorhook's; without one they are answered with 404.
 */
export type NodeRequestHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

export class NodeHandler extends Context.Service<NodeHandler, { readonly handle: NodeRequestHandler }>()(
  "doorhook/embed/NodeHandler"
) {
  static readonly layer: Layer.Layer<NodeHandler, never, ServerServices> = Layer.effect(
    NodeHandler,
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const app = yield* HttpRouter.toHttpEffect(Routes)
      const handleOwn = yield* NodeHttpServer.makeHandler(app, { scope })
      const handle: NodeRequestHandler = (request, response, next) => {
        if (next === undefined || isOwnPath(request.url ?? "")) handleOwn(request, response)
        else next()
      }
      return { handle }
    }).pipe(
      Effect.provideService(HttpMiddleware.TracerDisabledWhen, () => true),
      Effect.provideService(HttpRouter.RouterConfig, routerConfig)
    )
  ).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
}
