import { assert, describe } from "@effect/vitest"
import { call, document, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const idsOf = (reply: Reply): ReadonlyArray<unknown> =>
  Object.keys(reply.at("/data") ?? {}).map((index) => reply.at(`/data/${index}/id`))

/** The link with a given name, without the address of the server. */
const link = (reply: Reply, name: string): string | null => {
  const url = reply.at(`/links/${name}`)
  if (url === null) return null
  const { pathname, search } = new URL(reply.textAt(`/links/${name}`))
  return pathname + search
}

describe("lists of integrations", () => {
  onServer("are empty at first", function* () {
    const reply = yield* call("GET", path, { as: "admin" })
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(reply.at("/data"), [])
    assert.deepStrictEqual(reply.at("/meta/page_info"), {
      current_page: 1,
      total_pages: 0,
      total_item_count: 0,
      page_item_count: 0,
      page_size: 50,
      next_page: null,
      prev_page: null,
      first_page: 1,
      last_page: 1
    })
    assert.strictEqual(link(reply, "first"), `${path}?page=1&per=50`)
    assert.isNull(link(reply, "prev"))
    assert.isNull(link(reply, "next"))
  })

  onServer("are paginated in the order of creation, in both styles", function* () {
    const ids: Array<unknown> = []
    for (let n = 0; n < 5; n++) {
      ids.push((yield* call("POST", path, { as: "admin", body: document() })).at("/data/id"))
    }
    const all = yield* call("GET", path, { as: "admin" })
    assert.deepStrictEqual(idsOf(all), ids)

    const second = yield* call("GET", `${path}?per=2&page=2`, { as: "admin" })
    assert.deepStrictEqual(idsOf(second), ids.slice(2, 4))
    assert.deepStrictEqual(second.at("/meta/page_info"), {
      current_page: 2,
      total_pages: 3,
      total_item_count: 5,
      page_item_count: 2,
      page_size: 2,
      next_page: 3,
      prev_page: 1,
      first_page: 1,
      last_page: 3
    })
    assert.strictEqual(link(second, "last"), `${path}?page=3&per=2`)

    const last = yield* call("GET", `${path}?page[number]=3&page[size]=2`, { as: "admin" })
    assert.deepStrictEqual(idsOf(last), ids.slice(4))
    assert.isNull(last.at("/meta/page_info/next_page"))
    assert.isNull(link(last, "next"))
    assert.strictEqual(link(last, "prev"), `${path}?page%5Bnumber%5D=2&page%5Bsize%5D=2`)

    for (const page of [0, 1]) {
      const first = yield* call("GET", `${path}?per=2&page=${page}`, { as: "admin" })
      assert.deepStrictEqual(idsOf(first), ids.slice(0, 2))
      assert.strictEqual(first.at("/meta/page_info/current_page"), 1)
    }

    const beyond = yield* call("GET", `${path}?per=2&page=9`, { as: "admin" })
    assert.strictEqual(beyond.status, 200)
    assert.deepStrictEqual(idsOf(beyond), [])
    assert.strictEqual(link(beyond, "prev"), `${path}?page=3&per=2`)
    assert.isNull(link(beyond, "next"))
  })

  onServer("contain only the owner's integrations", function* () {
    yield* call("POST", path, { as: "admin", body: document() })
    yield* call("POST", "/v4/tenants/101/integrations", { as: "tenant", body: document() })
    for (const [as, list] of [
      ["admin", path],
      ["tenant", "/v4/tenants/101/integrations"]
    ] as const) {
      assert.strictEqual((yield* call("GET", list, { as })).at("/meta/page_info/total_item_count"), 1)
    }
    assert.strictEqual(
      (yield* call("GET", "/v4/buildings/2/integrations", { as: "other" })).at("/meta/page_info/total_item_count"),
      0
    )
  })
})
