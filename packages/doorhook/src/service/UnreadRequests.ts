/**
 * Answers requests that never become one, because their head can't be read: too long, too slow, or no HTTP. Node.js would
 * answer with a status alone.
 */
import { requestIdHeader } from "@doorhook/server"
import { Predicate } from "effect"
import { randomBytes } from "node:crypto"
import { STATUS_CODES } from "node:http"
import type { Server } from "node:http"
import type { Duplex } from "node:stream"

interface Refusal {
  readonly status: number
  readonly code: string
  readonly detail: string
}

/** By the codes of Node.js, which does not document what else there is. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: "head_too_long",
    detail: "The address and the headers of a request may have 16 KiB together."
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: "payload_too_large", detail: "Chunk extensions are too long." },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "request_timeout", detail: "The request took too long to arrive." }
}

const unreadable: Refusal = { status: 400, code: "bad_request", detail: "This is no HTTP request that can be read." }

const answerOf = ({ code, detail, status }: Refusal): string => {
  const id = `req_${randomBytes(8).toString("hex")}`
  const body = JSON.stringify({ errors: [{ id, status: String(status), code, title: STATUS_CODES[status], detail }] })
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `${requestIdHeader}: ${id}`,
    "x-content-type-options: nosniff",
    "cache-control: no-store",
    "connection: close",
    "",
    body
  ].join("\r\n")
}

/** An answer that has begun on the connection would be mixed up with this one. */
const hasBegunToAnswer = (socket: Duplex): boolean =>
  Predicate.hasProperty(socket, "_httpMessage") &&
  Predicate.hasProperty(socket["_httpMessage"], "headersSent") &&
  socket["_httpMessage"].headersSent === true

/** Has a server answer so. */
export const answerUnread = (server: Server): Server =>
  server.on("clientError", (error: Error, socket: Duplex) => {
    if (!socket.writable || hasBegunToAnswer(socket)) return void socket.destroy(error)
    const code = "code" in error && Predicate.isString(error.code) ? error.code : ""
    socket.end(answerOf(refusals[code] ?? unreadable), () => socket.destroy(error))
  })
