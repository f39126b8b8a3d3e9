/**
 * Receivers that accept a connection and send nothing.
 */
import type { Behaviour } from "./RawReceiver.ts"

/** Reads the request and never responds. */
export const neverAnswers: Behaviour = (socket) => {
  socket.resume()
}

/** Does not even read the request, like a host that disappears after accepting the connection. */
export const neverReads: Behaviour = () => undefined
