import { DeliveryPolicy, IntegrationId, IntegrationStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { call, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

const created = Effect.gen(function* () {
  const reply = yield* call("POST", path, { as: "admin", body: document() })
  return { reply, one: `${path}/${reply.textAt("/data/id")}`, secret: reply.textAt("/meta/signing_secret") }
})

/** The secrets that an attempt made now would be signed with. */
const signers = Effect.fnUntraced(function* (id: string) {
  const stored = yield* (yield* IntegrationStore).find(IntegrationId.make(Number(id)))
  if (stored === null) return []
  return DeliveryPolicy.secretsOf(stored, yield* Clock.currentTimeMillis).map(Redacted.value)
})

describe("POST .../rotate_secret", () => {
  onServer("shows a new secret once, and signs with the old one too for a day", function* () {
    const { one, reply, secret } = yield* created
    yield* TestClock.adjust(1_000)
    const rotated = yield* call("POST", `${one}/rotate_secret`, { as: "admin" })
    assert.strictEqual(rotated.status, 200)
    const next = rotated.textAt("/meta/signing_secret")
    assert.match(next, /^whsec_[A-Za-z0-9+/]{32}$/)
    assert.notStrictEqual(next, secret)
    assert.deepStrictEqual(rotated.at("/data/attributes/bindings"), reply.at("/data/attributes/bindings"))
    assert.notStrictEqual(rotated.headers.get("etag"), reply.headers.get("etag"))
    const got = yield* call("GET", one, { as: "admin" })
    assert.deepStrictEqual(got.json, { data: rotated.at("/data") })
    assert.strictEqual(got.headers.get("etag"), rotated.headers.get("etag"))

    const id = reply.textAt("/data/id")
    assert.deepStrictEqual(yield* signers(id), [next, secret])
    yield* TestClock.adjust(24 * 3_600_000 - 1)
    assert.deepStrictEqual(yield* signers(id), [next, secret])
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(yield* signers(id), [next])
  })

  onServer("respects If-Match", function* () {
    const { one, reply, secret } = yield* created
    const rotate = (tag: string) => call("POST", `${one}/rotate_secret`, { as: "admin", headers: { "if-match": tag } })
    assert.strictEqual((yield* rotate('"99"')).status, 412)
    assert.deepStrictEqual(yield* signers(reply.textAt("/data/id")), [secret])
    assert.strictEqual((yield* rotate(reply.headers.get("etag") ?? "")).status, 200)
  })

  onServer("needs the right to the integration", function* () {
    const { one } = yield* created
    assert.strictEqual((yield* call("POST", `${one}/rotate_secret`)).status, 401)
    assert.strictEqual((yield* call("POST", `${one}/rotate_secret`, { as: "other" })).status, 404)
    assert.strictEqual((yield* call("POST", `${path}/999/rotate_secret`, { as: "admin" })).status, 404)
    const get = yield* call("GET", `${one}/rotate_secret`, { as: "admin" })
    assert.deepStrictEqual([get.status, get.headers.get("allow")], [405, "POST"])
  })
})
