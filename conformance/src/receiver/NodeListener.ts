/**
 * The receiver as a listener for node:http, and for whatever takes one: Express mounts it with `app.post(path, listener)`
 * as long as no body parser comes before it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ReceivedRequest } from "./Delivery.ts"
import type { Receiver } from "./Receiver.ts"

export interface ListenerOptions {
  /** The longest body that is read, in bytes; 1 MiB by default. */
  readonly maxBodyBytes?: number
  /** Whose request it is, where a proxy stands before this server; by default the other end of the connection. */
  readonly addressOf?: (request: IncomingMessage) => string | null
}

/** One value for each header; of one that came several times the first, as none of doorhook's does. */
export const flatHeaders = (headers: IncomingMessage["headers"]): ReceivedRequest["headers"] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]))

/** The body; null when it is too long. Rejects when the sender goes away. */
const readBody = async (request: IncomingMessage, longest: number): Promise<Buffer | null> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  // The connection stays, for the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > longest) return null
    chunks.push(part)
  }
  return Buffer.concat(chunks)
}

/**
 * How much more of a body that is too long is read, in bytes, and for how long, in milliseconds: a sender that still writes
 * when the connection is closed sees a reset instead of the answer.
 */
const reading = { bytes: 16_777_216, time: 5_000 }

/** Answers that the body is too long, and closes the connection when the sender has had the chance to see it. */
const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  const text = "the body is too long"
  response.writeHead(413, { connection: "close", "content-length": text.length }).write(text)
  let more = 0
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, reading.time)
  request
    .on("data", (chunk: Buffer) => {
      more += chunk.length
      if (more > reading.bytes) end()
    })
    .on("end", end)
    .on("close", end)
    .resume()
}

export const nodeListener = (
  receiver: Receiver,
  { addressOf, maxBodyBytes = 1_048_576 }: ListenerOptions = {}
): ((request: IncomingMessage, response: ServerResponse) => void) => {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request, maxBodyBytes)
    if (body === null) {
      refuse(request, response)
      return
    }
    const answer = await receiver.answer({
      method: request.method ?? "",
      headers: flatHeaders(request.headers),
      body,
      address: addressOf === undefined ? (request.socket.remoteAddress ?? null) : addressOf(request)
    })
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  return (request, response) => {
    respond(request, response).catch(() => {
      // The sender went away in the middle: nothing was kept and nobody waits for an answer.
      response.destroy()
    })
  }
}
