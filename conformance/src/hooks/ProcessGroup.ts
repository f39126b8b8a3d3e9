/**
 * A shell of the user's command and all that it started: a signal to the shell alone would leave the rest behind.
 */
import type { ChildProcess } from "node:child_process"

export const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

/** Sends a signal to a process that was started `detached`, and to whatever it started, which may outlive it. */
export const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // It has ended in this moment, or the system knows no groups.
    child.kill(signal)
  }
}

/** Whether anything that it started is left. Where nothing is, its number may soon be another's. */
export const isLeft = ({ pid }: ChildProcess): boolean => {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}
