/**
 * The receivers of the transport contract suite, implemented on real sockets.
 */
import { TransportSuite } from "@doorhook/core/testing"
import { Effect, Layer } from "effect"
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { onRequest, serve } from "./hostile/RawReceiver.ts"

const carryOut = async (socket: Socket, steps: ReadonlyArray<TransportSuite.ReceiverStep>) => {
  for (const step of steps) {
    if (socket.destroyed) return
    if (step === "end") socket.end()
    else if (step === "reset") socket.resetAndDestroy()
    else if ("write" in step) socket.write(step.write)
    else await sleep(step.wait)
  }
}

/** Parses the `nth` request of a connection. `bytes` has one character per byte. */
const readRequest = (bytes: string, nth: number): TransportSuite.ReceivedRequest => {
  const headEnd = bytes.indexOf("\r\n\r\n")
  const [line = "", ...headers] = bytes.slice(0, headEnd).split("\r\n")
  const [method = "", path = ""] = line.split(" ")
  return {
    method,
    path,
    headers: Object.fromEntries(
      headers.map((header) => {
        const colon = header.indexOf(":")
        return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()]
      })
    ),
    body: Buffer.from(bytes.slice(headEnd + 4), "latin1").toString(),
    nth
  }
}

const start = Effect.fnUntraced(function* (script: TransportSuite.ReceiverScript) {
  const received: Array<TransportSuite.ReceivedRequest> = []
  const first = Promise.withResolvers<void>()
  const receiver = yield* serve((socket) => {
    if (script.onConnection !== undefined) void carryOut(socket, script.onConnection)
    let nth = 0
    onRequest(socket, (bytes) => {
      const request = readRequest(bytes, ++nth)
      received.push(request)
      first.resolve()
      void carryOut(socket, script.onRequest?.(request) ?? [])
    })
  })
  return {
    port: receiver.port,
    received: Effect.sync(() => [...received]),
    hasReceived: Effect.promise(() => first.promise),
    accepted: Effect.sync(receiver.accepted),
    allClosed: Effect.promise(receiver.allClosed)
  }
})

export const layer: Layer.Layer<TransportSuite.ScriptedReceivers> = Layer.succeed(TransportSuite.ScriptedReceivers, {
  start
})
