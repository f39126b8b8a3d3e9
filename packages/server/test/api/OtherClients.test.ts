/**
 * Integrations that another client of the same user created. A client gets them without their signing secrets, or not
 * at all if clients are isolated.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { call, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"
const [creator, rival] = ["admin", "admin~rival"]

const create = (as: string) =>
  Effect.map(call("POST", path, { as, body: document() }), (created) => created.textAt("/data/id"))

describe("an integration that another client created", () => {
  onServer("is shared, except for its signing secret", function* () {
    const one = `${path}/${yield* create(creator)}`
    const refused = yield* call("POST", `${one}/rotate_secret`, { as: rival })
    assert.deepStrictEqual(
      [refused.status, refused.at("/errors/0/code"), refused.at("/errors/0/title")],
      [403, "not_your_integration", "Another client's integration"]
    )
    assert.notInclude(refused.text, "whsec_")
    const got = yield* call("GET", one, { as: rival })
    assert.strictEqual(got.status, 200)
    assert.notInclude(got.text, "whsec_")
    const put = yield* call("PUT", one, { as: rival, body: document() })
    assert.strictEqual(put.status, 200)
    assert.notInclude(put.text, "whsec_")
    assert.match((yield* call("POST", `${one}/rotate_secret`, { as: creator })).text, /whsec_/)
  })

  onServer(
    "is not found by any operation if clients are isolated",
    function* () {
      const id = yield* create(creator)
      const own = yield* create(rival)
      const requests = [
        ["GET", ""],
        ["PUT", "", document()],
        ["PATCH", "", { data: { type: "integrations", attributes: { status: "disabled" } } }],
        ["DELETE", ""],
        ["POST", "/rotate_secret"],
        ["GET", "/deliveries"]
      ] as const
      for (const [method, below, body] of requests) {
        const reply = yield* call(method, `${path}/${id}${below}`, { as: rival, ...(body !== undefined && { body }) })
        assert.deepStrictEqual([method, reply.status], [method, 404])
        assert.strictEqual(reply.at("/errors/0/detail"), `There is no integration ${id}.`)
      }
      const listed = yield* call("GET", path, { as: rival })
      assert.deepStrictEqual([listed.at("/data/0/id"), listed.at("/data/1")], [own, undefined])
      assert.strictEqual(listed.at("/meta/page_info/total_item_count"), 1)
      const full = yield* call("POST", path, { as: rival, body: document() })
      assert.deepStrictEqual([full.status, full.at("/errors/0/code")], [409, "limit_reached"])
      assert.strictEqual((yield* call("GET", `${path}/${id}`, { as: creator })).status, 200)
    },
    { delivery: { clientIsolation: true, integrationsPerScope: 2 } }
  )
})
