/**
 * Receivers that send endlessly, as fast as the client reads.
 */
import type { Behaviour } from "./RawReceiver.ts"
import { onRequest } from "./RawReceiver.ts"

/** Writes the head, then the same piece endlessly. */
const floods =
  (head: string, piece: string): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)))
      socket.write(head)
      const more = (): void => {
        // At most one block per turn of the event loop, so that the test's own process can go on.
        if (!socket.destroyed && socket.write(block)) setImmediate(more)
      }
      socket.on("drain", more)
      more()
    })

/** One header without end. */
export const endlessHeader = floods("HTTP/1.1 200 OK\r\nx-bomb: ", "a")

/** Headers without end. */
export const endlessHeaders = floods("HTTP/1.1 200 OK\r\n", "x: y\r\n")

/** A status line without end. */
export const endlessStatusLine = floods("HTTP/1.1 200 ", "a")

/** Empty lines without end, before the status line. */
export const endlessEmptyLines = floods("", "\r\n")

/** Interim answers without end. */
export const endlessInterim = floods("", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")

/** A body with an absurd length. */
export const endlessBody = floods("HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", "x")

/** Chunks without end. */
export const endlessChunks = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "4\r\nbomb\r\n")

/** A chunk whose extensions never end, so that no byte of the body ever comes. */
export const endlessChunkExtension = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;", "a")

/** Trailers without end. */
export const endlessTrailers = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x: y\r\n")
