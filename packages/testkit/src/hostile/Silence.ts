/**
 * Receivers that take the connection and give nothing.
 */
import type { Behaviour } from "./RawReceiver.ts"

/** Takes the request, never answers. */
export const neverAnswers: Behaviour = (socket) => {
  socket.resume()
}

/** Does not even take the request: as a host does that is gone since it accepted. */
export const neverReads: Behaviour = () => undefined
