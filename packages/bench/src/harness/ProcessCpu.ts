/**
 * Reads the processor time of a server and its child processes from Linux's `/proc`.
 */
import { readdirSync, readFileSync } from "node:fs"

/** Milliseconds per tick of the counters. Linux reports hundredths of a second. */
const tick = 10

interface ProcessTimes {
  readonly parent: number
  /** Processor time of the process itself, in ticks. */
  readonly own: number
  /** Processor time of its ended children, in ticks. */
  readonly ended: number
}

/** Reads the times of a process; undefined if it has just ended. */
const timesOf = (pid: string): ProcessTimes | undefined => {
  let line: string
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return undefined
  }
  // The second field, a name in parentheses, may contain any character. The third begins after the last parenthesis.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
  const field = (number: number): number => Number(fields[number - 3] ?? 0)
  return { parent: field(4), own: field(14) + field(15), ended: field(16) + field(17) }
}

/** Whether this platform has Linux's `/proc`. */
export const canMeasureServers = process.platform === "linux"

/** Returns the processor time of a process and its children, including ended ones, in milliseconds. */
export const cpuOfServer = (pid: number): number => {
  const server = timesOf(String(pid))
  if (server === undefined) throw new Error(`/proc has no times of process ${pid}`)
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(timesOf)
  const ofChildren = children.reduce((sum, times) => sum + (times?.parent === pid ? times.own + times.ended : 0), 0)
  return (server.own + server.ended + ofChildren) * tick
}

/** Returns the processor time of this process, in milliseconds. */
export const cpuOfThisProcess = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}
