/**
 * Ends this process when the one that started it is gone.
 *
 * On a Node.js that can't replace itself by another, the command runs as a child of the launcher. Whoever kills the
 * launcher means the command: its end of the pipe closes, and the command goes the same way, without a farewell. The
 * workers of a service that is killed are told to stop instead, and finish what they have begun.
 */
import { Socket } from "node:net"

const descriptor = Number(process.env["DOORHOOK_LIFELINE"])
const signal = process.env["DOORHOOK_LIFELINE_SIGNAL"] === "SIGTERM" ? "SIGTERM" : "SIGKILL"

// Processes that this one starts have no such pipe.
delete process.env["DOORHOOK_LIFELINE"]
delete process.env["DOORHOOK_LIFELINE_SIGNAL"]

if (Number.isInteger(descriptor) && descriptor > 2) {
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.on("error", () => undefined)
  lifeline.on("close", () => process.kill(process.pid, signal))
  lifeline.resume()
}
