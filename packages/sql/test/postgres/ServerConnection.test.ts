/**
 * The timeout for an answer starts with the request, however long the connection was idle before.
 */
import { listening } from "@doorhook/testkit/ListeningServer"
import { nextTurn } from "@doorhook/testkit/Turn"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { once } from "node:events"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"
import { vi } from "vitest"
import * as PostgresUrl from "../../src/postgres/PostgresUrl.ts"
import { connectServer } from "../../src/postgres/ServerConnection.ts"
import { ServerWatch } from "../../src/postgres/ServerWatch.ts"

/** ReadyForQuery: idle. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Opens a connection with a timeout of one second of virtual time, and returns both ends. */
const connected = Effect.acquireRelease(
  Effect.promise(async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = address !== null && typeof address === "object" ? address.port : 0
    const accepted = new Promise<Socket>((resolve) => void server.once("connection", resolve))
    const url = Result.getOrThrow(PostgresUrl.parse(`postgres://127.0.0.1:${port}?sslmode=disable`))
    const socket = connectServer({ url, patience: { millis: 1_000 }, watch: new ServerWatch(), last: null })
    const errors: Array<Error> = []
    socket.on("error", (error: Error) => void errors.push(error)).resume()
    const upstream = await accepted
    upstream.on("error", () => undefined)
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
    return { server, socket, upstream, errors, closed: Effect.promise(() => closed) }
  }),
  ({ server, socket, upstream }) =>
    Effect.sync(() => {
      vi.useRealTimers()
      socket.destroy()
      upstream.destroy()
      server.close()
    })
)

/** Sends a request and receives its answer. */
const exchange = ({ socket, upstream }: { readonly socket: NodeJS.WritableStream; readonly upstream: Socket }) =>
  Effect.promise(async () => {
    const asked = once(upstream, "data")
    socket.write("?")
    await asked
    const answered = once(socket, "data")
    upstream.write(ready)
    await answered
  })

describe("a watched connection", () => {
  it.live("is closed if an awaited answer does not arrive", () =>
    Effect.gen(function* () {
      const { closed, errors, socket } = yield* connected
      socket.write("?")
      vi.advanceTimersByTime(1_000)
      yield* closed
      assert.deepEqual(
        errors.map(({ message }) => message),
        ["the database server said nothing for 1000 ms"]
      )
    })
  )

  it.live("waits the full timeout for a request sent in the turn in which the timer fires", () =>
    Effect.gen(function* () {
      const connection = yield* connected
      yield* exchange(connection)
      vi.advanceTimersByTime(1_000)
      // Sends a request after the timer has fired, but before the `setImmediate` callback that checks for an answer.
      connection.socket.write("?")
      yield* nextTurn
      yield* nextTurn
      assert.deepEqual(connection.errors, [])
      assert.isFalse(connection.socket.destroyed)
      yield* exchange(connection)
      // A later request without an answer times out as usual.
      connection.socket.write("?")
      vi.advanceTimersByTime(1_000)
      yield* connection.closed
      assert.lengthOf(connection.errors, 1)
    })
  )

  it.live("that is destroyed during the request for TLS does not connect again", () =>
    Effect.gen(function* () {
      const server = createServer((socket) => void socket.on("error", () => undefined).resume())
      const { port } = yield* listening(server)
      const url = Result.getOrThrow(PostgresUrl.parse(`postgres://127.0.0.1:${port}?sslmode=prefer`))
      const accept = () =>
        Effect.promise(async () => {
          const [socket]: Array<Socket> = await once(server, "connection")
          return socket
        })
      const first = yield* Effect.forkChild(accept(), { startImmediately: true })
      const connection = connectServer({ url, patience: { millis: null }, watch: new ServerWatch(), last: null })
      const upstream = yield* Fiber.join(first)
      if (upstream !== undefined) yield* Effect.promise(() => once(upstream, "data"))
      let others = 0
      server.on("connection", () => void others++)
      connection.destroy()
      // A connection made now is accepted after any that the destroyed one has begun.
      yield* nextTurn
      yield* nextTurn
      const second = yield* Effect.forkChild(accept(), { startImmediately: true })
      const probe = connect(port, "127.0.0.1")
      yield* Fiber.join(second)
      probe.destroy()
      assert.strictEqual(others, 1)
    })
  )
})
