/**
 * The user's commands that start, operate and probe the receiver, as processes.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { setImmediate } from "node:timers/promises"
import { runHook, withControl } from "../src/hooks/Commands.ts"
import { awaitReady, acceptsConnections, noHooks } from "../src/hooks/Hooks.ts"
import { spawned } from "../src/hooks/Spawned.ts"
import { execProbe, httpProbe } from "../src/probes/Probe.ts"
import { spawnConformance } from "./support/command.ts"
import { acknowledge, answer, deadPort, receiver } from "./support/receiver.ts"

/**
 * Returns a command that starts a background process, and the connection that the process opens. The process ends with
 * the connection. `then` is the code of a method call on its socket.
 */
const background = Effect.fnUntraced(function* (then = ".resume()") {
  const connected = Promise.withResolvers<Socket>()
  const server = createServer((socket) => connected.resolve(socket.on("error", () => undefined).resume()))
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(() => listen(server)),
    ({ close }) => Effect.promise(close)
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => void connected.promise.then((socket) => socket.destroy())))
  const program = `require("net").connect(${port}, "127.0.0.1")${then}.on("close", () => process.exit())`
  return {
    program,
    command: `${process.execPath} -e '${program}' &`,
    connected: Effect.promise(() => connected.promise)
  }
})

describe("a hook", () => {
  it.live("ends with all processes that it started when it is interrupted", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      const running = yield* Effect.forkScoped(runHook("--pause-cmd", `${command} wait`))
      const socket = yield* connected
      const closed = once(socket, "close")
      yield* Fiber.interrupt(running)
      yield* Effect.promise(() => closed).pipe(Effect.timeout(10_000))
    })
  )

  it.live("leaves processes that it started running when it has ended", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      yield* runHook("--restart-cmd", command)
      const socket = yield* connected
      assert.isFalse(socket.destroyed)
    })
  )
})

describe("a background process of a command", () => {
  it.live("ends with the scope if the command starts a receiver", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      const url = new URL(`http://127.0.0.1:${yield* deadPort}`)
      const ready = yield* receiver(acknowledge)
      const scope = yield* Scope.make()
      yield* Scope.provide(spawned(command, {}, url, new URL(ready.url)), scope)
      const socket = yield* connected
      const closed = once(socket, "close")
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => closed).pipe(Effect.timeout(10_000))
    })
  )

  it.live("may start behind a proxy that already listens, if the ready URL is the receiver's own", () =>
    Effect.gen(function* () {
      const proxy = yield* receiver(acknowledge)
      const port = yield* deadPort
      const own = new URL(`http://127.0.0.1:${port}/`)
      const serve = `require("node:http").createServer((_, response) => response.end()).listen(${port}, "127.0.0.1")`
      const { kill } = yield* spawned(`exec ${process.execPath} -e '${serve}'`, {}, new URL(proxy.url), own)
      assert.isTrue(yield* acceptsConnections(own))
      yield* kill ?? assert.fail("kill")
      assert.isFalse(yield* acceptsConnections(own))
    })
  )

  it.live("may become ready after its shell has ended", () =>
    Effect.gen(function* () {
      const port = yield* deadPort
      const url = new URL(`http://127.0.0.1:${port}`)
      const { connected, program } = yield* background(
        `.on("data", () => require("http").createServer().listen(${port}, "127.0.0.1"))`
      )
      const orphaned = `const wait = setInterval(() => process.ppid === Number(process.env.OF) || (clearInterval(wait), ${program}), 5)`
      const command = `OF=$$ ${process.execPath} -e '${orphaned}' >/dev/null 2>&1 &`
      const starting = yield* Effect.forkScoped(spawned(command, {}, url, null))
      const socket = yield* connected
      socket.write("listen")
      yield* Fiber.join(starting)
      assert.isFalse(socket.destroyed)
    })
  )

  it.effect("ends when a probe command times out", () =>
    Effect.gen(function* () {
      const { command, connected } = yield* background()
      const subject = { webhookId: "evt_1", resourceType: "access_log", dataId: "1", endpoint: null }
      const reading = yield* Effect.forkScoped(Effect.flip(execProbe(`echo 1; ${command}`).read(subject)))
      const socket = yield* connected
      const closed = once(socket, "close")
      yield* TestClock.adjust("15 seconds")
      yield* Effect.promise(() => closed)
      assert.match((yield* Fiber.join(reading)).message, /did not end within 15000 ms/)
    })
  )
})

