import { StoreError, TokenStore } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import {
  admin,
  authorizeC1,
  Browser,
  exchangeOf,
  formOf,
  multipart,
  obtainCode,
  post,
  secretOfC1,
  startServer,
  withQuery,
  sharedServer
} from "./OAuthServer.ts"

const server = sharedServer()

type Fields = Readonly<Record<string, string>>

const tokenUrl = () => `${server.url}/oauth/token`
const urlencoded = (fields: Fields) => new URLSearchParams(fields)
const jsonType = { "content-type": "application/json" }

type Reply = Awaited<ReturnType<typeof post>>

/** Asserts the properties that every answer of these endpoints must have. */
const assertGuarded = ({ headers }: Reply) => {
  assert.strictEqual(headers.get("content-type"), "application/json")
  assert.strictEqual(headers.get("cache-control"), "no-store")
  assert.strictEqual(headers.get("pragma"), "no-cache")
}

/** The status and error code of a refusal. */
const refusal = (reply: Reply): readonly [number, string] => {
  assertGuarded(reply)
  assert.deepStrictEqual(Object.keys(Object(reply.json)), ["error", "error_description"])
  assert.match(reply.textAt("error_description"), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  // Only a 401 has a challenge. If other statuses had one, client libraries would ignore the error code.
  assert.strictEqual(
    reply.headers.get("www-authenticate"),
    reply.status === 401 ? 'Basic realm="doorhook", charset="UTF-8"' : null
  )
  return [reply.status, reply.textAt("error")]
}

/** Start time of the tests, in seconds since 1970. */
const began = Math.floor(Date.now() / 1_000)

/** The body of a successful answer. */
const tokens = (reply: Reply): Fields => {
  assert.strictEqual(reply.status, 200, JSON.stringify(reply.json))
  assertGuarded(reply)
  const members = ["access_token", "token_type", "expires_in", "refresh_token", "scope", "created_at"]
  assert.deepStrictEqual(Object.keys(Object(reply.json)), members)
  const { created_at } = Object(reply.json)
  assert.isAtLeast(created_at, began)
  assert.isAtMost(created_at, Date.now() / 1_000)
  assert.deepInclude<object>(Object(reply.json), { token_type: "Bearer", expires_in: 86_400, scope: "public" })
  return { access_token: reply.textAt("access_token"), refresh_token: reply.textAt("refresh_token") }
}

const obtainTokens = async () => tokens(await post(tokenUrl(), multipart(exchangeOf(await obtainCode(server.url)))))

describe("the token endpoint", () => {
  it("accepts a multipart form, as in the interface document", async () => {
    const { access_token, refresh_token } = await obtainTokens()
    assert.match(access_token ?? "", /^dh_at_[1-9][0-9]*\.[A-Za-z0-9_-]{43}$/)
    assert.match(refresh_token ?? "", /^dh_rt_[A-Za-z0-9_-]{43}$/)
  })

  it("accepts forms of OAuth libraries and JSON, and ignores a Bearer header", async () => {
    const form = await post(tokenUrl(), urlencoded(exchangeOf(await obtainCode(server.url))))
    const { refresh_token } = tokens(form)
    const refresh = {
      grant_type: "refresh_token",
      client_id: "c1",
      client_secret: secretOfC1,
      refresh_token,
      scope: null,
      // Unknown parameters are ignored (RFC 6749 section 3.2).
      client: { version: 3 },
      audience: ["https://api.example"]
    }
    const headers = { ...jsonType, authorization: "Bearer expired" }
    const again = tokens(await post(tokenUrl(), JSON.stringify(refresh), headers))
    assert.strictEqual(again["refresh_token"], refresh_token)
  })

  it("refreshes with only the parameters of the document", async () => {
    const { access_token, refresh_token = "" } = await obtainTokens()
    const again = tokens(
      await post(tokenUrl(), multipart({ grant_type: "refresh_token", client_id: "c1", refresh_token }))
    )
    assert.strictEqual(again["refresh_token"], refresh_token)
    assert.notStrictEqual(again["access_token"], access_token)
  })

  it("accepts Basic, form-encoded", async () => {
    const code = await obtainCode(server.url, {
      client_id: "c2",
      redirect_uri: "https://other.example/cb",
      response_type: "code"
    })
    const fields = { grant_type: "authorization_code", code, redirect_uri: "https://other.example/cb" }
    const secret = new URLSearchParams({ "": "s:2 /+%é" }).toString().slice(1)
    const authorization = `Basic ${Buffer.from(`c2:${secret}`).toString("base64")}`
    assert.isNotEmpty(tokens(await post(tokenUrl(), urlencoded(fields), { authorization }))["access_token"])
  })

  it.each([
    ["an empty form", urlencoded({}), {}],
    ["no body", undefined, {}],
    ["no grant_type", urlencoded({ client_id: "c1", client_secret: secretOfC1 }), {}],
    ["an empty JSON body", "", jsonType],
    ["a body that is not JSON", "{", jsonType],
    ["a JSON list", "[]", jsonType],
    ["a JSON number", '{"grant_type":7}', jsonType],
    ["a repeated JSON member", '{"grant_type":"refresh_token","grant_type":"refresh_token"}', jsonType],
    ["bytes that are not text", new Uint8Array([0xff, 0xfe]), { "content-type": "application/x-www-form-urlencoded" }],
    ["multipart without a boundary", "x", { "content-type": "multipart/form-data" }],
    [
      "multipart that was cut off",
      "--b\r\ncontent-disposition: form-data; name=x",
      { "content-type": "multipart/form-data; boundary=b" }
    ]
  ])("refuses %s", async (_, body, headers) => {
    assert.deepStrictEqual(refusal(await post(tokenUrl(), body, headers)), [400, "invalid_request"])
  })

  it.each(["grant_type", "code", "client_id", "unknown", "\u202e"])(
    "refuses %s twice, in both kinds of form",
    async (name) => {
      const fields = exchangeOf("x")
      const form = multipart(fields)
      const params = urlencoded(fields)
      for (const body of [form, params]) while (body.getAll(name).length < 2) body.append(name, fields[name] ?? "x")
      for (const body of [form, params]) {
        const reply = await post(tokenUrl(), body)
        assert.deepStrictEqual(refusal(reply), [400, "invalid_request"])
        // The characters that a description may have (RFC 6749 section 5.2).
        assert.match(
          reply.textAt("error_description") ?? "",
          /^[\x20-\x21\x23-\x5b\x5d-\x7e]+ was sent more than once\./
        )
      }
    }
  )

  it("refuses a truncated multipart body even if all of its fields arrived", async () => {
    const sent = new Response(multipart(exchangeOf("x")))
    const contentType = sent.headers.get("content-type") ?? ""
    const whole = await sent.text()
    const complete = await post(tokenUrl(), whole, { "content-type": contentType })
    assert.deepStrictEqual(refusal(complete), [400, "invalid_grant"])
    const cut = await post(tokenUrl(), whole.trimEnd().slice(0, -2), { "content-type": contentType })
    assert.deepStrictEqual(refusal(cut), [400, "invalid_request"])
  })

  it("refuses files", async () => {
    const form = multipart(exchangeOf("x"))
    form.append("file", new Blob(["x"]), "x.txt")
    assert.deepStrictEqual(refusal(await post(tokenUrl(), form)), [400, "invalid_request"])
  })

  it("refuses too many parts", async () => {
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, "x"]))
    for (const [body, headers] of [
      [multipart(fields), {}],
      [JSON.stringify(fields), jsonType]
    ] as const) {
      assert.deepStrictEqual(refusal(await post(tokenUrl(), body, headers)), [400, "invalid_request"])
    }
  })

  it.each([
    ["a wrong secret", { client_secret: "wrong" }],
    ["no secret", { client_secret: "" }],
    ["an unknown client", { client_id: "nobody" }],
    ["a public client with a secret", { client_id: "p1" }]
  ])("challenges %s", async (_, fields) => {
    const reply = await post(tokenUrl(), multipart({ ...exchangeOf("x"), ...fields }))
    assert.deepStrictEqual(refusal(reply), [401, "invalid_client"])
  })

  it("refuses credentials in two places", async () => {
    const authorization = `Basic ${Buffer.from(`c1:${secretOfC1}`).toString("base64")}`
    const reply = await post(tokenUrl(), urlencoded(exchangeOf("x")), { authorization })
    assert.deepStrictEqual(refusal(reply), [400, "invalid_request"])
  })

  it("reads nothing from the query", async () => {
    const exchange = exchangeOf(await obtainCode(server.url))
    const inQuery = await post(withQuery(tokenUrl(), exchange), urlencoded({}))
    assert.deepStrictEqual(refusal(inQuery), [400, "invalid_request"])
    const { client_secret = "", ...rest } = exchange
    const secretInQuery = await post(withQuery(tokenUrl(), { client_secret }), urlencoded(rest))
    assert.deepStrictEqual(refusal(secretInQuery), [401, "invalid_client"])
  })

  it("refuses other media types and methods with JSON errors", async () => {
    const xml = await post(tokenUrl(), "<x/>", { "content-type": "text/xml" })
    assert.deepStrictEqual(refusal(xml), [415, "invalid_request"])
    for (const path of ["token", "revoke", "introspect"]) {
      const response = await fetch(`${server.url}/oauth/${path}`)
      assert.strictEqual(response.status, 405)
      assert.strictEqual(response.headers.get("allow"), "POST")
      assert.deepInclude<object>(Object(await response.json()), { error: "invalid_request" })
    }
  })
})

