import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { offsetOf, pageInfo, pageLinks, readPage } from "../../src/api/ListPages.ts"

const input = fc.record({
  total: fc.nat({ max: 1_000 }),
  page: fc.nat({ max: 60 }),
  size: fc.integer({ min: 1, max: 100 }),
  bracketed: fc.boolean()
})

const url = "https://doors.example/v4/buildings/1/integrations"

const pageOf = (text: Readonly<Record<string, string>>) => Effect.runSync(readPage(text))

const read = ({ page, size, bracketed }: { page: number; size: number; bracketed: boolean }) =>
  pageOf(
    bracketed ? { "page[number]": String(page), "page[size]": String(size) } : { page: String(page), per: String(size) }
  )

/** The items of a page in a list of consecutive numbers from 0. */
const itemsOf = (total: number, request: ReturnType<typeof pageOf>): ReadonlyArray<number> =>
  Array.from({ length: total }, (_, n) => n).slice(offsetOf(request), offsetOf(request) + request.size)

/** The page that a link leads to, as the server parses it. */
const follow = (link: string) => pageOf(Object.fromEntries(new URL(link).searchParams))

describe("pages", () => {
  it("have correct numbers, and links to the pages with these numbers", () => {
    fc.assert(
      fc.property(input, ({ total, ...asked }) => {
        const request = read(asked)
        const items = itemsOf(total, request)
        const info = pageInfo(request, items.length, total)
        const links = pageLinks(url, request, info)

        assert.strictEqual(info.total_item_count, total)
        assert.strictEqual(info.page_item_count, items.length)
        assert.strictEqual(info.page_size, asked.size)
        assert.strictEqual(info.current_page, Math.max(1, asked.page))
        assert.strictEqual(info.total_pages, Math.ceil(total / asked.size))

        assert.strictEqual(links.prev === null, info.prev_page === null)
        assert.strictEqual(links.next === null, info.next_page === null)
        for (const [link, page] of [
          [links.first, info.first_page],
          [links.prev, info.prev_page],
          [links.next, info.next_page],
          [links.last, info.last_page]
        ] as const) {
          if (link === null) continue
          assert.strictEqual(follow(link).number, page)
          assert.strictEqual(follow(link).size, asked.size)
          assert.deepStrictEqual(follow(link).names, request.names)
        }
      })
    )
  })

  it("show every item once if `next` is followed from the first page", () => {
    fc.assert(
      fc.property(input, ({ total, ...asked }) => {
        const seen: Array<number> = []
        let request: ReturnType<typeof pageOf> | null = read({ ...asked, page: 1 })
        while (request !== null) {
          const items = itemsOf(total, request)
          seen.push(...items)
          const { next } = pageLinks(url, request, pageInfo(request, items.length, total))
          request = next === null ? null : follow(next)
        }
        assert.deepStrictEqual(
          seen,
          Array.from({ length: total }, (_, n) => n)
        )
      })
    )
  })

  it("are linked in the style of the request, even if it has only one of the two parameters", () => {
    for (const [given, names] of [
      [{}, ["page", "per"]],
      [{ page: "2" }, ["page", "per"]],
      [{ per: "2" }, ["page", "per"]],
      [{ "page[number]": "2" }, ["page[number]", "page[size]"]],
      [{ "page[size]": "2" }, ["page[number]", "page[size]"]]
    ] as const) {
      assert.deepStrictEqual<unknown>(Object.values(pageOf(given).names), names)
    }
  })

  it("past the end link back to the last page with items", () => {
    fc.assert(
      fc.property(input, ({ total, ...asked }) => {
        const request = read(asked)
        const items = itemsOf(total, request)
        fc.pre(items.length === 0 && total > 0)
        const { prev } = pageLinks(url, request, pageInfo(request, 0, total))
        assert.isNotNull(prev)
        if (prev !== null) assert.isNotEmpty(itemsOf(total, follow(prev)))
      })
    )
  })
})
