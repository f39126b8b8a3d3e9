/**
 * Commands of the user's that operate the receiver, as processes.
 */
import { listen } from "@doorhook/testkit/Listening"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { runHook } from "../src/hooks/ShellCommand.ts"

/** A command that starts, in the background, what lives as long as its connection; and that connection. */
const background = Effect.fnUntraced(function* () {
  const connected = Promise.withResolvers<Socket>()
  const server = createServer((socket) => connected.resolve(socket.on("error", () => undefined).resume()))
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(() => listen(server)),
    ({ close }) => Effect.promise(close)
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => void connected.promise.then((socket) => socket.destroy())))
  const program = `require("net").connect(${port}, "127.0.0.1").resume()`
  return { command: `${process.execPath} -e '${program}' &`, connected: Effect.promise(() => connected.promise) }
})

describe("a hook", () => {
  it.live("that is not waited for any longer ends with all that it started", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      const running = yield* Effect.forkScoped(runHook("--pause-cmd", `${command} wait`))
      const socket = yield* connected
      const closed = once(socket, "close")
      yield* Fiber.interrupt(running)
      yield* Effect.promise(() => closed).pipe(Effect.timeout(10_000))
    })
  )

  it.live("that has ended leaves running what it started", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      yield* runHook("--restart-cmd", command)
      const socket = yield* connected
      assert.isFalse(socket.destroyed)
    })
  )
})
