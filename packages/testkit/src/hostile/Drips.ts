/**
 * Receivers that answer byte by byte: never idle, never done.
 */
import type { Behaviour } from "./RawReceiver.ts"
import { onRequest } from "./RawReceiver.ts"

/** Writes the head at once, then the text byte by byte, over and over. */
const drips =
  (head: string, text: string, interval: number): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      if (head !== "") socket.write(head)
      let at = 0
      const timer = setInterval(() => socket.write(text.charAt(at++ % text.length)), interval)
      socket.on("close", () => clearInterval(timer))
    })

/** The headers come so slowly that they never end. */
export const dripsHeaders = drips("", "HTTP/1.1 200 OK\r\nx-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5)

/** The headers are there at once, the body never ends. */
export const dripsBody = drips("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "drip", 5)
