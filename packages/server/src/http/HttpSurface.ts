/**
 * The HTTP surface: the table of routes, and the handling that all requests share. This includes request ids, client
 * addresses, 404 and 405, failures, cross-origin rules and common headers.
 *
 * A request becomes an `Exchange`, its route returns an `Effect<Answer>`, and the answer is written back to the
 * request's source. A handler that returns an `Exit` needs no fiber.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Predicate } from "effect"
import type { Scope } from "effect"
import { randomFillSync } from "node:crypto"
import { ServerResponse } from "node:http"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { AnswerWriter, requestIdHeader } from "./AnswerWriter.ts"
import type { Outgoing, WebAnswer } from "./AnswerWriter.ts"
import type { BodyReader } from "./BodyReader.ts"
import { makeBodyReader } from "./BodyReader.ts"
import { makeClientAddress } from "./ClientAddress.ts"
import { isRepeated, repeatedAuthorization } from "./Credentials.ts"
import type { BodyExit, Exchange, Incoming, ReadBody } from "./Exchange.ts"
import { fromWeb, NodeRequest } from "./Exchange.ts"
import type { KnownError, RequestFailure } from "./Failures.ts"
import {
  failureBody,
  FailureLog,
  internalError,
  notAllowed,
  notFound,
  nothingHere,
  outcomeOf,
  stopped
} from "./Failures.ts"
import type { HttpSettingsShape } from "./HttpSettings.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { json } from "./MediaType.ts"
import { metadataPath, resourceMetadataPath } from "./OwnPaths.ts"
import { costOf, costOfPieces, OpenAnswers } from "./OpenAnswers.ts"
import type { Answer, Face, Params, Resource, Route } from "./Route.ts"
import { isPieces, isPlainlySpelled, makeTable } from "./Route.ts"

const noBody = new Uint8Array()

const isExit = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

/** Matches the request ids of clients if they are safe in headers and log lines. doorhook replaces other ids. */
const acceptableId = /^[\w.:-]{1,128}$/

const idPool = Buffer.alloc(4_096)
let idsUsed = idPool.length

const newId = (): string => {
  if (idsUsed === idPool.length) {
    randomFillSync(idPool)
    idsUsed = 0
  }
  idsUsed += 8
  return `req_${idPool.toString("hex", idsUsed - 8, idsUsed)}`
}

class ReceivedRequest implements Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly address: string | null
  readonly peer: string | null
  client: string | null
  also: Readonly<Record<string, string>> = {}
  readonly #incoming: Incoming
  readonly #bodies: BodyReader
  readonly #open: OpenAnswers

  constructor(incoming: Incoming, address: string | null, bodies: BodyReader, open: OpenAnswers) {
    const given = incoming.header(requestIdHeader)
    this.id = given !== undefined && acceptableId.test(given) ? given : newId()
    this.method = incoming.method === "HEAD" ? "GET" : incoming.method
    const { target } = incoming
    const at = target.indexOf("?")
    this.path = at === -1 ? target : target.slice(0, at)
    this.query = at === -1 ? "" : target.slice(at + 1)
    this.address = address
    this.client = address
    this.peer = incoming.peer
    this.#incoming = incoming
    this.#bodies = bodies
    this.#open = open
  }

  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  headers(): Readonly<Record<string, string>> {
    return this.#incoming.headers()
  }

  piecesRefusal(): RequestFailure | null {
    return this.#open.refusalOf(this.client, costOfPieces)
  }

  read(limit: number, done: (body: BodyExit) => void): () => void {
    return this.#bodies.read(this.#incoming.body(), limit, done)
  }
}

const inJson = (x: Exchange, refusal: RequestFailure): Answer => ({
  status: refusal.status,
  headers: { "content-type": json, ...refusal.headers, vary: "Accept", "cache-control": "no-store" },
  body: failureBody(x.id, refusal)
})

/** Formats failures as plain JSON error documents. */
export const jsonFace: Face = { refuse: (x, refusal) => Exit.succeed(inJson(x, refusal)) }

/** The failure formats of each part of the surface, for addresses without a route. */
export interface Faces {
  readonly api: Face
  readonly oauth: Face
}

const atRoot = notFound(
  "This is a doorhook service. Its console is at /console, and its API description at /openapi.json."
)

const isBelow = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/")

/**
 * Request headers that browsers may send across origins. `exposedHeaders` are the response headers that pages may read.
 */
