/**
 * Measures how much clients that don't read their answers, or pipeline requests, delay other clients.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { requestText } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { start } from "../harness/Processes.ts"
import { startRingReceiver } from "../harness/Rings.ts"
import { building, operatorKey, startService } from "../harness/ServerProcess.ts"
import { quantile, spread } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "hostile-reads"

/** Number of events on a page, and the size of each in bytes. */
const pageSize = 100
const eventSize = 200_000

const grants = 25

const unreadConnections = 200

const pipelinedConnections = 20
const pipelinedRequests = 35_000

/** Highest resident memory of the server, in megabytes. */
const memoryLimit = 300

/** Opens connections. Reads the answers only if asked to, and then sends the requests again and again. */
const program = `
const { connect } = require("node:net")
const { port, isRead, requests } = JSON.parse(process.argv[1])
for (const { text, count } of requests) {
  const socket = connect(port, "127.0.0.1")
  const send = () => socket.write(text.repeat(count))
  socket.on("error", () => {})
  send()
  if (!isRead) { socket.pause(); continue }
  let answers = 0
  socket.on("data", (bytes) => {
    const text = bytes.toString("latin1")
    for (let at = -1; (at = text.indexOf("HTTP/1.1 ", at + 1)) !== -1;) answers++
    if (answers >= count) { answers = 0; send() }
  })
}
// A process whose connections all wait would end.
setInterval(() => {}, 1_000_000)
console.log("sent")
`

interface Hostile {
  readonly port: number
  readonly isRead: boolean
  /** The requests of each connection. */
  readonly requests: ReadonlyArray<{ readonly text: string; readonly count: number }>
}

/** Returns the most memory that a process has had, in megabytes. NaN on systems other than Linux. */
const peakMemory = (pid: number): number => {
  if (process.platform !== "linux") return Number.NaN
  const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Math.round((Number(kibibytes) * 1_024) / 1e6)
}

const publishPage = async (port: number): Promise<void> => {
  const text = "x".repeat(eventSize)
  for (let id = 0; id < pageSize; id++) {
    const answer = await fetch(`http://127.0.0.1:${port}/operator/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" },
      body: JSON.stringify({ resource_type: "access_log", action: "create", building_id: building, data: { id, text } })
    })
    if (answer.status !== 202) throw new Error(`an event was refused: ${await answer.text()}`)
  }
}

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const rounds = roundsOf(options, 3)
  const rings = quick ? 30 : 400
  const receiver = yield* startRingReceiver
  const unread = { beside: new Array<number>(), alone: new Array<number>(), memory: new Array<number>() }
  const pipelined = { beside: new Array<number>(), alone: new Array<number>(), memory: new Array<number>() }
  for (let round = 0; round < rounds; round++) {
    for (const isRead of [false, true]) {
      const { alone, beside, memory } = isRead ? pipelined : unread
      // Each measurement has its own server, because memory is measured from its start.
      yield* Effect.gen(function* () {
        const { pid, port } = yield* startService(yield* temporaryDatabase)
        const tokens = yield* Effect.promise(async () => {
          const session = new OAuthSession(port)
          const made = await session.grants(isRead ? 1 : grants)
          await session.createIntegration(made[0]?.access_token ?? "", `http://127.0.0.1:${receiver.port}/hook`, "call")
          if (!isRead) await publishPage(port)
          return made.map(({ access_token }) => access_token)
        })
        const ring = (count: number) => receiver.ring(port, building, count)
        const page = `/v4/buildings/${building}/access_logs?per=${pageSize}`
        const requests = isRead
          ? Array.from({ length: pipelinedConnections }, () => ({
              text: requestText("GET", "/console", {}),
              count: pipelinedRequests / pipelinedConnections
            }))
          : Array.from({ length: unreadConnections }, (_, at) => ({
              text: requestText("GET", page, { authorization: `Bearer ${tokens[at % grants]}` }),
              count: 1
            }))
        // The first calls warm up the compiler.
        yield* ring(rings / 5)
        const without = yield* ring(rings)
        const hostile: Hostile = { port, isRead, requests }
        yield* start(process.execPath, ["-e", program, JSON.stringify(hostile)])
        const latencies = yield* ring(rings)
        alone.push(quantile(without, 0.99))
        beside.push(quantile(latencies, 0.99))
        memory.push(peakMemory(pid))
        const what = isRead ? "pipelined requests" : "unread pages"
        process.stderr.write(
          `round ${round + 1}: beside ${what} ${spread(latencies)}; alone ${spread(without)}; at most ${memory.at(-1)} MB\n`
        )
      }).pipe(Effect.scoped)
    }
  }
  return [
    { line: name, ours: unread.beside, peer: unread.alone },
    { line: `${name}/memory`, ours: unread.memory, peer: unread.memory.map(() => memoryLimit) },
    { line: `${name}/pipelined`, ours: pipelined.beside, peer: pipelined.alone },
    { line: `${name}/pipelined-memory`, ours: pipelined.memory, peer: pipelined.memory.map(() => memoryLimit) }
  ]
})

const alone = "p99 from publish to the receiver, without the other clients"
const memory = { peer: "the limit", unit: "MB", goal: { is: "at most", ratio: 1 } } as const

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary: "latency of a call beside 200 clients that request 20 MB and read nothing, against its latency without them",
  compares:
    "400 calls are published one by one over HTTP to the built `doorhook serve` on SQLite. Latency is measured from publish to arrival at the receiver: once alone, and once while 200 connections with the tokens of 25 grants have requested a page of 100 events of 200 KB each and read nothing. The third line has 20 connections instead. Each sends 1,750 requests for a page at once, without a token, reads the answers, and then sends them again. Memory is the most that the server has had since its start.",
  leavesOut: "PostgreSQL, clients on other machines, and hosts with their own server.",
  lines: {
    [name]: {
      ours: "p99 from publish to the receiver, beside 200 clients that don't read",
      peer: alone,
      unit: "ms",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/memory`]: { ours: "memory beside 200 clients that don't read", ...memory },
    [`${name}/pipelined`]: {
      ours: "p99 from publish to the receiver, beside 20 clients that pipeline requests",
      peer: alone,
      unit: "ms",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/pipelined-memory`]: { ours: "memory beside 20 clients that pipeline requests", ...memory }
  },
  run
}
