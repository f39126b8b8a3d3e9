/**
 * Answers requests that never become one, because their head can't be read: too long, too slow, or no HTTP. Node.js would
 * answer with a status alone.
 */
import { bareAnswer, failure } from "@doorhook/server"
import type { RequestFailure } from "@doorhook/server"
import { Predicate } from "effect"
import { STATUS_CODES } from "node:http"
import type { Server } from "node:http"
import type { Duplex } from "node:stream"

/** By the codes of Node.js, which does not document what else there is. */
const refusals: Readonly<Record<string, RequestFailure>> = {
  HPE_HEADER_OVERFLOW: failure(431, {
    code: "head_too_long",
    title: "Head too long",
    detail: "The address and the headers of a request may have 16 KiB together."
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

const unreadable = failure(400, {
  code: "bad_request",
  title: "Unreadable request",
  detail: "This is no HTTP request that can be read."
})

const answerOf = (refusal: RequestFailure): string => {
  const { body, headers, status } = bareAnswer(refusal)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
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
