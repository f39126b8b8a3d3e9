/**
 * Receivers that respond byte by byte and never finish.
 */
import type { Behaviour } from "./RawReceiver.ts"
import { onRequest } from "./RawReceiver.ts"

/** Writes the head, then writes the text byte by byte, over and over. */
const drips =
  (head: string, text: string, interval: number): Behaviour =>
  (socket) =>
    onRequest(socket, () => {
      if (head !== "") socket.write(head)
      let at = 0
      const timer = setInterval(() => socket.write(text.charAt(at++ % text.length)), interval)
      socket.on("close", () => clearInterval(timer))
    })

/** Sends headers byte by byte, without end. */
export const dripsHeaders = drips("", "HTTP/1.1 200 OK\r\nx-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5)

/** Sends the headers immediately, then a body byte by byte without end. */
export const dripsBody = drips("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "drip", 5)
