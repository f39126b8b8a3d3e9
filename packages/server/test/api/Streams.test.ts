import { DeliveryStore, FeedHub } from "@doorhook/core"
import { EventStream } from "@doorhook/testkit/EventStream"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { TestClock } from "effect/testing"
import { address, call, Controls, document, onServer, operatorKey } from "../TestServer.ts"

const events = "/v4/buildings/1/events"

const publish = Effect.fnUntraced(function* (data: string, type = "access_log", building = 1) {
  const body = `{"resource_type":"${type}","action":"create","building_id":${building},"data":${data}}`
  return (yield* call("POST", "/operator/events", { as: operatorKey, body })).textAt("/events/0/id")
})

/** Opens a stream that ends with the test, and has begun. */
const open = Effect.fnUntraced(function* (path: string, headers: Readonly<Record<string, string>> = {}, as = "admin") {
  const base = yield* address
  const stream = yield* Effect.acquireRelease(
    Effect.promise(() => EventStream.open(base + path, { authorization: `Bearer ${as}`, ...headers })),
    (opened) => Effect.sync(() => opened.close())
  )
  if (stream.response.status === 200) yield* Effect.promise(() => stream.next())
  return stream
})

const nextOf = (stream: EventStream) => Effect.promise(() => stream.nextEvent())

const parsed = (text: string | undefined): unknown => JSON.parse(text ?? "null")

const idOf = (event: { readonly data: string } | null): unknown => {
  const item = parsed(event?.data)
  return typeof item === "object" && item !== null && "id" in item ? item.id : null
}

const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

