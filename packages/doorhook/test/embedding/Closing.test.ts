/**
 * Closing an embedded doorhook finishes open work and leaves nothing running. Later calls fail with `closed`.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as FileOwner from "../../src/service/FileOwner.ts"
import { codeOf, directory, event, integrate, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { listening } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { makeHostHandler } from "../../src/embed/NodeHandler.ts"
import { makeInFlightCalls } from "../../src/embed/InFlightCalls.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"

const program = fileURLToPath(new URL("EndsByItself.ts", import.meta.url))

describe("closing", () => {
  live("lets the process exit", function* () {
    const database = join(yield* temporaryFolder, "ends.db")
    const { finished } = yield* startNode(["--conditions=source", program, "memory", database])
    const { code, stderr, stdout } = yield* Effect.promise(() => finished)
    assert.deepStrictEqual([code, stdout, stderr], [0, "closed\nclosed\n", ""])
  })

  live("does not wait for a request whose client hung up before the host passed the request on", function* () {
    let tracked = 0
    const handler = makeHostHandler({
      handle: () => undefined,
      isClosed: () => false,
      isOwn: () => true,
      seen: () => undefined,
      open: { ...makeInFlightCalls(), track: (call) => (tracked++, call) },
      log: () => undefined
    })
    const passedOn = yield* Deferred.make<void>()
    const server = createServer((request, response) => {
      socket.destroy()
      response.once("close", () => {
        handler(request, response)
        Effect.runSync(Deferred.succeed(passedOn, undefined))
      })
    })
    const { port } = yield* listening(server)
    const socket = connect(port, "127.0.0.1").on("error", () => undefined)
    socket.write("GET /v4/buildings HTTP/1.1\r\nHost: localhost\r\n\r\n")
    yield* Deferred.await(passedOn)
    assert.strictEqual(tracked, 0)
  })

  live("finishes open attempts and requests, even when called twice", function* () {
    const bothAsked = yield* Deferred.make<void>()
    let questions = 0
    let answer = (): void => undefined
    const answered = new Promise<number>((resolve) => (answer = () => resolve(200)))
    const receiver = yield* startReceiver(() => answered)
    const database = join(yield* temporaryFolder, "closing.db")
    // The request stays open until this directory function returns.
    const buildings = async () => {
      questions += 1
      if (questions === 2) Effect.runSync(Deferred.succeed(bothAsked, undefined))
      await answered
      return [{ id: 1, name: "North", time_zone: "Europe/Berlin" }]
    }
    const doorhook = yield* start({ database, directory: { ...directory, buildings } })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    yield* Effect.promise(() => createIntegration(url, token, receiver.url))
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    const over = callApi(url, token, "GET", "/v4/buildings")
    const within = doorhook.fetch(
      new Request("http://localhost/v4/buildings", { headers: { authorization: `Bearer ${token}` } })
    )
    yield* Deferred.await(bothAsked)
    const closed = [doorhook.close(), doorhook.close(), doorhook[Symbol.asyncDispose]()]
    assert.strictEqual((yield* codeOf(doorhook.publish(event))).code, "closed")
    answer()
    yield* Effect.promise(() => Promise.all(closed))
    const statuses = yield* Effect.promise(async () => [(await over).status, (await within).status])
    assert.deepStrictEqual(statuses, [200, 200])
    yield* Effect.promise(() => doorhook.close())
    const again = yield* start({ database })
    const { deliveries } = yield* Effect.promise(() => again.deliveries.list())
    assert.deepStrictEqual(
      deliveries.map(({ attempts, state }) => [state, attempts]),
      [["delivered", 1]]
    )
  })

  live("makes later calls fail with closed, and still answers requests", function* () {
    const doorhook = yield* start()
    const { url } = yield* mount(doorhook)
    yield* Effect.promise(() => doorhook.close())
    for (const call of [
      () => doorhook.publish(event),
      () => doorhook.deliveries.list(),
      () => doorhook.integrations.list(),
      () => doorhook.clients.list(),
      () => doorhook.grants.revoke("admin"),
      () => doorhook.notifications.list(),
      () => doorhook.fetch(new Request("http://localhost/health/live"))
    ]) {
      const { code, message } = yield* codeOf(call())
      assert.strictEqual(code, "closed")
      assert.match(message, /Create another/)
    }
    const answer = yield* Effect.promise(() => fetch(`${url}/health/live`))
    assert.strictEqual(answer.status, 503)
    const errors: Array<unknown> = []
    Reflect.apply(doorhook.node, undefined, [{ url: "/health/live" }, {}, (error: unknown) => errors.push(error)])
    assert.strictEqual(Reflect.get(Object(errors[0]), "code"), "closed")
  })
})

live("an unusable database is named, with instructions", function* () {
  const { code, message } = yield* codeOf(createDoorhook({ database: "/nowhere/at/all/doorhook.db", directory }))
  assert.strictEqual(code, "database_unusable")
  assert.match(message, /Can't use \/nowhere\/at\/all\/doorhook.db: it can't be opened .* Check that its folder exists/)
})

/** Program that takes ownership of a database file as doorhook does, and never releases it. */
const keeping = `
  const lock = new (require("node:sqlite").DatabaseSync)(process.argv[1] + "-lock")
  lock.exec("CREATE TABLE owner (pid INTEGER, host TEXT, since TEXT)")
  lock.prepare("INSERT INTO owner VALUES (?, ?, ?)").run(process.pid, require("node:os").hostname(), "noon")
  lock.exec("BEGIN IMMEDIATE")
  console.log("taken")
  setInterval(() => {}, 60_000)
`

