/**
 * Stops a PostgreSQL server and removes its folder once the process that started the server has ended, for whatever
 * reason. Runs as a separate process, whose standard input closes when the other process ends or calls `letGo`.
 *
 * The argument is the folder. Standard input lists the ids of frozen processes, which must be resumed before they can
 * end.
 */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"

const [, , folder = ""] = process.argv

/** Sends a signal. Returns false if the process does not exist. */
const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

const frozen = (await text(process.stdin)).split("\n").filter((line) => line !== "")
for (const pid of frozen) signal(Number(pid), "SIGCONT")

const running = join(folder, "postmaster.pid")
if (existsSync(running)) {
  const postmaster = Number(readFileSync(running, "utf8").split("\n")[0])
  // Immediate shutdown, because the data is not needed again.
  signal(postmaster, "SIGQUIT")
  while (signal(postmaster, 0)) await pause(20)
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
