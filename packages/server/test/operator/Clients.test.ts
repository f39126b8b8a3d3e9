import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, operatorKey, onServer } from "../TestServer.ts"

const path = "/operator/clients"
const acme = { id: "acme", name: "Acme", redirect_uris: ["https://acme.example/cb"] }
const ask = (method: string, at: string, body?: unknown) => call(method, at, { as: operatorKey, body })

describe("clients", () => {
  onServer("are registered with a secret that is shown only once, listed, and removed", function* () {
    yield* TestClock.setTime(1_000_000)
    const added = yield* ask("POST", path, acme)
    assert.strictEqual(added.status, 201, added.text)
    assert.strictEqual(added.headers.get("cache-control"), "no-store")
    const secret = added.textAt("/client_secret")
    assert.match(secret, /^dh_cs_[A-Za-z0-9_-]{43}$/)
    const client = {
      ...acme,
      confidential: true,
      secrets: [{ expires_at: null }],
      jwks: null,
      created_at: "1970-01-01T00:16:40.000Z"
    }
    assert.deepStrictEqual(added.at("/client"), client)
    const list = yield* ask("GET", path)
    assert.deepStrictEqual(list.json, { clients: [client] })
    assert.notInclude(list.text, secret)
    const removed = yield* ask("DELETE", `${path}/acme`)
    assert.deepStrictEqual([removed.status, removed.text], [204, ""])
    assert.deepStrictEqual((yield* ask("GET", path)).json, { clients: [] })
    assert.strictEqual((yield* ask("DELETE", `${path}/acme`)).status, 404)
  })

  onServer("that are public have no secret, and ids are generated if missing", function* () {
    const { id: _, ...nameless } = acme
    const added = yield* ask("POST", path, { ...nameless, confidential: false })
    assert.strictEqual(added.status, 201)
    assert.deepStrictEqual([added.at("/client_secret"), added.at("/client/confidential")], [null, false])
    assert.match(added.textAt("/client/id"), /^client_[\w-]{22}$/)
    const rotated = yield* ask("POST", `${path}/${added.textAt("/client/id")}/rotate`)
    assert.deepStrictEqual([rotated.status, rotated.at("/errors/0/code")], [409, "client_is_public"])
  })

  onServer("with keys have no secret, and need no redirect URI", function* () {
    const key = { kty: "EC", crv: "P-256", x: "x", y: "y", kid: "k1" }
    const added = yield* ask("POST", path, { ...acme, redirect_uris: [], jwks: { keys: [key] } })
    assert.strictEqual(added.status, 201, added.text)
    assert.deepStrictEqual([added.at("/client_secret"), added.at("/client/confidential")], [null, true])
    assert.deepStrictEqual(added.at("/client/jwks"), { keys: [key] })
    assert.deepStrictEqual((yield* ask("GET", path)).at("/clients/0/jwks"), { keys: [key] })
    const refused = Effect.fnUntraced(function* (wrong: object) {
      const reply = yield* ask("POST", path, { ...acme, id: "other", ...wrong })
      return [reply.status, reply.at("/errors/0/source/pointer")]
    })
    assert.deepStrictEqual(yield* refused({ jwks: { keys: [{ ...key, d: "d" }] } }), [422, "/jwks/keys/0/d"])
    assert.deepStrictEqual(yield* refused({ jwks: { keys: [] } }), [422, "/jwks/keys"])
    assert.deepStrictEqual(yield* refused({ jwks: { keys: [key] }, confidential: false }), [422, "/confidential"])
    assert.deepStrictEqual(yield* refused({ redirect_uris: [] }), [422, "/redirect_uris"])
    assert.strictEqual((yield* ask("POST", `${path}/acme/rotate`)).status, 409)
  })

  onServer("get a new secret, and the old one ends after the overlap", function* () {
    const before = (yield* ask("POST", path, acme)).textAt("/client_secret")
    const rotated = yield* ask("POST", `${path}/acme/rotate`, { overlap: "2h" })
    assert.strictEqual(rotated.status, 200, rotated.text)
    assert.notStrictEqual(rotated.textAt("/client_secret"), before)
    assert.deepStrictEqual(rotated.at("/client/secrets"), [
      { expires_at: null },
      { expires_at: "1970-01-01T02:00:00.000Z" }
    ])
    // A day by default.
    const again = yield* ask("POST", `${path}/acme/rotate`)
    assert.strictEqual(again.at("/client/secrets/1/expires_at"), "1970-01-02T00:00:00.000Z")
    for (const overlap of ["soon", 5, "366d"]) {
      const refused = yield* ask("POST", `${path}/acme/rotate`, { overlap })
      assert.deepStrictEqual([refused.status, refused.at("/errors/0/source/pointer")], [422, "/overlap"])
    }
    assert.strictEqual((yield* ask("POST", `${path}/acme/rotate`, "{")).status, 400)
    assert.strictEqual((yield* ask("POST", `${path}/nobody/rotate`)).status, 404)
  })

  onServer("are refused with all their problems", function* () {
    const pointers = (wrong: unknown) =>
      Effect.map(ask("POST", path, wrong), (reply) => {
        assert.strictEqual(reply.status, 422, reply.text)
        return Object.keys(reply.at("/errors") ?? {}).map((at) => reply.at(`/errors/${at}/source/pointer`))
      })
    assert.deepStrictEqual(yield* pointers({ id: 5, redirect_uris: "x", confidential: "no" }), [
      "/id",
      "",
      "/redirect_uris",
      "/confidential"
    ])
    assert.deepStrictEqual(
      yield* pointers({
        id: "a b",
        name: " ",
        redirect_uris: ["https://ok.example/", "http://evil.example/", "https://ok.example/?state=own"]
      }),
      ["/id", "/name", "/redirect_uris/1", "/redirect_uris/2"]
    )
    // If these members were ignored, a public client would get a secret, and a given secret would not be used.
    assert.deepStrictEqual(yield* pointers({ ...acme, public: true, secret: "s1" }), ["/public", "/secret"])
    const nameless = yield* ask("POST", path, { ...acme, name: undefined })
    assert.strictEqual(nameless.at("/errors/0/detail"), "`name` is missing.")
    assert.strictEqual((yield* ask("POST", path, "{")).status, 400)
    yield* ask("POST", path, acme)
    const twice = yield* ask("POST", path, acme)
    assert.deepStrictEqual([twice.status, twice.at("/errors/0/code")], [409, "client_exists"])
  })

  onServer("may have any registered id, however long and strange", function* () {
    const id = "/%?#".repeat(63) + "abc"
    assert.strictEqual((yield* ask("POST", path, { ...acme, id })).status, 201)
    const at = `${path}/${encodeURIComponent(id)}`
    assert.strictEqual((yield* ask("POST", `${at}/rotate`)).at("/client/id"), id)
    assert.strictEqual((yield* ask("DELETE", at)).status, 204)
  })

  onServer("are only for the operator", function* () {
    for (const [method, at] of [
      ["GET", path],
      ["POST", path],
      ["POST", `${path}/acme/rotate`],
      ["DELETE", `${path}/acme`]
    ] as const) {
      assert.strictEqual((yield* call(method, at, { as: "admin" })).status, 401)
    }
    assert.strictEqual((yield* ask("PUT", `${path}/acme`, acme)).status, 405)
  })
})
