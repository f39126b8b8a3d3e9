/**
 * Receivers to test the suite on: real HTTP servers that record what they receive. They can be correct or faulty.
 */
import { freePort, listening } from "@doorhook/testkit/ListeningServer"
import { handlingReceiver } from "@doorhook/testkit/Receiver"
import type { Handler, Received as Request } from "@doorhook/testkit/Receiver"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { ServerResponse } from "node:http"
import { createServer as createSocketServer } from "node:net"
import type { Socket } from "node:net"

/** One request as a receiver sees it. */
export interface Received extends Request {
  /** Whether the id was seen before. */
  readonly duplicate: boolean
  /** Number of earlier requests. */
  readonly index: number
}

/** Answers a request. The socket lets a receiver break the connection. */
export type Behaviour = (received: Received, response: ServerResponse, socket: Socket) => void

export interface Receiver {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Closes the server and every connection, as the end of a process does. */
  readonly die: () => void
}

/** Runs a receiver until the scope is closed. */
export const receiver = (behave: Behaviour): Effect.Effect<Receiver, never, Scope.Scope> => {
  const received: Array<Received> = []
  const seen = new Set<string>()
  const handle: Handler = (request, response, socket) => {
    const id = String(request.headers["webhook-id"])
    const one: Received = { ...request, duplicate: seen.has(id), index: received.length }
    seen.add(id)
    received.push(one)
    behave(one, response, socket)
  }
  return Effect.map(handlingReceiver(handle), ({ die, url }) => ({ url, received, die: () => void die() }))
}

/** Runs a receiver at socket level. Returns its URL. */
export const socketReceiver = (connected: (socket: Socket) => void): Effect.Effect<string, never, Scope.Scope> => {
  const server = createSocketServer((socket) => {
    socket.on("error", () => undefined)
    connected(socket)
  })
  return Effect.map(listening(server), ({ url }) => `${url}/hook`)
}

/** A port of this machine on which nothing listens. */
export const deadPort: Effect.Effect<number> = Effect.promise(freePort)

/** Acknowledges every request. */
export const acknowledge: Behaviour = (_, response) => {
  response.end("ok")
}

/** Answers with a status. */
export const answer = (response: ServerResponse, status: number, body = ""): void => {
  response.writeHead(status)
  response.end(body)
}

/** Starts a receiver that serves one connection at a time, and keeps it until the sender closes it. Returns its URL. */
export const serialReceiver = Effect.gen(function* () {
  const waiting: Array<() => void> = []
  let busy = false
  const next = (): void => {
    const start = waiting.shift()
    busy = start !== undefined
    start?.()
  }
  return yield* socketReceiver((socket) => {
    const serve = (): void => {
      socket.on("close", next)
      let received = ""
      let isContinued = false
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1")
        const end = received.indexOf("\r\n\r\n")
        if (end === -1) return
        const head = received.slice(0, end)
        if (/^expect:/im.test(head) && !isContinued) {
          isContinued = true
          socket.write("HTTP/1.1 100 Continue\r\n\r\n")
        }
        const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
        const isWhole = /^transfer-encoding:/im.test(head)
          ? received.endsWith("\r\n0\r\n\r\n")
          : received.length >= end + 4 + length
        if (!isWhole) return
        received = ""
        isContinued = false
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
    }
    if (busy) waiting.push(serve)
    else {
      busy = true
      serve()
    }
  })
})
