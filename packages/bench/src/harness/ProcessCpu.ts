/**
 * The processor time that a server has used, with all its processes, from Linux's `/proc`.
 */
import { readdirSync, readFileSync } from "node:fs"

/** Milliseconds in one tick of the counters: Linux shows hundredths of a second to all programs. */
const tick = 10

interface ProcessTimes {
  readonly parent: number
  /** Its own time, in ticks. */
  readonly own: number
  /** That of its children which have ended. */
  readonly ended: number
}

/** A process that ended while we looked has no times. */
const timesOf = (pid: string): ProcessTimes | undefined => {
  let line: string
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return undefined
  }
  // The second field is a name in parentheses, which may hold anything; the third begins after the last of them.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
  const field = (number: number): number => Number(fields[number - 3] ?? 0)
  return { parent: field(4), own: field(14) + field(15), ended: field(16) + field(17) }
}

/** Whether it can be measured here. */
export const canMeasureServers = process.platform === "linux"

/** Milliseconds that a process and its children, ended ones included, have spent computing. */
export const cpuOfServer = (pid: number): number => {
  const server = timesOf(String(pid))
  if (server === undefined) throw new Error(`There are no times of process ${pid} in /proc`)
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(timesOf)
  const ofChildren = children.reduce((sum, times) => sum + (times?.parent === pid ? times.own + times.ended : 0), 0)
  return (server.own + server.ended + ofChildren) * tick
}

/** Milliseconds that this process has spent computing. */
export const cpuOfThisProcess = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}
