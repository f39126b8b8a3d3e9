import { Browser, ownerSignedIn } from "../ui/Browser.ts"
import { ClientId, GrantId, TokenHash, TokenStore, UserId } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { call, operatorKey, onServer } from "../TestServer.ts"

const path = "/operator/grants"
const ask = (method: string, at: string, body?: unknown) => call(method, at, { as: operatorKey, body })

/** Stores a grant of a user to a client, with tokens. */
const grant = Effect.fnUntraced(function* (id: string, client: string, user = "admin") {
  const store = yield* TokenStore
  const grant_id = GrantId.make(id)
  const client_id = ClientId.make(client)
  const hash = (kind: string) => TokenHash.make(`${kind} ${id}`)
  const created_at = 1_000_000
  yield* store.createCode(
    {
      id: grant_id,
      user_id: UserId.make(user),
      client_id,
      scope: "public",
      resource: "",
      created_at,
      revoked_at: null
    },
    {
      hash: hash("code"),
      grant_id,
      client_id,
      redirect_uri: "https://client.example/cb",
      redirect_uri_given: true,
      code_challenge: null,
      expires_at: created_at
    }
  )
  const access = {
    hash: hash("access"),
    grant_id,
    scope: null,
    resource: null,
    created_at,
    expires_at: created_at,
    retires: null
  }
  const refresh = { hash: hash("refresh"), grant_id, created_at, used_at: null, rotated_at: null, retired_at: null }
  yield* store.redeemCode(hash("code"), { access, refresh, maxAccessTokens: 100 }, created_at)
})

describe("the page of a user's own grants", () => {
  onServer("lists them with client, scope and last use, and ends one client's or all of them", function* () {
    yield* grant("g1", "acme")
    yield* grant("g2", "gone")
    yield* grant("g3", "acme", "other user")
    const { browser } = yield* ownerSignedIn("admin")
    const page = yield* browser.get("/portal/grants")
    assert.strictEqual(page.status, 200)
    for (const text of ["acme", "gone", "public", "Last use"]) assert.include(page.text, text)
    // A form can't name another user.
    const form = { client_id: "acme", user_id: "other user" }
    const revoked = yield* browser.post(page, "/portal/grants/revoke", form)
    assert.deepStrictEqual([revoked.status, revoked.headers.get("location")], [303, "/portal/grants?done=revoked&n=1"])
    const left = (yield* browser.get("/portal/grants")).text
    assert.include(left, "gone")
    assert.notInclude(left, "acme")
    assert.strictEqual((yield* ask("GET", `${path}?user_id=other%20user`)).at("/grants/0/id"), "g3")
    yield* browser.post(yield* browser.get("/portal/grants"), "/portal/grants/revoke", {})
    assert.deepStrictEqual((yield* ask("GET", `${path}?user_id=admin`)).json, { grants: [] })
    const forged = yield* browser.post(page, "/portal/grants/revoke", { csrf_token: "" })
    assert.strictEqual(forged.status, 403)
    assert.strictEqual((yield* new Browser().get("/portal/grants")).status, 403)
  })
})

describe("grants", () => {
  onServer("of a user can be listed, and ended for one client or for all", function* () {
    yield* ask("POST", "/operator/clients", { id: "acme", name: "Acme", redirect_uris: ["https://acme.example/cb"] })
    yield* grant("g1", "acme")
    yield* grant("g2", "gone")
    yield* grant("g3", "acme", "other, & more")
    const list = yield* ask("GET", `${path}?user_id=admin`)
    assert.strictEqual(list.status, 200, list.text)
    assert.strictEqual(list.headers.get("cache-control"), "no-store")
    const about = {
      scope: "public",
      created_at: "1970-01-01T00:16:40.000Z",
      last_used_at: "1970-01-01T00:16:40.000Z"
    }
    assert.deepStrictEqual(list.json, {
      grants: [
        { id: "g1", client_id: "acme", client_name: "Acme", ...about },
        { id: "g2", client_id: "gone", client_name: null, ...about }
      ]
    })
    const one = yield* ask("POST", `${path}/revoke`, { user_id: "admin", client_id: "gone" })
    assert.deepStrictEqual([one.status, one.json], [200, { grants: 1 }])
    assert.strictEqual((yield* ask("GET", `${path}?user_id=admin`)).at("/grants/0/id"), "g1")
    assert.deepStrictEqual((yield* ask("POST", `${path}/revoke`, { user_id: "admin" })).json, { grants: 1 })
    assert.deepStrictEqual((yield* ask("GET", `${path}?user_id=admin`)).json, { grants: [] })
    assert.deepStrictEqual((yield* ask("POST", `${path}/revoke`, { user_id: "admin" })).json, { grants: 0 })
    const other = yield* ask("GET", `${path}?user_id=${encodeURIComponent("other, & more")}`)
    assert.strictEqual(other.at("/grants/0/id"), "g3")
  })

  onServer("are listed only for a given user", function* () {
    for (const query of ["", "?user_id=", "?user_id=%00", "?user_id=a%00b", "?user_id=a&user_id=b", "?user=a"]) {
      const refused = yield* ask("GET", `${path}${query}`)
      assert.deepStrictEqual([refused.status, refused.at("/errors/0/code")], [400, "invalid_parameter"], query)
    }
    const missing = yield* ask("GET", path)
    assert.strictEqual(
      missing.at("/errors/0/detail"),
      "`user_id` is missing: it must be the id of a user in the directory."
    )
  })

  onServer("end only for a given user, and not if the body has unknown members", function* () {
    yield* grant("g1", "acme")
    const cases: ReadonlyArray<readonly [body: unknown, pointer: string, detail: string]> = [
      [{}, "", "`user_id` is missing."],
      [{ user_id: "" }, "/user_id", "/user_id must be the id of a user in the directory."],
      [{ user_id: "a\0b" }, "/user_id", "/user_id must be the id of a user in the directory."],
      [{ user_id: 42 }, "/user_id", "/user_id must be a text."],
      [{ user_id: "admin", client_id: "" }, "/client_id", "/client_id must be the id of a client."],
      [{ user_id: "admin", client_id: null }, "/client_id", "/client_id must be a text."],
      // If the misspelled member were ignored, the request would end the grants to all clients.
      [{ user_id: "admin", client: "acme" }, "/client", "/client is not known here."]
    ]
    for (const [body, pointer, detail] of cases) {
      const refused = yield* ask("POST", `${path}/revoke`, body)
      assert.deepStrictEqual(
        [refused.status, refused.at("/errors/0/source/pointer"), refused.at("/errors/0/detail")],
        [422, pointer, detail]
      )
      assert.isUndefined(refused.at("/errors/1"))
    }
    assert.strictEqual((yield* ask("POST", `${path}/revoke`, "{")).status, 400)
    assert.strictEqual((yield* ask("POST", `${path}/revoke`, "[]")).status, 422)
    assert.strictEqual((yield* ask("GET", `${path}?user_id=admin`)).at("/grants/0/id"), "g1")
  })
})
