/**
 * A `node:http` server for the surface. The server listens before other resources are acquired, and closes after they
 * are released.
 */
import { Context, Effect, Layer, Predicate, Schema } from "effect"
import { createServer, STATUS_CODES } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { isIPv6 } from "node:net"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"
import { bareAnswer, continueInTurn, responseOn } from "./HttpSurface.ts"

/** The server can't listen on this address and port. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Int,
  cause: Schema.Defect()
}) {
  override get message(): string {
    const { cause, host, port } = this
    if (Predicate.hasProperty(cause, "code") && cause.code === "EADDRINUSE") {
      return `Port ${port} on ${host} is in use. Stop the program that listens there, or choose another port with --port.`
    }
    return `Can't listen on ${host}:${port}: ${Predicate.isError(cause) ? cause.message : String(cause)}`
  }
}

export interface ListenerOptions {
  readonly host: string
  /** The port; 0 for any free port. */
  readonly port: number
  /** How long the head of a request may take to arrive, in milliseconds. */
  readonly headersTimeout: number
  /** How long the body of a request may take to arrive, in milliseconds. */
  readonly bodyTimeout: number
}

/**
 * Time by which Node's request timeout exceeds the timeouts of head and body together, in milliseconds. Therefore
 * doorhook answers a slow request before Node does.
 */
const grace = 5_000

/** How long open requests may take to finish when the server closes, in milliseconds. */
const patience = 3_000

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Responses to requests with an unreadable head, by the error codes of Node.js. */
const unreadable: Readonly<Record<string, RequestFailure>> = {
  HPE_HEADER_OVERFLOW: failure(431, {
    code: "head_too_long",
    title: "Head too long",
    detail: "The address and headers of a request must not exceed 16 KiB in total."
  }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: failure(413, {
    code: "payload_too_large",
    title: "Body too large",
    detail: "Chunk extensions are too long."
  }),
  ERR_HTTP_REQUEST_TIMEOUT: failure(408, {
    code: "request_timeout",
    title: "Request too slow",
    detail: "The request took too long to arrive."
  })
}

const notHttp = failure(400, {
  code: "bad_request",
  title: "Unreadable request",
  detail: "This is not a valid HTTP request."
})

const starting = failure(
  503,
  { code: "unavailable", title: "Temporarily unavailable", detail: "The service is starting." },
  { "retry-after": "1" }
)

const bareText = (refusal: RequestFailure): string => {
  const { body, headers, status } = bareAnswer(refusal)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
    "",
    body
  ].join("\r\n")
}

/** Answers a request whose head is too long, too slow, or not HTTP. By default, Node.js sends only a status. */
const answerUnreadable = (error: Error, socket: Duplex): void => {
  const response = responseOn(socket)
  // Finish earlier requests first, because answers must be in the order of the requests.
  if (response?.req.complete === true) return void response.once("finish", () => answerUnreadable(error, socket))
  // If another answer has begun, nothing more can be sent.
  if (!socket.writable || response?.headersSent === true) return void socket.destroy(error)
  const code = "code" in error && Predicate.isString(error.code) ? error.code : ""
  socket.end(bareText(unreadable[code] ?? notHttp), () => socket.destroy(error))
}

const endOfHead = "\r\n\r\n"

/**
 * Passes one request at a time to the parser of a connection. By default, Node parses and begins all requests that have
 * arrived together, a thousand or more. Here, pipelined requests wait in the socket until the earlier ones are answered.
 */
