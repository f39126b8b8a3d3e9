/**
 * Adapters for requests and responses of node:http (and Express), the web (`Request` and `Response`), and Fastify.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Answer, ReceivedRequest } from "./Delivery.ts"
import { Refusal } from "./Problem.ts"

const consumed = (): Refusal =>
  new Refusal(500, "a body parser ran before the receiver", {
    kind: "body_consumed",
    message:
      "a body parser read the request before the receiver, so its signature can't be verified: mount the receiver before it (in Express, above `express.json()`)"
  })

/**
 * Returns the unparsed bytes of a body that was read before. `express.raw()` stores them in `request.body`, and
 * serverless platforms in `request.rawBody`.
 */
const bytesLeftOn = (request: IncomingMessage): Uint8Array => {
  for (const name of ["rawBody", "body"]) {
    const left: unknown = Reflect.get(request, name)
    if (left instanceof Uint8Array) return left
  }
  throw consumed()
}

/** Adapts a request of node:http, or of a framework that extends it, like Express. */
export const nodeRequest = (request: IncomingMessage): ReceivedRequest => ({
  method: request.method ?? "",
  url: request.url ?? "/",
  headers: Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value])
  ),
  address: request.socket.remoteAddress ?? null,
  source: request,
  body: async (maxBytes) => {
    if (request.readableDidRead) {
      const bytes = bytesLeftOn(request)
      return bytes.length > maxBytes ? null : bytes
    }
    const chunks: Array<Buffer> = []
    let length = 0
    // `destroyOnReturn: false` keeps the connection open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk)
      length += bytes.length
      if (length > maxBytes) return null
      chunks.push(bytes)
    }
    return Buffer.concat(chunks)
  }
})

/** How much of an unread body to read after the response, and for how long, before closing the connection. */
const drain = { bytes: 16_777_216, ms: 5_000 }

/**
 * Sends a response. If the body was not read to its end, reads on for a while before closing the connection. Closing
 * the connection while the sender still writes would reset it, and the sender would miss the response.
 */
export const sendAnswer = (
  { body, headers, status }: Answer,
  request: IncomingMessage,
  response: ServerResponse
): void => {
  if (request.complete || request.destroyed) {
    response.writeHead(status, headers).end(body)
    return
  }
  const length = String(Buffer.byteLength(body))
  response.writeHead(status, { ...headers, connection: "close", "content-length": length }).write(body)
  let read = 0
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, drain.ms)
  request
    .on("data", (chunk: Buffer) => {
      read += chunk.length
      if (read > drain.bytes) end()
    })
    .on("end", end)
    .on("close", end)
    .resume()
}

/** Adapts a web request, as in Hono, Next.js, Bun and Deno. */
export const webRequest = (request: Request, address: string | null): ReceivedRequest => ({
  method: request.method,
  url: request.url.replace(/^[a-z]+:\/\/[^/]*/i, ""),
  headers: Object.fromEntries(request.headers),
  address,
  source: request,
  body: async (maxBytes) => {
    if (request.bodyUsed) throw consumed()
    const chunks: Array<Uint8Array> = []
    let length = 0
    for await (const chunk of request.body ?? []) {
      length += chunk.length
      if (length > maxBytes) return null
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
})

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyHost {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: IncomingMessage, done: (error: Error | null) => void) => void
  ): unknown
  route(route: {
    readonly method: Array<string>
    readonly url: string
    readonly handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown }
    ) => void
  }): unknown
}

export type FastifyPlugin = (instance: FastifyHost, options: object, done: (error?: Error) => void) => void

/**
 * Makes a Fastify plugin from a listener. The plugin handles requests to the `prefix` that it is registered with. The
 * host's body parsers don't run for these requests.
 */
export const fastifyPlugin =
  (listener: (request: IncomingMessage, response: ServerResponse) => void): FastifyPlugin =>
  (instance, _, done) => {
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
    instance.route({
      method: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
      url: "/",
      handler: ({ raw }, reply) => {
        reply.hijack()
        listener(raw, reply.raw)
      }
    })
    done()
  }
