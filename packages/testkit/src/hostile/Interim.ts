/**
 * Receivers that send answers of status 1xx, asked for or not.
 */
import { answers, ok } from "./RawReceiver.ts"

/** Hints, then answers: as it may. */
export const hintsEarly = answers(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`)

/**
 * Tells to go on with a request that did not ask, then answers. A client may ignore that (RFC 9110 section 15.2); undici
 * does not, and breaks off.
 */
export const continues = answers(`HTTP/1.1 100 Continue\r\n\r\n${ok}`)

/** Changes to a protocol that nobody asked for. */
export const switchesProtocols = answers(
  "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n\u0081\u0002ok"
)