const preflightHeaders = {
  "access-control-allow-headers":
    "authorization, content-type, accept, idempotency-key, if-match, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-request-id",
  "access-control-max-age": "600"
} as const
const exposedHeaders =
  "etag, location, mcp-protocol-version, mcp-session-id, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id"

const withVary = (headers: Answer["headers"]): Answer["headers"] => ({
  ...headers,
  vary: headers["vary"] === undefined ? "Origin" : `${headers["vary"]}, Origin`
})

export class HttpSurface extends Context.Service<
  HttpSurface,
  {
    /** Answers a `node:http` request. `body` is the request's body if it was already read. */
    readonly handle: (request: IncomingMessage, response: ServerResponse, body?: ReadBody) => void
    /** Answers a web request. Rejects if the client has disconnected. */
    readonly fetch: (request: Request, peer: string | null) => Promise<Response>
    /** Answers any request. The answer to HEAD still includes the body, unless it is in pieces. */
    readonly answer: (incoming: Incoming) => Effect.Effect<WebAnswer>
  }
>()("@doorhook/server/http/HttpSurface") {}

/** Builds the surface from its routes. Requests use the loggers and tracers of the current context. */
export const makeHttpSurface = Effect.fnUntraced(function* (
  routes: ReadonlyArray<Route>,
  faces: Faces
): Effect.fn.Return<HttpSurface["Service"], never, Scope.Scope> {
  const settings = yield* HttpSettings
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const forkIn = Effect.runForkWith(context)
  const fork: Fork = (effect) => Fiber.runIn(forkIn(effect), scope)
  const openAnswers = new OpenAnswers(settings, (metric, value) => metric.updateUnsafe(value, context))
  const bodies = makeBodyReader(settings.bodyTimeout, Context.get(context, Clock.Clock), fork)
  const requests = new Requests({ routes, faces, settings, fork, bodies, openAnswers })
  const writer = new AnswerWriter(settings.unreadTimeout, fork, () => openAnswers.countClosed())
  return {
    handle: (request, response, body) => {
      const begin = (): void => {
        const cancel = requests.respond(new NodeRequest(request, body), (given) =>
          writer.send(request, response, given)
        )
        if (cancel !== null) response.once("close", cancel)
      }
      if (isFirst(request, response)) begin()
      else waitForTurn(request.socket, response, begin)
    },
    fetch: (request, peer) =>
      new Promise((resolve, reject) => {
        request.signal.throwIfAborted()
        const cancel = requests.respond(fromWeb(request, peer), (given) => resolve(writer.webResponse(request, given)))
        if (cancel === null) return
        request.signal.addEventListener("abort", () => {
          cancel()
          reject(request.signal.reason)
        })
      }),
    answer: (incoming) =>
      Effect.callback((resume) => {
        const isHead = incoming.method === "HEAD"
        const cancel = requests.respond(incoming, (given) => resume(Effect.succeed(writer.webAnswer(given, isHead))))
        return Effect.sync(() => cancel?.())
      })
  }
})

type Fork = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

/** The route for a request, or the answer if no route handles it. */
type Target =
  | { readonly route: Route; readonly params: Params; readonly resource: Resource }
  | { readonly answer: Effect.Effect<Answer>; readonly resource?: Resource }

/** Answers requests: finds the route, runs its handler, and turns failures into answers. */
class Requests {
  readonly #find: ReturnType<typeof makeTable>
  readonly #faces: Faces
  readonly #fork: Fork
  readonly #bodies: BodyReader
  readonly #openAnswers: OpenAnswers
  readonly #failures: FailureLog
  readonly #addressOf: ReturnType<typeof makeClientAddress>
  readonly #origins: ReadonlySet<string>

  constructor({
    bodies,
    faces,
    fork,
    openAnswers,
    routes,
    settings
  }: {
    readonly routes: ReadonlyArray<Route>
    readonly faces: Faces
    readonly settings: HttpSettingsShape
    readonly fork: Fork
    readonly bodies: BodyReader
    readonly openAnswers: OpenAnswers
  }) {
    this.#find = makeTable(routes)
    this.#faces = faces
    this.#fork = fork
    this.#bodies = bodies
    this.#openAnswers = openAnswers
    this.#failures = new FailureLog(fork)
    this.#addressOf = makeClientAddress(settings.trustedProxies, fork)
    this.#origins = new Set(settings.browserOrigins)
  }

