/**
 * The events extension with the MCP SDK's client and a real receiver, which verifies what it gets.
 */
import { eventually } from "../../doorhook/test/harness/Eventually.ts"
import { event, live } from "../../doorhook/test/harness/Embedded.ts"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { text } from "node:stream/consumers"
import { connect, startEndpoint } from "./Assistant.ts"
import { ResultSchema } from "./Sdk.ts"
import { acceptance, isSignedBy, secretOf } from "./Subscriber.ts"

interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const source = { name: "access_log.create", arguments: { building: 1 } }

/** Starts a service whose assistant's site is also the receiver. */
const startReceiving = Effect.gen(function* () {
  const endpoint = yield* startEndpoint()
  const { client } = yield* connect(endpoint)
  const received: Array<Message> = []
  const { answer } = endpoint.site
  endpoint.site.answer = (request, response) => {
    if (request.method === "GET") return answer(request, response)
    void text(request).then((body) => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ headers, body })
      const { excerpt, status } = acceptance(body)
      response.writeHead(status).end(excerpt)
    })
  }
  const call = (method: string, params: object = {}) =>
    Effect.promise(() => client.request({ method, params: { ...params } }, ResultSchema))
  const publish = (id: number) => Effect.promise(() => endpoint.doorhook.publish({ ...event, data: { id } }))
  return { call, client, publish, received, url: `${endpoint.site.url}/hook` }
})

describe("the MCP SDK's client", () => {
  live("subscribes, and its receiver gets the challenge and signed events until it unsubscribes", function* () {
    const { call, client, publish, received, url } = yield* startReceiving
    assert.property(client.getServerCapabilities()?.extensions, "io.modelcontextprotocol/events")
    const { events } = yield* call("events/list")
    assert.ok(Array.isArray(events) && events.some(({ name }) => name === source.name))
    const wanted = { ...source, delivery: { mode: "webhook", url, secret: secretOf(7) } }
    const { id } = yield* call("events/subscribe", wanted)
    yield* publish(1)
    yield* eventually(
      "the event arrives",
      Effect.sync(() => received.length),
      (count) => count === 2
    )
    for (const message of received) {
      assert.isTrue(yield* isSignedBy(secretOf(7), message, Date.now()))
      assert.strictEqual(message.headers["x-mcp-subscription-id"], id)
      assert.strictEqual(message.headers["content-type"], "application/json")
    }
    assert.deepStrictEqual(JSON.parse(received[1]?.body ?? "").data, { id: 1 })
    yield* call("events/unsubscribe", wanted)
    yield* publish(2)
    const { cursor } = yield* call("events/poll", source)
    yield* publish(3)
    const later = yield* call("events/poll", { ...source, cursor })
    assert.ok(Array.isArray(later["events"]))
    assert.deepStrictEqual(
      later["events"].map(({ data }) => data),
      [{ id: 3 }]
    )
    assert.strictEqual(received.length, 2)
  })

  live("follows a stream, which continues after a cursor and ends when the client leaves", function* () {
    const { call, client, publish } = yield* startReceiving
    const heard: Array<{ readonly method: string; readonly params?: Readonly<Record<string, unknown>> | undefined }> =
      []
    client.fallbackNotificationHandler = async (notification) => void heard.push(notification)
    const { cursor } = yield* call("events/poll", source)
    yield* publish(1)
    const leaving = new AbortController()
    const params = { ...source, cursor }
    const streaming = client
      .request({ method: "events/stream", params }, ResultSchema, { signal: leaving.signal, timeout: 600_000 })
      .then(
        () => "over",
        () => "left"
      )
    const until = (count: number) =>
      eventually(
        `${count} notifications`,
        Effect.sync(() => heard.length),
        (found) => found >= count
      )
    yield* until(2)
    yield* publish(2)
    yield* until(3)
    assert.deepStrictEqual(
      heard.map(({ method }) => method),
      ["active", "event", "event"].map((name) => `notifications/events/${name}`)
    )
    assert.deepStrictEqual(
      heard.slice(1).map(({ params: given }) => given?.["data"]),
      [{ id: 1 }, { id: 2 }]
    )
    const ids = heard.map(({ params: given }) => Object(given?.["_meta"])["io.modelcontextprotocol/subscriptionId"])
    assert.strictEqual(new Set(ids).size, 1)
    const resumed = yield* call("events/poll", { ...source, cursor: heard[1]?.params?.["cursor"] })
    assert.ok(Array.isArray(resumed["events"]))
    assert.deepStrictEqual(
      resumed["events"].map(({ data }) => data),
      [{ id: 2 }]
    )
    leaving.abort()
    assert.strictEqual(yield* Effect.promise(() => streaming), "left")
  })
})
