import { assert, describe } from "@effect/vitest"
import { IpNetwork } from "effect/net"
import { call, onServer } from "../TestServer.ts"

const webhookSources = ["203.0.113.7/32", "2001:db8::/48"].map(IpNetwork.fromStringUnsafe)

describe("GET /v4/webhook_keys", () => {
  onServer("is empty if webhooks are signed with secrets only, and needs no token", function* () {
    const reply = yield* call("GET", "/v4/webhook_keys")
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(reply.json, { data: [] })
  })
})

describe("GET /v4/webhook_sources", () => {
  onServer(
    "lists the networks of deliveries without a token",
    function* () {
      const reply = yield* call("GET", "/v4/webhook_sources")
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers.get("content-type"), "application/vnd.api+json")
      assert.deepStrictEqual(reply.json, {
        data: [
          { type: "webhook_sources", id: "203.0.113.7/32", attributes: { cidr: "203.0.113.7/32" } },
          { type: "webhook_sources", id: "2001:db8::/48", attributes: { cidr: "2001:db8::/48" } }
        ]
      })
      const plain = yield* call("GET", "/v4/webhook_sources", { headers: { accept: "application/json" } })
      assert.strictEqual(plain.headers.get("content-type"), "application/json")
      assert.strictEqual((yield* call("GET", "/v4/webhook_sources", { headers: { accept: "text/html" } })).status, 406)
      assert.strictEqual((yield* call("GET", "/v4/webhook_sources?page=1")).status, 400)
      assert.strictEqual((yield* call("POST", "/v4/webhook_sources")).status, 405)
    },
    { api: { webhookSources } }
  )

  onServer("is empty by default", function* () {
    assert.deepStrictEqual((yield* call("GET", "/v4/webhook_sources")).json, { data: [] })
  })
})