  /** Answers a request. Returns a function that cancels the request, or null if it has already been answered. */
  respond(incoming: Incoming, done: Done): (() => void) | null {
    const x: Exchange = new ReceivedRequest(incoming, this.#addressOf(incoming), this.#bodies, this.#openAnswers)
    const target = this.#targetOf(incoming, x)
    const face = "route" in target ? target.route.face : jsonFace
    const finish = (answer: Answer): void => {
      if (this.#origins.size === 0) return this.#counted(incoming, x, face, answer, done)
      const headers = withVary({ ...answer.headers, ...this.#crossOrigin(incoming, target.resource) })
      this.#counted(incoming, x, face, { ...answer, headers }, done)
    }
    if (!("route" in target)) return this.#settle(x, target.answer, finish)
    const { params, route } = target
    if (route.bodyFirst === undefined) return this.#settle(x, this.#handled(x, route, params, noBody), finish)
    let cancel: (() => void) | null = null
    let isRead = false
    const stop = x.read(route.bodyFirst, (body) => {
      isRead = true
      const answer = Exit.isSuccess(body)
        ? this.#handled(x, route, params, body.value)
        : this.#recovered(x, route.face, Exit.failCause(body.cause))
      cancel = this.#settle(x, answer, finish)
    })
    return () => (isRead ? cancel?.() : stop())
  }

  #targetOf(incoming: Incoming, x: Exchange): Target {
    const refusal = !isPlainlySpelled(x.path) ? nothingHere : isRepeated(incoming) ? repeatedAuthorization : null
    if (refusal !== null) return { answer: this.#neighbours(x.path).refuse(x, refusal) }
    const match = this.#find(x.path)
    if (match === null) {
      return { answer: this.#neighbours(x.path).refuse(x, x.path === "/" ? atRoot : nothingHere) }
    }
    const { params, resource } = match
    const route = resource.routes.get(x.method) ?? resource.routes.get("*")
    if (route !== undefined) return { route, params, resource }
    if (x.method === "OPTIONS" && incoming.header("access-control-request-method") !== undefined) {
      const shared = this.#crossOrigin(incoming, resource)
      const headers = { ...preflightHeaders, "access-control-allow-methods": resource.allow }
      if (shared !== null) return { answer: Exit.succeed({ status: 204, headers, body: null }), resource }
    }
    const [neighbour] = resource.routes.values()
    return { answer: (neighbour?.face ?? jsonFace).refuse(x, notAllowed(resource.allow)), resource }
  }

  /** Returns the failure format for an address without a route: the format of neighbouring routes. */
  #neighbours(path: string): Face {
    const { api, oauth } = this.#faces
    if (isBelow(path, "/v4")) return api
    const isOAuth = ["/oauth", metadataPath, resourceMetadataPath].some((prefix) => isBelow(path, prefix))
    return isOAuth ? oauth : jsonFace
  }

  /** Returns CORS headers for the browser's origin; null if the origin or the resource is not open to other origins. */
  #crossOrigin(incoming: Incoming, resource: Resource | undefined): Answer["headers"] | null {
    const origin = this.#origins.size === 0 ? undefined : incoming.header("origin")
    if (origin === undefined || !this.#origins.has(origin)) return null
    if (resource === undefined || ![...resource.routes.values()].some((route) => route.crossOrigin === true))
      return null
    return { "access-control-allow-origin": origin, "access-control-expose-headers": exposedHeaders }
  }

  #handled(x: Exchange, { face, handle }: Route, params: Params, body: Uint8Array): Effect.Effect<Answer> {
    try {
      return this.#recovered(x, face, handle(x, params, body))
    } catch (defect) {
      return this.#recovered(x, face, Exit.die(defect))
    }
  }

  /** Turns failures of a handler into answers, and logs those that are not the caller's fault. */
  #recovered(x: Exchange, { refuse }: Face, answer: Effect.Effect<Answer, KnownError>): Effect.Effect<Answer> {
    if (!isExit(answer)) {
      return Effect.catchCause(answer, (cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        const { refusal, why } = outcomeOf(cause)
        return why === null ? refuse(x, refusal) : Effect.andThen(this.#failures.entry(why), refuse(x, refusal))
      })
    }
    if (Exit.isSuccess(answer)) return Exit.succeed(answer.value)
    const { refusal, why } = outcomeOf(answer.cause)
    if (why !== null) this.#log(x, this.#failures.entry(why))
    return refuse(x, refusal)
  }

  #log(x: Exchange, entry: Effect.Effect<void>): void {
    this.#fork(Effect.annotateLogs(entry, "request_id", x.id))
  }

  /**
   * Runs an effect and passes its answer to `done`. Returns a function that cancels the effect, or null if the effect
   * has already finished.
   */
  #settle(x: Exchange, answer: Effect.Effect<Answer>, done: (answer: Answer) => void): (() => void) | null {
    if (isExit(answer)) {
      done(Exit.isSuccess(answer) ? answer.value : inJson(x, internalError))
      return null
    }
    let isCancelled = false
    const fiber = this.#fork(Effect.annotateLogs(answer, "request_id", x.id))
    fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit)) return done(exit.value)
      // Nobody reads the answer to a cancelled request. Other interruptions come from closing the surface.
      if (Cause.hasInterruptsOnly(exit.cause)) return isCancelled ? undefined : done(inJson(x, stopped))
      this.#log(x, Effect.logError("Can't build the answer to a failed request", exit.cause))
      done(inJson(x, internalError))
    })
    if (fiber.pollUnsafe() !== undefined) return null
    return () => {
      isCancelled = true
      fiber.interruptUnsafe()
    }
  }

  /**
   * Counts a large answer until it is closed. Passes on the refusal if it exceeds a budget. Only answers to GET are
   * refused, because other requests have changed something.
   */
  #counted(incoming: Incoming, x: Exchange, face: Face, answer: Answer, done: Done): void {
    const cost = incoming.method === "HEAD" ? 0 : costOf(answer)
    if (cost === 0) return done({ answer, x, close: closeOf(answer) })
    const refusal = incoming.method === "GET" ? this.#openAnswers.refusalOf(x.client, cost) : null
    if (refusal === null) return done({ answer, x, close: this.#openAnswers.open(x.client, cost) })
    this.#settle(x, face.refuse(x, refusal), (refused) => done({ answer: refused, x, close: notCounted }))
  }
}