describe("a receiver that is not ready", () => {
  /**
   * Waits for a receiver that never becomes ready. Lets the time run out once `asked` is true, and returns the error.
   */
  const said = Effect.fnUntraced(function* (ready: string, asked: () => boolean) {
    const waiting = yield* Effect.forkScoped(Effect.flip(awaitReady(new URL(ready), new URL("/ready", ready))))
    yield* Effect.promise(() => setImmediate()).pipe(
      Effect.andThen(TestClock.adjust(1)),
      Effect.repeat({ until: () => Effect.sync(asked) })
    )
    yield* TestClock.adjust("30 seconds")
    return yield* Fiber.join(waiting)
  })

  it.effect("reports the last answer of its ready URL", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 404))
      const { down, message } = yield* said(target.url, () => target.received.length > 1)
      assert.include(message, `within 30 s at ${new URL(target.url).origin} (it answered status 404). Does the hook`)
      assert.strictEqual(down, "it was not ready within 30 s: it answered status 404")
    })
  )

  it.effect("reports that it did not answer", () =>
    Effect.gen(function* () {
      const target = yield* receiver(() => undefined)
      const { down } = yield* said(target.url, () => target.received.length > 0)
      assert.strictEqual(down, "it was not ready within 30 s: it did not answer")
    })
  )
})

describe("requests to the ready, control and probe URLs", () => {
  it.live("keep no connection open, except the probe's for a moment: a receiver may serve one at a time", () =>
    Effect.gen(function* () {
      const kept: Array<string> = []
      const closed = yield* Deferred.make<void>()
      const target = yield* receiver(({ path }, response, socket) => {
        if (response.shouldKeepAlive) kept.push(path.replace(/\?.*/, ""))
        if (path.startsWith("/probe")) socket.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
        answer(response, 200, path === "/control" ? '{"ops":["restart"]}' : '{"effects":0}')
      })
      const at = (path: string) => new URL(path, target.url)
      yield* awaitReady(at("/hook"), at("/ready"))
      const hooks = yield* withControl(noHooks, at("/control"))
      yield* hooks.restart ?? assert.fail("it is not offered")
      yield* hooks.double?.("evt_1") ?? assert.fail("it is not offered")
      const subject = { webhookId: "evt_1", resourceType: "access_log", dataId: "1", endpoint: null }
      yield* httpProbe(at("/probe")).read(subject)
      assert.deepStrictEqual(
        target.received.map(({ path }) => path.replace(/\?.*/, "")),
        ["/ready", "/control", "/control/restart", "/control/double", "/probe"]
      )
      assert.deepStrictEqual(kept, ["/probe"])
      yield* Deferred.await(closed)
    })
  )
})

describe("a run whose terminal is closed", () => {
  it.live("ends the receiver that it has started, and exits as interrupted", () =>
    Effect.gen(function* () {
      const { connected, program } = yield* background()
      const port = yield* deadPort
      const url = new URL(`http://127.0.0.1:${port}/hook`)
      const server = `require("http").createServer(() => {}).listen(${port}, "127.0.0.1", () => ${program})`
      const { child, ended } = yield* spawnConformance(
        "run",
        "--url",
        url.href,
        "--spawn",
        `exec ${process.execPath} -e '${server}'`
      )
      const socket = yield* connected
      const closed = once(socket, "close")
      child.kill("SIGHUP")
      const { exitCode, output } = yield* ended
      assert.strictEqual(exitCode, 130, output)
      yield* Effect.promise(() => closed).pipe(Effect.timeout(10_000))
      assert.isFalse(yield* acceptsConnections(url))
    })
  )
})
