/**
 * Receivers that send endlessly, as fast as the client reads.
 */
import type { Behaviour } from "./RawReceiver.ts"
import { onRequest } from "./RawReceiver.ts"

/** Writes the head, then repeats a piece endlessly. */
const floods =
  (head: string, piece: string): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)))
      socket.write(head)
      const more = (): void => {
        // Writes at most one block per turn of the event loop, so that the test in the same process can continue.
        if (!socket.destroyed && socket.write(block)) setImmediate(more)
      }
      socket.on("drain", more)
      more()
    })

/** Sends one header without end. */
export const endlessHeader = floods("HTTP/1.1 200 OK\r\nx-bomb: ", "a")

/** Sends headers without end. */
export const endlessHeaders = floods("HTTP/1.1 200 OK\r\n", "x: y\r\n")

/** Sends a status line without end. */
export const endlessStatusLine = floods("HTTP/1.1 200 ", "a")

/** Sends empty lines without end instead of a status line. */
export const endlessEmptyLines = floods("", "\r\n")

/** Sends interim responses without end. */
export const endlessInterim = floods("", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")

/** Sends a body of absurd length. */
export const endlessBody = floods("HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", "x")

/** Sends chunks without end. */
export const endlessChunks = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "4\r\nbomb\r\n")

/** Sends a chunk whose extensions never end, so that no byte of the body is ever sent. */
export const endlessChunkExtension = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;", "a")

/** Sends trailers without end. */
export const endlessTrailers = floods("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x: y\r\n")
