/**
 * doorhook inside a host's process, used from plain JavaScript.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { join } from "node:path"
import { startProxy } from "@doorhook/testkit/ForwardProxy"
import {
  codeOf,
  directory,
  event,
  integrate,
  live,
  mount,
  start,
  startIntegrated,
  untilEnded
} from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"

describe("createDoorhook", () => {
  live("serves on the host's own server and delivers what the host publishes", function* () {
    const { doorhook, receiver } = yield* startIntegrated()
    const published = yield* Effect.promise(() => doorhook.publish(event))
    assert.strictEqual(published.deliveries, 1)
    const several = yield* Effect.promise(() => doorhook.publish([event, { ...event, building_id: 2 }]))
    assert.deepStrictEqual(
      several.map(({ deliveries }) => deliveries),
      [1, 0]
    )
    yield* Effect.promise(() => receiver.until((received) => received.length === 2))
    assert.deepStrictEqual(
      receiver.received.map(({ headers }) => headers["webhook-id"]),
      [published.id, several[0]?.id]
    )
  })

  live("passes requests for other paths to the framework's next", function* () {
    const doorhook = yield* start()
    const withNext: Doorhook = {
      ...doorhook,
      node: (request, response) => doorhook.node(request, response, () => response.writeHead(299).end())
    }
    const { url } = yield* mount(withNext)
    const statusOf = (path: string) => Effect.promise(async () => (await fetch(`${url}${path}`)).status)
    assert.strictEqual(yield* statusOf("/orders?from=/v4/"), 299)
    assert.strictEqual(yield* statusOf("/health/live"), 200)
    assert.strictEqual(yield* statusOf("/v4/nothing"), 404)
    assert.strictEqual(
      yield* Effect.flatMap(mount(doorhook), (bare) =>
        Effect.promise(async () => (await fetch(`${bare.url}/orders`)).status)
      ),
      404
    )
  })

  live("uses a proxy if configured", function* () {
    const receiver = yield* startReceiver()
    const proxy = yield* startProxy(receiver.port)
    const doorhook = yield* start({ proxy: `http://127.0.0.1:${proxy.port}` })
    const { url } = yield* mount(doorhook)
    yield* integrate(url, receiver.url)
    yield* Effect.promise(() => doorhook.publish(event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    assert.deepStrictEqual(
      proxy.asked.map(({ place }) => place),
      [`127.0.0.1:${receiver.port}`]
    )
  })

  live("does not delay other receivers when a proxy hangs up on a dead one", function* () {
    const receiver = yield* startReceiver(() => ({ status: 200, headers: { connection: "close" } }))
    const proxy = yield* startProxy(receiver.port, (place) => (place.startsWith("93.184.216.34:") ? "hangs up" : null))
    const doorhook = yield* start({ proxy: `http://127.0.0.1:${proxy.port}`, retry: { access_log: [], call: [] } })
    const { url } = yield* mount(doorhook)
    yield* integrate(url, "http://93.184.216.34/dead")
    yield* integrate(url, "http://93.184.216.35/hook")
    for (let n = 1; n <= 10; n++) {
      yield* Effect.promise(() => doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === n))
    }
    const ended = (yield* untilEnded(doorhook)).map(({ attempts, state }) => `${state} ${attempts}`)
    assert.deepStrictEqual(
      ["delivered 1", "exhausted 1"].map((how) => ended.filter((one) => one === how).length),
      [10, 10]
    )
  })

  live("lets deliveries wait instead of cancelling them while its directory fails", function* () {
    const database = join(yield* temporaryFolder, "waiting.db")
    const receiver = yield* startReceiver()
    const first = yield* start({ database })
    const { url } = yield* mount(first)
    yield* integrate(url, receiver.url)
    yield* Effect.promise(() => first.close())
    const failing = { ...directory, administers: () => Promise.reject(new Error("down")) }
    const second = yield* start({ database, directory: failing })
    yield* Effect.promise(() => second.publish(event))
    const { deliveries } = yield* eventually(
      "it waits",
      Effect.promise(() => second.deliveries.list()),
      ({ deliveries: [delivery] }) => delivery?.state !== "delivering"
    )
    assert.deepStrictEqual(
      deliveries.map(({ attempts, state }) => [state, attempts]),
      [["pending", 0]]
    )
    assert.strictEqual(receiver.received.length, 0)
  })

  live("keeps accepted events after closing, and separates two instances in one process", function* () {
    const database = join(yield* temporaryFolder, "embedded.db")
    const receiver = yield* startReceiver()
    const other = yield* start()
    const first = yield* start({ database })
    const { url } = yield* mount(first)
    yield* integrate(url, receiver.url)
    const { id } = yield* Effect.promise(() => first.publish(event))
    yield* Effect.promise(() => first.close())
    const second = yield* start({ database })
    const { deliveries } = yield* Effect.promise(() => second.deliveries.list())
    assert.deepStrictEqual(
      deliveries.map(({ event_id }) => event_id),
      [id]
    )
    assert.strictEqual(second.operatorKey, first.operatorKey)
    assert.strictEqual((yield* Effect.promise(() => other.publish(event))).deliveries, 0)
    assert.strictEqual((yield* codeOf(first.publish(event))).code, "closed")
  })
})