describe("revoking and introspecting", () => {
  const client = { client_id: "c1", client_secret: secretOfC1 }
  const bearer = async (token: string) =>
    fetch(`${server.url}/v4/buildings/1/integrations`, { headers: { authorization: `Bearer ${token}` } })

  it("ends an access token immediately, and answers any token with JSON", async () => {
    const { access_token = "" } = await obtainTokens()
    assert.strictEqual((await bearer(access_token)).status, 404)
    for (const token of [access_token, access_token, "unknown"]) {
      const reply = await post(`${server.url}/oauth/revoke`, urlencoded({ ...client, token, token_type_hint: "x" }))
      assertGuarded(reply)
      assert.deepStrictEqual([reply.status, reply.json], [200, {}])
    }
    const answer = await bearer(access_token)
    assert.strictEqual(answer.status, 401)
    assert.match(answer.headers.get("www-authenticate") ?? "", /error="invalid_token"/)
  })

  it("ends a grant with its refresh token", async () => {
    const { access_token = "", refresh_token = "" } = await obtainTokens()
    await post(`${server.url}/oauth/revoke`, urlencoded({ ...client, token: refresh_token }))
    assert.strictEqual((await bearer(access_token)).status, 401)
  })

  it("describes a token to its client", async () => {
    const { access_token = "" } = await obtainTokens()
    const introspect = (fields: Fields) => post(`${server.url}/oauth/introspect`, urlencoded(fields))
    const live = await introspect({ ...client, token: access_token })
    assertGuarded(live)
    const members = ["active", "client_id", "exp", "iat", "scope", "sub", "token_type"]
    assert.deepStrictEqual(Object.keys(Object(live.json)).toSorted(), members)
    const foreign = await introspect({ client_id: "c2", client_secret: "s:2 /+%é", token: access_token })
    assert.deepStrictEqual(foreign.json, { active: false })
    assert.deepStrictEqual(refusal(await introspect({ token: access_token })), [401, "invalid_client"])
  })

  it("requires an authenticated client and a token", async () => {
    const revoke = (fields: Fields) => post(`${server.url}/oauth/revoke`, urlencoded(fields))
    assert.deepStrictEqual(refusal(await revoke({ token: "x" })), [401, "invalid_client"])
    assert.deepStrictEqual(refusal(await revoke({ client_id: "c1", token: "x" })), [401, "invalid_client"])
    assert.deepStrictEqual(refusal(await revoke(client)), [400, "invalid_request"])
  })
})

