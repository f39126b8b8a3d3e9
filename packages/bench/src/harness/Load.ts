/**
 * Requests from a process of its own, as many as a server answers.
 */
import type { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { ProgramFailed } from "./RunProgram.ts"
import { runProgram } from "./RunProgram.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { median, rounded } from "./Statistics.ts"

const program = fileURLToPath(new URL("../load.ts", import.meta.url))

export interface LoadTask extends Pick<ServerProcess, "pid" | "port"> {
  /** Whole requests, head and body, that take turns. */
  readonly requests: ReadonlyArray<string>
  readonly connections: number
  /** How long requests are sent before they count, and how long they count, in seconds. */
  readonly warmUp: number
  readonly seconds: number
}

export interface LoadAnswer {
  /** Answers a second. */
  readonly rate: number
  /** From request to answer, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Processor time of the server per answer, user and system, in microseconds; null where it cannot be read. */
  readonly cpu: number | null
}

/** Sends them. Every answer must be a 200. */
export const load = (task: LoadTask): Effect.Effect<LoadAnswer, ProgramFailed> =>
  runProgram("who sends the requests", program, [], JSON.stringify(task))

/** The median processor time of each server per request, as members of a result. */
export const cpuPerRequest = (servers: Readonly<Record<string, ReadonlyArray<LoadAnswer>>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(servers).flatMap(([server, answers]) => {
      const times = answers.flatMap(({ cpu }) => cpu ?? [])
      return times.length === 0 ? [] : [[`${server}_cpu_us_per_request`, rounded(median(times))]]
    })
  )

/** A request as it goes over the wire. */
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
