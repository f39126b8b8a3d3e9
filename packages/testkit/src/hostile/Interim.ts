/**
 * Receivers that send interim responses (1xx), expected or not.
 */
import { answers, ok } from "./RawReceiver.ts"

/** Sends early hints, then responds. This is allowed. */
export const hintsEarly = answers(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`)

/**
 * Sends 100 Continue although the request did not expect it, then responds. A client may ignore unexpected interim
 * responses (RFC 9110 section 15.2), but undici fails the request.
 */
export const continues = answers(`HTTP/1.1 100 Continue\r\n\r\n${ok}`)

/** Switches to a protocol that was not requested. */
export const switchesProtocols = answers(
  "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n\u0081\u0002ok"
)
