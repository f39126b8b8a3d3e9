/**
 * Receivers that break the connection at each stage of a request.
 */
import type { Behaviour } from "./RawReceiver.ts"
import { onRequest } from "./RawReceiver.ts"

/** Resets immediately after accepting. */
export const resetsOnConnect: Behaviour = (socket) => {
  socket.resetAndDestroy()
}

/** Resets when the first bytes of the request arrive. */
export const resetsOnFirstBytes: Behaviour = (socket) => {
  socket.once("data", () => socket.resetAndDestroy())
  socket.resume()
}

/** Resets when the request is complete. */
export const resetsAfterRequest: Behaviour = (socket) => onRequest(socket, () => socket.resetAndDestroy())

/** Writes these bytes, and resets once they are sent. */
const writesAndResets =
  (bytes: string): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20)))

export const resetsInHeaders = writesAndResets("HTTP/1.1 200 OK\r\ncontent-le")
export const resetsInBody = writesAndResets("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok")

/** Closes the connection gracefully, without a response. */
export const endsWithoutAnswer: Behaviour = (socket) => onRequest(socket, () => socket.end())

/** Closes the connection gracefully, in the middle of the headers. */
export const endsInHeaders: Behaviour = (socket) => onRequest(socket, () => socket.end("HTTP/1.1 200 OK\r\ncontent-le"))

/** Responds before the request is complete, and resets. */
export const answersEarlyAndResets: Behaviour = (socket) => {
  socket.once("data", () =>
    socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", () =>
      setTimeout(() => socket.resetAndDestroy(), 20)
    )
  )
  socket.resume()
}
