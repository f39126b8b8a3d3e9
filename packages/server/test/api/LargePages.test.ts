/**
 * Lists whose pages are too large to be in memory at once.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { call, document, operatorKey, testServer } from "../TestServer.ts"

interface Item {
  readonly attributes: { readonly id?: number; readonly event?: { readonly data: { readonly id: number } } }
}

interface Page {
  readonly data: ReadonlyArray<Item>
  readonly links: { readonly next: string | null }
  readonly meta: { readonly page_info?: { readonly page_item_count: number; readonly total_item_count: number } }
}

const idOf = ({ attributes: { event, id } }: Item): number => event?.data.id ?? id ?? -1

/** Reads a list by its `next` links. Returns the pages, and how many of them were sent in pieces. */
const readAll = Effect.fnUntraced(function* (first: string) {
  const pages: Array<Page> = []
  let inPieces = 0
  for (let path: string | null = first; path !== null;) {
    const reply = yield* call("GET", path, { as: "admin" })
    assert.strictEqual(reply.status, 200, path)
    if (!reply.headers.has("content-length")) inPieces++
    const page: Page = JSON.parse(reply.text)
    pages.push(page)
    const next = page.links.next === null ? null : new URL(page.links.next)
    path = next === null ? null : next.pathname + next.search
  }
  return { pages, inPieces }
})

/** Sizes of the data of some events, in bytes. */
const sizes = fc.array(fc.oneof(fc.nat(500), fc.integer({ min: 50_000, max: 200_000 })), {
  minLength: 15,
  maxLength: 40
})

describe("large pages", () => {
  it.effect("of events and of a feed have each item once, with correct counts, whatever the sizes", () =>
    Effect.gen(function* () {
      for (const [seed, per] of [[1, 7] as const, [2, 100] as const, [3, 10] as const]) {
        yield* Effect.gen(function* () {
          yield* TestClock.setTime(1_000_000)
          const created = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
          const lengths = fc.sample(sizes, { seed, numRuns: 1 })[0] ?? []
          for (const [id, length] of lengths.entries()) {
            const body = {
              resource_type: "access_log",
              action: "create",
              building_id: 1,
              data: { id, text: "x".repeat(length) }
            }
            yield* call("POST", "/operator/events", { as: operatorKey, body })
          }
          const ids = Array.from(lengths.keys())
          const list = yield* readAll(`/v4/buildings/1/access_logs?per=${per}`)
          assert.deepStrictEqual(
            list.pages.flatMap(({ data }) => data.map(idOf)),
            ids.toReversed()
          )
          for (const [at, { data, meta }] of list.pages.entries()) {
            assert.strictEqual(data.length, Math.min(per, ids.length - at * per))
            assert.strictEqual(meta.page_info?.page_item_count, data.length)
            assert.strictEqual(meta.page_info?.total_item_count, ids.length)
          }
          const integration = created.textAt("/data/id")
          const feed = yield* readAll(`/v4/buildings/1/integrations/${integration}/deliveries?per=${per}`)
          assert.deepStrictEqual(
            feed.pages.flatMap(({ data }) => data.map(idOf)),
            ids
          )
          for (const { data, links } of feed.pages) if (links.next !== null) assert.lengthOf(data, per)
          assert.isAbove(list.inPieces, 0)
          assert.isAbove(feed.inPieces, 0)
        }).pipe(Effect.provide(testServer()))
      }
    })
  )
})
