import { assert, describe, expect, it } from "@effect/vitest"
import { vi } from "vitest"
import { FeedError, readFeed } from "../src/FeedReader.ts"
import type { FeedOptions, FeedPage } from "../src/FeedReader.ts"
import { InvalidOption } from "../src/Problem.ts"

const url = "https://doorhook.example/v4/buildings/1/events"

const item = (n: number) => ({
  type: "events",
  id: `evt_${n}`,
  attributes: {
    created_at: "2026-03-02T00:00:00.000Z",
    event: { resource_type: "call", action: "create", data: { id: n } }
  }
})

const page = (ids: ReadonlyArray<number>, cursor: string, more: boolean, gap?: object) =>
  Response.json({
    data: ids.map(item),
    meta: { cursor, ...(gap !== undefined && { gap }) },
    links: { next: more ? `${url}?after=${cursor}` : null }
  })

/** Answers with a list of responses or errors, and keeps the requests. */
const answering = (...answers: ReadonlyArray<Response | Error>) => {
  const asked: Array<string> = []
  const left = [...answers]
  const fetch: FeedOptions["fetch"] = async (address, { headers }) => {
    asked.push(`${new URL(address).search} ${headers["authorization"]}`)
    const answer = left.shift() ?? new Error("no more answers")
    if (answer instanceof Error) throw answer
    return answer
  }
  return { asked, fetch }
}

const readAll = async (options: FeedOptions): Promise<ReadonlyArray<FeedPage>> => {
  const pages: Array<FeedPage> = []
  for await (const each of readFeed(options)) pages.push(each)
  return pages
}

describe("readFeed", () => {
  it("yields all pages from a cursor on, with gaps, until the end", async () => {
    const gap = { from: "2026-03-01T00:00:00.000Z", to: "2026-03-02T00:00:00.000Z" }
    const { asked, fetch } = answering(page([1, 2], "b", true, gap), page([3], "c", true), page([], "c", false))
    const pages = await readAll({ url, token: "t", after: "a", resourceTypes: ["call"], fetch })
    assert.deepStrictEqual(
      pages.map(({ cursor, items }) => [cursor, items.map(({ id }) => id)]),
      [
        ["b", ["evt_1", "evt_2"]],
        ["c", ["evt_3"]]
      ]
    )
    assert.deepStrictEqual(pages[0]?.gap, { from: new Date(gap.from), to: new Date(gap.to) })
    assert.isNull(pages[1]?.gap)
    assert.deepStrictEqual(pages[1]?.items[0], {
      id: "evt_3",
      createdAt: Date.parse("2026-03-02T00:00:00.000Z"),
      event: { resource_type: "call", action: "create", data: { id: 3 } }
    })
    assert.deepStrictEqual(asked, [
      "?after=a&resource_type=call Bearer t",
      "?after=b&resource_type=call Bearer t",
      "?after=c&resource_type=call Bearer t"
    ])
  })

  it("begins at a time without a cursor, and yields the first page even if it is empty", async () => {
    const { asked, fetch } = answering(page([], "a", false))
    const pages = await readAll({ url, token: "t", since: new Date(0), fetch })
    assert.deepStrictEqual(
      pages.map(({ cursor }) => cursor),
      ["a"]
    )
    assert.deepStrictEqual(asked, ["?since=1970-01-01T00%3A00%3A00.000Z Bearer t"])
  })

  it("waits for new items if it follows, until it is aborted", async () => {
    const end = new AbortController()
    const { asked, fetch } = answering(page([1], "a", false), page([], "a", false), page([2], "b", false))
    const ids: Array<string> = []
    for await (const { items } of readFeed({ url, token: "t", follow: true, signal: end.signal, fetch })) {
      ids.push(...items.map(({ id }) => id))
      if (ids.length === 2) end.abort()
    }
    assert.deepStrictEqual(ids, ["evt_1", "evt_2"])
    assert.deepStrictEqual(asked, [" Bearer t", "?after=a&wait=30 Bearer t", "?after=a&wait=30 Bearer t"])
  })

  it("repeats what could not be answered, after the pause that doorhook asks for", async () => {
    vi.useFakeTimers()
    try {
      const busy = new Response("", { status: 503, headers: { "retry-after": "7" } })
      const { asked, fetch } = answering(new Error("connection lost"), busy, page([1], "a", false))
      const reading = readAll({ url, token: "t", fetch })
      await vi.advanceTimersByTimeAsync(1_000)
      assert.strictEqual(asked.length, 2)
      await vi.advanceTimersByTimeAsync(6_999)
      assert.strictEqual(asked.length, 2)
      await vi.advanceTimersByTimeAsync(1)
      assert.strictEqual((await reading).length, 1)
    } finally {
      vi.useRealTimers()
    }
  })

  it("asks for another token once, when the last one is no longer valid", async () => {
    const refused = () => Response.json({ errors: [{ detail: "The token is not valid." }] }, { status: 401 })
    const tokens = ["first", "second", "third"]
    const token = () => tokens.shift() ?? ""
    const { asked, fetch } = answering(page([1], "a", true), refused(), page([2], "b", false))
    assert.strictEqual((await readAll({ url, token, fetch })).length, 2)
    assert.deepStrictEqual(asked, [" Bearer first", "?after=a Bearer first", "?after=a Bearer second"])
    const never = answering(refused())
    await expect(readAll({ url, token, fetch: never.fetch })).rejects.toThrow("401: The token is not valid.")
  })

  it("says what is wrong", async () => {
    const refusal = Response.json({ errors: [{ detail: "`after` must be a cursor." }] }, { status: 400 })
    await expect(readAll({ url, token: "t", fetch: answering(refusal).fetch })).rejects.toThrow(
      "doorhook answered 400: `after` must be a cursor."
    )
    for (const body of ["<html>", "{}", '{"data":[{}],"meta":{"cursor":"a"}}'])
      await expect(readAll({ url, token: "t", fetch: answering(new Response(body)).fetch })).rejects.toThrow(FeedError)
    await expect(readAll({ url: "feed", token: "t" })).rejects.toThrow(InvalidOption)
  })
})
