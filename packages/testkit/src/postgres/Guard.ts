/**
 * Ends a server with the process that started it, however that one ends, and removes its folder: a Ctrl-C or a kill leaves
 * nothing behind. Runs as a process of its own, whose standard input closes when the other process is gone or lets go.
 *
 * Its argument is the folder. What it reads are the ids of processes that are frozen and must go on before they can end.
 */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"

const [, , folder = ""] = process.argv

/** Whether a process could be signalled: it is there. */
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
  // At once: nobody reads the data again.
  signal(postmaster, "SIGQUIT")
  while (signal(postmaster, 0)) await pause(20)
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