describe("access tokens at the API", () => {
  const get = (query: string, headers: Fields = {}) =>
    fetch(`${server.url}/v4/buildings/99/integrations${query}`, { headers })

  it("are accepted in the header, unlike refresh tokens", async () => {
    const { access_token, refresh_token } = await obtainTokens()
    assert.strictEqual((await get("", { authorization: `Bearer ${access_token}` })).status, 404)
    assert.strictEqual((await get("", { authorization: `Bearer ${refresh_token}` })).status, 401)
  })
})

describe("when the store fails", () => {
  const silent = Logger.layer([])
  const answers = async (findCode: TokenStore["Service"]["findCode"]) => {
    const own = await startServer({ around: silent, store: Layer.mock(TokenStore, { findCode }) })
    const reply = await post(`${own.url}/oauth/token`, multipart(exchangeOf("x")))
    assert.notInclude(JSON.stringify(reply.json), "hunter2")
    return { answer: refusal(reply), retryAfter: reply.headers.get("retry-after") }
  }

  it("a client is told whether to try again, and nothing internal", async () => {
    const cause = new Error("password=hunter2")
    const failing = await answers(() => new StoreError({ operation: "TokenStore.findCode", cause }))
    assert.deepStrictEqual(failing, { answer: [503, "temporarily_unavailable"], retryAfter: "1" })
    const broken = await answers(() => Effect.die(cause))
    assert.deepStrictEqual(broken, { answer: [500, "server_error"], retryAfter: null })
  })

  it("a user gets an error page", async () => {
    const own = await startServer({ around: silent, store: Layer.mock(TokenStore, {}) })
    const visitor = new Browser(own.url)
    const page = await visitor.authorize(authorizeC1)
    const answer = await visitor.submit(formOf(page.text), admin)
    assert.strictEqual(answer.status, 500)
    assert.include(answer.text, "<h1>Login is not possible</h1>")
  })
})
