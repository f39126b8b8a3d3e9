/**
 * Ends this process after its parent process has ended.
 *
 * Where Node.js can't replace itself with another program, the launcher runs the command as a child process, connected
 * by a pipe. When the launcher is killed, its end of the pipe closes and the command is killed too. Workers of
 * `doorhook serve --workers N` end with SIGTERM instead, and finish their attempts in flight.
 */
import { Socket } from "node:net"

/** Watches the pipe whose descriptor is in `DOORHOOK_LIFELINE`. Does nothing without this variable. */
export const exitWithParent = (): void => {
  const descriptor = Number(process.env["DOORHOOK_LIFELINE"])
  const signal = process.env["DOORHOOK_LIFELINE_SIGNAL"] === "SIGTERM" ? "SIGTERM" : "SIGKILL"

  // Child processes do not inherit this pipe.
  delete process.env["DOORHOOK_LIFELINE"]
  delete process.env["DOORHOOK_LIFELINE_SIGNAL"]

  if (!Number.isInteger(descriptor) || descriptor <= 2) return
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.on("error", () => undefined)
  lifeline.on("close", () => process.kill(process.pid, signal))
  lifeline.resume()
}