describe("a SQLite file", () => {
  it.effect("belongs to one process: another waits for it, by any name of the file, and is refused", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [database, alias] = [join(folder, "one.db"), join(folder, "alias.db")]
      writeFileSync(database, "")
      symlinkSync(database, alias)
      const owner = yield* startNode(["-e", keeping, database])
      yield* Effect.promise(() => owner.printed(/taken/))
      const named = `process ${owner.child.pid}, since noon,`
      const refused = yield* Effect.forkChild(Effect.flip(Layer.build(FileOwner.layer({ database: alias }))))
      yield* TestClock.adjust("6 seconds")
      const { message, why } = yield* Fiber.join(refused)
      assert.strictEqual(why, "locked")
      assert.match(message, new RegExp(`alias\\.db: ${named} delivers from it, and only one process`))
      assert.strictEqual(yield* FileOwner.holderOf(database), named)
      const wait = Effect.forkChild(Layer.build(FileOwner.layer({ database: alias })), { startImmediately: true })
      // The test clock does not advance here, so this start is interrupted while it waits.
      yield* Fiber.interrupt(yield* wait)
      const waiting = yield* wait
      owner.child.kill("SIGKILL")
      yield* Effect.promise(() => owner.finished)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(waiting)
    })
  )

  it.effect(
    "can be shared by doorhooks of one process until the last is closed, with a warning for all but the first",
    () =>
      Effect.gen(function* () {
        const database = join(yield* temporaryFolder, "one.db")
        const warnings: Array<string> = []
        const logger = Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))])
        const [first, second] = [yield* Scope.make(), yield* Scope.make()]
        yield* Layer.buildWithScope(FileOwner.layer({ database }), first)
        yield* Layer.buildWithScope(FileOwner.layer({ database }), second).pipe(Effect.provide(logger))
        assert.match(warnings.join(), /Another doorhook in this process has .*one\.db open.*globalThis/)
        yield* Scope.close(first, Exit.void)
        assert.match((yield* FileOwner.holderOf(database)) ?? "", new RegExp(`^process ${process.pid}, since`))
        yield* Scope.close(second, Exit.void)
        assert.isNull(yield* FileOwner.holderOf(database))
      })
  )

  live("can be shared by doorhooks of one process, and a later one does not repeat attempts in flight", function* () {
    const database = join(yield* temporaryFolder, "one.db")
    let answer = (): void => undefined
    const answered = new Promise<number>((resolve) => (answer = () => resolve(200)))
    const receiver = yield* startReceiver(() => answered)
    const first = yield* start({ database })
    yield* integrate((yield* mount(first)).url, receiver.url)
    for (let n = 0; n < 3; n++) yield* Effect.promise(() => first.publish(event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 3))
    const later = yield* start({ database })
    yield* Effect.promise(() => later.publish(event))
    yield* Effect.promise(() =>
      receiver.until((received) => new Set(received.map(({ headers }) => headers["webhook-id"])).size === 4)
    )
    assert.lengthOf(receiver.received, 4)
    answer()
  })
})
