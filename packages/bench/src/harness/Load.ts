/**
 * Sends requests from another process, as fast as the server answers.
 */
import type { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { ProgramFailed } from "./Processes.ts"
import { runProgram } from "./Processes.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { median, rounded } from "./Statistics.ts"

const program = fileURLToPath(new URL("../load.ts", import.meta.url))

export interface LoadTask extends Pick<ServerProcess, "pid" | "port"> {
  /** Complete requests (head and body), sent in turn. */
  readonly requests: ReadonlyArray<string>
  readonly connections: number
  /** Duration of the warm-up and of the measurement, in seconds. */
  readonly warmUp: number
  readonly seconds: number
}

export interface LoadAnswer {
  /** Responses a second. */
  readonly rate: number
  /** Latency of a response, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The server's processor time per response (user and system), in microseconds; null if it can't be read. */
  readonly cpu: number | null
}

/** Sends requests. Fails if a response is not a 200. */
export const load = (task: LoadTask): Effect.Effect<LoadAnswer, ProgramFailed> =>
  runProgram("the load generator", program, [], JSON.stringify(task))

/** Returns the median processor time per request of each server, as members of a result. */
export const cpuPerRequest = (servers: Readonly<Record<string, ReadonlyArray<LoadAnswer>>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(servers).flatMap(([server, answers]) => {
      const times = answers.flatMap(({ cpu }) => cpu ?? [])
      return times.length === 0 ? [] : [[`${server}_cpu_us_per_request`, rounded(median(times))]]
    })
  )

/** Returns a request as sent on the wire. */
export const requestText = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = ""
): string => {
  const all = {
    host: "127.0.0.1",
    ...headers,
    ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) })
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`
}
