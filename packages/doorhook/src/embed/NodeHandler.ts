/**
 * The HTTP surface as a handler of `node:http` requests, for hosts that have a server already.
 */
import { bareAnswer, failure, internalError, makeHandlers } from "@doorhook/server"
import type { Handlers, ServerServices } from "@doorhook/server"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Predicate, Scope } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { closedError, DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"
import type { OpenCalls } from "./OpenCalls.ts"
import { parsedBodyOf } from "./ParsedBody.ts"
import { toWebRequest, writeResponse } from "./WebRequests.ts"

/**
 * Handles a request. Where the host's framework gives a `next`, as Express does, it gets the requests that are not
 * doorhook's, and the errors of the host's own making; without one they are answered with 404 and 503.
 */
export type NodeRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void
) => void

/** Handles requests that are doorhook's: those of `node:http` whose body nobody has read, and web requests. */
export class OwnHandlers extends Context.Service<
  OwnHandlers,
  { readonly handle: (request: IncomingMessage, response: ServerResponse) => void; readonly fetch: Handlers["fetch"] }
>()("doorhook/embed/OwnHandlers") {
  static readonly layer: Layer.Layer<OwnHandlers, never, ServerServices> = Layer.effect(
    OwnHandlers,
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const { app, fetch } = yield* makeHandlers
      return { handle: yield* NodeHttpServer.makeHandler(app, { scope }), fetch }
    })
  ).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
}

/** The handlers that a host's handler is made of. */
export interface HostHandlerOptions {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  readonly fetch: (request: Request, peer: { readonly remoteAddress?: string | undefined }) => Promise<Response>
  readonly isClosed: () => boolean
  /** Whether the target of a request is doorhook's. */
  readonly isOwn: (target: string) => boolean
  /** Is told of each request that is doorhook's. */
  readonly seen: (request: IncomingMessage) => void
  readonly open: OpenCalls
  /** Logs an error that nobody else is told of, under the id that the caller was answered with. */
  readonly log: (requestId: string, error: Error) => void
}

const stopped = failure(503, {
  code: "unavailable",
  title: "Temporarily unavailable",
  detail: "The service has stopped."
})

/** Tells an error to the host's framework; without one to the log, and the caller nothing of the host's inside. */
const refuse = (
  error: Error,
  response: ServerResponse,
  next: ((error?: unknown) => void) | undefined,
  log: HostHandlerOptions["log"]
): void => {
  if (next !== undefined) return next(error)
  const isClosed = error instanceof DoorhookError && error.code === "closed"
  const { body, headers, id, status } = bareAnswer(isClosed ? stopped : internalError)
  if (!isClosed) log(id, error)
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, headers).end(body)
}

/** Given something else than a server of `node:http` gives, like the request of a framework for the web. */
const noResponse = (given: unknown): DoorhookError =>
  badArgument("response", "a response of node:http", given, "; web requests are for doorhook.fetch")

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** The handler for the host: of what is doorhook's, with or without a body parser in front. */
export const makeHostHandler =
  ({ fetch, handle, isClosed, isOwn, log, open, seen }: HostHandlerOptions): NodeRequestHandler =>
  (request, response, next) => {
    const own = isOwn(request.url ?? "")
    if (next !== undefined && !own) return next()
    if (isClosed()) return refuse(closedError(), response, next, log)
    if (!Predicate.hasProperty(response, "once")) throw noResponse(response)
    // Another's address says nothing of where doorhook is mounted.
    if (own) seen(request)
    // Who hung up while the host did something before is gone already, and says so once only.
    if (!response.closed) void open.track(new Promise((resolve) => response.once("close", resolve)))
    try {
      const body = parsedBodyOf(request)
      const again = body === null ? null : toWebRequest(request, body)
      if (again === null) return handle(request, response)
      fetch(again, { remoteAddress: request.socket.remoteAddress })
        .then((answer) => writeResponse(answer, response))
        .catch((error: unknown) => refuse(asError(error), response, next, log))
    } catch (error) {
      refuse(asError(error), response, next, log)
    }
  }
