/**
 * Live streams through each way to mount doorhook.
 */
import { EventStream } from "@doorhook/testkit/EventStream"
import { readFeed } from "@doorhook/receiver"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Doorhook } from "doorhook"
import { event, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { expressHost, fastifyHost, honoHost } from "./Hosts.ts"

const events = "/v4/buildings/1/events"

const headersOf = (token: string, id?: string | null) => ({
  authorization: `Bearer ${token}`,
  ...(id !== undefined && id !== null && { "last-event-id": id })
})

const numberOf = (data: string | undefined): number =>
  Number(/"id": ?(\d+)\D[^"]*"n": ?(\d+)/.exec(data ?? "")?.[2] ?? NaN)

const numbered = (n: number) => ({ ...event, data: { id: 1, n } })

const opened = (url: string, token: string, id?: string | null) =>
  Effect.acquireRelease(
    Effect.promise(() => EventStream.open(url + events, headersOf(token, id))),
    (stream) => Effect.sync(() => stream.close())
  )

const next = (stream: EventStream) => Effect.promise(() => stream.nextEvent())

describe("a live stream", () => {
  const hosts = { express: expressHost, fastify: fastifyHost, hono: honoHost }
  for (const [name, host] of Object.entries(hosts))
    live(`works in ${name}`, function* () {
      const doorhook = yield* start({ database: "memory" })
      const { url } = yield* host(doorhook)
      const stream = yield* opened(url, yield* tokenFrom(url))
      assert.strictEqual(stream.response.headers.get("content-type"), "text/event-stream")
      yield* Effect.promise(() => stream.next())
      for (const n of [1, 2, 3]) {
        yield* Effect.promise(() => doorhook.publish(numbered(n)))
        assert.strictEqual(numberOf((yield* next(stream))?.data), n)
      }
    })

  const reads: Readonly<Record<string, (doorhook: Doorhook, url: string, token: string) => Promise<EventStream>>> = {
    "over node": (_, url, token) => EventStream.open(url + events, headersOf(token)),
    "over fetch": (doorhook, url, token) =>
      EventStream.open(url + events, headersOf(token), (request) => doorhook.fetch(request))
  }
  for (const [how, open] of Object.entries(reads))
    live(`ends at once when doorhook is closed, ${how}`, function* () {
      const doorhook = yield* start({ database: "memory" })
      const { url } = yield* mount(doorhook)
      const token = yield* tokenFrom(url)
      const stream = yield* Effect.promise(() => open(doorhook, url, token))
      yield* Effect.promise(() => stream.next())
      const last = stream.nextEvent()
      yield* Effect.promise(() => doorhook.close())
      const end = yield* Effect.promise(() => last)
      assert.deepStrictEqual([end?.event, end?.data], ["end", '{"reason":"shutdown"}'])
      assert.isNull(yield* next(stream))
    })
})

describe("the feed reader of @doorhook/receiver", () => {
  live("reads what a receiver missed, and proves it", function* () {
    const doorhook = yield* start({ database: "memory" })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const missed: Array<string> = []
    for (let n = 1; n <= 120; n++) missed.push((yield* Effect.promise(() => doorhook.publish(numbered(n)))).id)
    const read = yield* Effect.promise(async () => {
      const ids: Array<string> = []
      let last = ""
      for await (const { cursor, gap, items } of readFeed({ url: url + events, token })) {
        assert.isNull(gap)
        ids.push(...items.map(({ id }) => id))
        last = cursor
      }
      for await (const { items } of readFeed({ url: url + events, token, after: last }))
        assert.deepStrictEqual(items, [])
      return ids
    })
    assert.deepStrictEqual(read, missed)
  })
})
