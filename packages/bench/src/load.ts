/**
 * Sends requests over keep-alive connections for some seconds. Usage: `load.ts`, with the task as JSON on standard
 * input. Prints the result as JSON.
 *
 * Writes raw requests and splits responses by their lengths, without an HTTP client. This process and the measured
 * server share the cores, so this process must use little processor time.
 */
import { once } from "node:events"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import type { LoadAnswer, LoadTask } from "./harness/Load.ts"
import { canMeasureServers, cpuOfServer } from "./harness/ProcessCpu.ts"
import { quantile } from "./harness/Statistics.ts"

const { connections, pid, port, requests, seconds, warmUp }: LoadTask = JSON.parse(await text(process.stdin))

const from = performance.now() + warmUp * 1_000
const until = from + seconds * 1_000
const latencies: Array<number> = []

/** The server's processor time in milliseconds, before the first counted request and after the last one. */
const cpu = { begun: Number.NaN, ended: Number.NaN }
const readCpu = (): number => (canMeasureServers ? cpuOfServer(pid) : Number.NaN)

const note = (now: number, latency: number): void => {
  if (now >= from && latencies.push(latency) === 1) cpu.begun = readCpu()
}

const noteEnd = (): void => {
  if (Number.isNaN(cpu.ended)) cpu.ended = readCpu()
}

/** Returns where the first response in a text ends, or 0 if the response is incomplete. */
const endOfAnswer = (received: string): number => {
  const headEnd = received.indexOf("\r\n\r\n")
  if (headEnd < 0) return 0
  const head = received.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) {
    throw new Error(`the response is not a 200 with a content length: ${received.slice(0, 1_000)}`)
  }
  const end = headEnd + 4 + Number(length)
  return received.length < end ? 0 : end
}

/** Sends requests one after another on one connection. */
const drive = async (connection: number): Promise<void> => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  await once(socket, "connect")
  socket.setEncoding("latin1")
  let turn = connection
  let sent = 0
  let received = ""
  const send = (): void => {
    sent = performance.now()
    socket.write(requests[turn % requests.length] ?? "")
    turn += connections
  }
  socket.on("data", (chunk: string) => {
    received += chunk
    const end = endOfAnswer(received)
    if (end === 0) return
    received = received.slice(end)
    const now = performance.now()
    if (now >= until) {
      noteEnd()
      return socket.end()
    }
    note(now, now - sent)
    send()
  })
  send()
  await once(socket, "close")
  if (performance.now() < until) throw new Error("the server closed a connection")
}

await Promise.all(Array.from({ length: connections }, (_, connection) => drive(connection)))
const answer: LoadAnswer = {
  rate: latencies.length / seconds,
  p50: quantile(latencies, 0.5),
  p99: quantile(latencies, 0.99),
  cpu: canMeasureServers ? ((cpu.ended - cpu.begun) * 1_000) / latencies.length : null
}
process.stdout.write(`${JSON.stringify(answer)}\n`)