const serveInTurn = (socket: Socket): void => {
  const parsers = socket.listeners("data")
  socket.removeAllListeners("data")
  const parse = (bytes: Buffer): void => {
    for (const each of parsers) each.call(socket, bytes)
  }
  const hold = (rest: Buffer): void => {
    socket.pause()
    socket.unshift(rest)
  }
  let isHeld = false
  socket.on("data", (chunk: Buffer) => {
    for (let rest = chunk; rest.length > 0;) {
      // The last answer has been sent. The client may send more, which is discarded.
      if (!socket.writable) return
      // Node pauses connections too, and resumes them itself.
      if (Predicate.hasProperty(socket, "_paused") && socket["_paused"] === true) return hold(rest)
      const response = responseOn(socket)
      if (response?.req.complete === true) {
        hold(rest)
        if (isHeld) return
        isHeld = true
        return void response.once("close", () => {
          isHeld = false
          continueInTurn(() => socket.resume())
        })
      }
      // A head ends with an empty line, so this is the end of at most one request.
      const end = rest.indexOf(endOfHead)
      const length = end === -1 ? rest.length : end + endOfHead.length
      parse(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  })
}

const notStarted: RequestHandler = (_, response) => {
  const { body, headers, status } = bareAnswer(starting)
  response.writeHead(status, headers).end(body)
}

const listen = (server: Server, { host, port }: ListenerOptions): Effect.Effect<void, ListenFailed> =>
  Effect.callback((resume) => {
    const fail = (cause: Error) => resume(Effect.fail(new ListenFailed({ host, port, cause })))
    server.once("error", fail)
    server.listen(port, host, () => {
      server.off("error", fail)
      resume(Effect.void)
    })
  })

/** Stops accepting connections and waits for open requests. After `patience`, closes the remaining connections. */
const close = (server: Server, connections: ReadonlySet<Socket>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (!server.listening) return resume(Effect.void)
    // Close connections that have sent nothing, because Node counts them as busy.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    // A connection becomes idle only when its request is answered, so repeat this.
    const idle = setInterval(() => server.closeIdleConnections(), 20)
    const late = setTimeout(() => server.closeAllConnections(), patience)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(late)
      resume(Effect.void)
    })
    server.closeIdleConnections()
  })

const unspecified = new Set(["0.0.0.0", "::"])

/** Returns a server's address as a URL, with `localhost` if the server listens on all addresses. */
const urlOf = (server: Server): string => {
  const address = server.address()
  if (address === null || Predicate.isString(address)) return ""
  const host = unspecified.has(address.address) ? "localhost" : address.address
  return `http://${isIPv6(host) ? `[${host}]` : host}:${address.port}`
}

export class Listener extends Context.Service<
  Listener,
  {
    /** The server's address, like `http://127.0.0.1:4000`. */
    readonly url: string
    /**
     * Passes requests to the handler. Before this layer is built, requests get 503. Closing the layer's scope waits for
     * open requests.
     */
    readonly serve: (handle: RequestHandler) => Layer.Layer<never>
  }
>()("@doorhook/server/http/Listener") {
  /** Listens until its scope closes. */
  static layer(options: ListenerOptions): Layer.Layer<Listener, ListenFailed> {
    return Layer.effect(
      Listener,
      Effect.gen(function* () {
        const { bodyTimeout, headersTimeout } = options
        let handle = notStarted
        // Idle connections stay open for a client's next requests. Unfinished requests time out.
        const server = createServer(
          {
            keepAliveTimeout: 65_000,
            headersTimeout,
            requestTimeout: headersTimeout + bodyTimeout + grace,
            // The interval at which Node checks both timeouts.
            connectionsCheckingInterval: Math.min(1_000, headersTimeout)
          },
          (request, response) => handle(request, response)
        )
          // Ignores an unknown `Expect` header (RFC 9110 section 10.1.1). By default, Node answers such requests with a
          // bare 417.
          .on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => handle(request, response))
          .on("clientError", answerUnreadable)
        const connections = new Set<Socket>()
        server.on("connection", (socket) => {
          serveInTurn(socket)
          connections.add(socket)
          socket.once("close", () => connections.delete(socket))
        })
        yield* Effect.acquireRelease(listen(server, options), () => close(server, connections))
        return Listener.of({
          url: urlOf(server),
          serve: (given) =>
            Layer.effectDiscard(
              Effect.acquireRelease(
                Effect.sync(() => {
                  handle = given
                }),
                () => close(server, connections)
              )
            )
        })
      })
    )
  }
}
