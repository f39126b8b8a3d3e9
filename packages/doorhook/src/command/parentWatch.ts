/**
 * Ends this process when the process that started it is gone.
 *
 * Where Node.js cannot replace itself by another program, the command runs as a child of the launcher, and a pipe connects
 * the two. When the launcher is killed, its end of the pipe closes and the command is killed too. The workers of
 * `doorhook serve --workers N` get SIGTERM instead, so that they finish the attempts in flight.
 */
import { Socket } from "node:net"

/** Watches the pipe named by `DOORHOOK_LIFELINE`; does nothing without it. */
export const exitWithParent = (): void => {
  const descriptor = Number(process.env["DOORHOOK_LIFELINE"])
  const signal = process.env["DOORHOOK_LIFELINE_SIGNAL"] === "SIGTERM" ? "SIGTERM" : "SIGKILL"

  // Processes started from here have no such pipe.
  delete process.env["DOORHOOK_LIFELINE"]
  delete process.env["DOORHOOK_LIFELINE_SIGNAL"]

  if (!Number.isInteger(descriptor) || descriptor <= 2) return
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.on("error", () => undefined)
  lifeline.on("close", () => process.kill(process.pid, signal))
  lifeline.resume()
}