/** Passes on the answer to a request. */
type Done = (given: Outgoing) => void

const notCounted = (): void => undefined

/** Returns a function that ends a stream. */
const closeOf = ({ body }: Answer): (() => void) =>
  body !== null && isPieces(body) && body.live !== undefined ? body.live.close : notCounted

/** Returns the response that a connection is sending or will send next; null if no request is open. */
export const responseOn = (socket: Duplex): ServerResponse | null =>
  Predicate.hasProperty(socket, "_httpMessage") && socket["_httpMessage"] instanceof ServerResponse
    ? socket["_httpMessage"]
    : null

/** Whether no earlier request on the connection is still to be answered. HTTP/2 has no order of answers. */
const isFirst = (request: IncomingMessage, response: ServerResponse): boolean => {
  if (request.httpVersionMajor !== 1 || response.socket !== null) return true
  return responseOn(request.socket) === null
}

/** Connections with pipelined requests that may continue. */
const pipelines: Array<() => void> = []

const continueNext = (): void => {
  pipelines.shift()?.()
  if (pipelines.length > 0) setImmediate(continueNext)
}

/**
 * Lets a connection continue with its next pipelined request: one connection per turn of the event loop, so that the
 * requests of other clients wait for at most one of them per turn.
 */
export const continueInTurn = (next: () => void): void => {
  if (pipelines.push(next) === 1) setImmediate(continueNext)
}

/** Number of pipelined requests that may wait on a host's connection. More of them close it. */
const mostWaiting = 100

/** Numbers of waiting requests by connection. */
const waitingOn = new WeakMap<Socket, number>()

/**
 * Begins a pipelined request when all earlier ones on its connection are answered, so that pipelining gives a client no
 * larger share. `Listener` leaves pipelined requests in the socket, but a host's server has already read them.
 */
const waitForTurn = (socket: Socket, response: ServerResponse, begin: () => void): void => {
  const waiting = (waitingOn.get(socket) ?? 0) + 1
  waitingOn.set(socket, waiting)
  if (waiting > mostWaiting) return void socket.destroy()
  response.once("socket", () => {
    waitingOn.set(socket, (waitingOn.get(socket) ?? 1) - 1)
    continueInTurn(begin)
  })
}

/**
 * Makes an answer to a request that no route handles, for example because it can't be read or the service is still
 * starting.
 */
export const bareAnswer = (refusal: RequestFailure): Answer & { readonly id: string; readonly body: string } => {
  const id = newId()
  const body = failureBody(id, refusal)
  const headers = {
    ...refusal.headers,
    "content-type": json,
    "content-length": String(Buffer.byteLength(body)),
    [requestIdHeader]: id,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store"
  }
  return { id, status: refusal.status, headers, body }
}