describe("an event stream", () => {
  onServer("sends each event as soon as it is stored, as the list has it", function* () {
    const earlier = yield* publish("{}")
    const stream = yield* open(events)
    const { headers, status } = stream.response
    assert.strictEqual(status, 200)
    assert.strictEqual(headers.get("content-type"), "text/event-stream")
    assert.strictEqual(headers.get("cache-control"), "no-store, no-transform")
    assert.strictEqual(headers.get("x-accel-buffering"), "no")
    const data = '{"id": 12345678901234567890,\n "2":1}'
    const id = yield* publish(data)
    const event = yield* nextOf(stream)
    const list = yield* call("GET", events, { as: "admin" })
    assert.strictEqual(event?.event, "event")
    assert.deepStrictEqual(parsed(event?.data), list.at("/data/1"))
    assert.include(event?.data, "12345678901234567890")
    assert.strictEqual(event?.id, list.textAt("/meta/cursor"))
    assert.notStrictEqual(id, earlier)
  })

  onServer("sends the deliveries of an integration, with the same cursors", function* () {
    const made = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    const path = `/v4/buildings/1/integrations/${made.textAt("/data/id")}/deliveries`
    const stream = yield* open(path)
    yield* publish("{}", "call")
    const ids = [yield* publish("{}"), yield* publish("{}")]
    const [first, second] = [yield* nextOf(stream), yield* nextOf(stream)]
    const list = yield* call("GET", path, { as: "admin" })
    assert.deepStrictEqual([first?.event, second?.event], ["delivery", "delivery"])
    assert.deepStrictEqual([parsed(first?.data), parsed(second?.data)], list.at("/data"))
    const rest = yield* call("GET", `${path}?after=${first?.id}`, { as: "admin" })
    assert.strictEqual(rest.at("/data/0/attributes/event_id"), ids[1])
  })

  onServer("continues after Last-Event-ID, which wins over the address", function* () {
    const ids = [yield* publish("{}"), yield* publish("{}"), yield* publish("{}")]
    const all = yield* open(`${events}?since=1970-01-01`)
    const got = [yield* nextOf(all), yield* nextOf(all), yield* nextOf(all)]
    assert.deepStrictEqual(got.map(idOf), ids)
    const id = got[0]?.id ?? ""
    for (const query of ["", "?since=1970-01-01", `?after=${got[2]?.id}`]) {
      const stream = yield* open(events + query, { "last-event-id": id })
      assert.strictEqual(idOf(yield* nextOf(stream)), ids[1], query)
    }
    const after = yield* open(`${events}?after=${got[1]?.id}`)
    assert.strictEqual(idOf(yield* nextOf(after)), ids[2])
    for (const [path, headers] of [
      [events, { "last-event-id": "x" }],
      [`${events}?after=x`, {}],
      [`${events}?wait=99`, {}],
      ["/v4/buildings/1/events?since=x", {}]
    ] as const)
      assert.strictEqual((yield* open(path, headers)).response.status, 400, path)
    assert.strictEqual((yield* open(`${events}?resource_type=x`)).response.status, 422)
    assert.strictEqual((yield* open("/v4/buildings/2/events")).response.status, 404)
    assert.strictEqual((yield* open(events, {}, "nobody")).response.status, 401)
  })

  onServer("has only the requested types, and only what its building may see", function* () {
    const calls = yield* open(`${events}?resource_type=call`)
    const other = yield* open("/v4/buildings/2/events", {}, "other")
    yield* publish("{}")
    const theirs = yield* publish("{}", "access_log", 2)
    const ring = yield* publish("{}", "call")
    assert.strictEqual(idOf(yield* nextOf(calls)), ring)
    assert.strictEqual(idOf(yield* nextOf(other)), theirs)
  })

  onServer("reports a gap before it goes on", function* () {
    yield* TestClock.setTime(1_000_000)
    yield* publish("{}")
    const cursor = (yield* call("GET", events, { as: "admin" })).textAt("/meta/cursor")
    yield* publish("{}")
    yield* TestClock.setTime(2_000_000)
    const kept = yield* publish("{}")
    yield* DeliveryStore.use((store) => store.purge({ before: 1_500_000, now: 2_000_000, after: 0, limit: 100 }))
    const base = yield* address
    const stream = yield* Effect.promise(() =>
      EventStream.open(`${base}${events}?after=${cursor}`, { authorization: "Bearer admin" })
    )
    const gap = yield* nextOf(stream)
    assert.strictEqual(gap?.event, "gap")
    const at = "1970-01-01T00:16:40.000Z"
    assert.deepStrictEqual(parsed(gap?.data), { from: at, to: at })
    assert.strictEqual(idOf(yield* nextOf(stream)), kept)
    stream.close()
    const again = yield* open(events, { "last-event-id": gap?.id ?? "" })
    assert.strictEqual(idOf(yield* nextOf(again)), kept, "the gap is reported once")
  })

  const quick = { api: { streamHeartbeat: 20, streamCheck: 40 } }

  onServer(
    "has a comment after a pause",
    function* () {
      const stream = yield* open(events)
      for (let n = 0; n < 3; n++) assert.strictEqual((yield* Effect.promise(() => stream.next()))?.event, "comment")
    },
    quick
  )

  const ends: Readonly<Record<string, (controls: Controls["Service"]) => void>> = {
    right_lost: ({ withdrawn }) => withdrawn.add("admin"),
    token_revoked: ({ revoked }) => revoked.add("admin"),
    token_expired: (controls) => {
      controls.expires_at = 0
    }
  }
  for (const [reason, cause] of Object.entries(ends))
    onServer(
      `ends with the reason ${reason}`,
      function* () {
        const controls = yield* Controls
        if (reason === "token_expired") cause(controls)
        const stream = yield* open(events)
        cause(controls)
        const event = yield* nextOf(stream)
        assert.deepStrictEqual([event?.event, parsed(event?.data)], ["end", { reason }])
        assert.isNull(yield* nextOf(stream))
      },
      quick
    )

  onServer(
    "goes on if the right can't be checked",
    function* () {
      const controls = yield* Controls
      const stream = yield* open(events)
      controls.fault = "directory"
      for (let n = 0; n < 5; n++) assert.strictEqual((yield* Effect.promise(() => stream.next()))?.event, "comment")
      controls.fault = "none"
      const id = yield* publish("{}")
      assert.strictEqual(idOf(yield* nextOf(stream)), id)
    },
    quick
  )

  onServer("ends when the service stops, and no other begins", function* () {
    const stream = yield* open(events)
    ;(yield* FeedHub).close()
    const event = yield* nextOf(stream)
    assert.deepStrictEqual([event?.event, parsed(event?.data)], ["end", { reason: "shutdown" }])
    assert.isNull(yield* nextOf(stream))
    const refused = yield* open(events)
    assert.deepStrictEqual([refused.response.status, refused.response.headers.get("retry-after")], [503, "1"])
  })

  onServer(
    "is refused beyond the limits of a grant and of the process, and its place is free once it is closed",
    function* () {
      const hub = yield* FeedHub
      const [first] = [yield* open(events), yield* open(events)]
      const third = yield* open(events)
      assert.deepStrictEqual([third.response.status, third.response.headers.get("retry-after")], [503, "5"])
      yield* open("/v4/buildings/2/events", {}, "other")
      assert.strictEqual((yield* open("/v4/tenants/101/events", {}, "tenant")).response.status, 503)
      first?.close()
      for (let status = 503; status === 503; yield* turn) status = (yield* open(events)).response.status
      assert.isAbove(hub.listeners(), 0)
    },
    { api: { streamsPerGrant: 2, streams: 3 } }
  )

  onServer("costs its store nothing once all clients have left", function* () {
    const hub = yield* FeedHub
    const streams = [yield* open(events), yield* open("/v4/buildings/2/events", {}, "other")]
    assert.strictEqual(hub.listeners(), 2)
    for (const stream of streams) stream.close()
    while (hub.listeners() > 0) yield* turn
    const head = yield* call("HEAD", events, { as: "admin", headers: { accept: "text/event-stream" } })
    assert.deepStrictEqual([head.status, head.headers.get("content-type"), head.text], [200, "text/event-stream", ""])
    assert.strictEqual(hub.listeners(), 0)
  })

  onServer("is what a client gets that prefers it to JSON", function* () {
    for (const [accept, isStream] of [
      ["text/event-stream", true],
      ["text/event-stream, */*", true],
      ["application/json, text/event-stream;q=0.5", false],
      ["*/*", false],
      ["text/event-stream;q=0", false]
    ] as const) {
      const stream = yield* open(events, { accept })
      const type = stream.response.headers.get("content-type") ?? ""
      assert.strictEqual(type === "text/event-stream", isStream, accept)
    }
  })

  onServer("that is not read delays no other", function* () {
    const base = yield* address
    const closed = yield* Effect.callback<string>((resume) => {
      const slow = request(`${base}${events}`, {
        headers: { authorization: "Bearer colleague", accept: "text/event-stream" }
      })
      slow.on("response", (response) => {
        response.pause()
        slow.socket?.pause()
        resume(Effect.succeed("begun"))
      })
      slow.on("error", () => undefined).end()
    })
    assert.strictEqual(closed, "begun")
    const stream = yield* open(events)
    const data = JSON.stringify({ text: "x".repeat(100_000) })
    const ids: Array<string> = []
    for (let n = 0; n < 30; n++) ids.push(yield* publish(data))
    for (const id of ids) assert.strictEqual(idOf(yield* nextOf(stream)), id)
  })
})
