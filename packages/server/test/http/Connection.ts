/**
 * TCP connections of clients that misbehave.
 */
import { nextTurn } from "@doorhook/testkit/Turn"
import { Effect } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"

/** Connects to a port, and collects what is received. Reads only what the caller reads if it is paused. */
export const openTo = (port: number, isPaused = false) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly socket: Socket; readonly text: () => string }>((resume) => {
      let text = ""
      const socket = connect(port, "127.0.0.1", () => resume(Effect.succeed({ socket, text: () => text })))
      if (!isPaused) socket.on("data", (bytes) => (text += bytes.toString()))
      // Ignored, because a reset also closes the connection.
      socket.on("error", () => undefined)
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Waits until a connection is closed. */
export const closed = (socket: Socket) =>
  Effect.callback<void>((resume) => {
    if (socket.closed) resume(Effect.void)
    else socket.once("close", () => resume(Effect.void))
  })

/** Waits for a condition that becomes true in a later turn of the event loop. */
export const until = Effect.fnUntraced(function* (isSo: () => boolean) {
  while (!isSo()) yield* nextTurn
})
