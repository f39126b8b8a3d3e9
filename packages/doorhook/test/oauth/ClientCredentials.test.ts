/**
 * Back ends without a user (RFC 6749 section 4.4), and clients that authenticate with a signed assertion (RFC 7523).
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { listening } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect, Predicate } from "effect"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import * as oauth from "oauth4webapi"
import { directory, live, mount, start } from "../harness/Embedded.ts"
import { runHere } from "../harness/InProcess.ts"

const issuer = "https://doors.example"
const { subtle } = globalThis.crypto

const algorithms = {
  RS256: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  PS256: { name: "RSA-PSS", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  EdDSA: { name: "Ed25519" }
} as const
type Name = keyof typeof algorithms

const signers = {
  RS256: algorithms.RS256,
  PS256: { name: "RSA-PSS", saltLength: 32 },
  ES256: { name: "ECDSA", hash: "SHA-256" },
  EdDSA: algorithms.EdDSA
}

const makeKeys = async (name: Name) => {
  const made = await subtle.generateKey(algorithms[name], true, ["sign", "verify"])
  if (!("privateKey" in made)) return assert.fail("no pair")
  const { d: _, ...known } = await subtle.exportKey("jwk", made.publicKey)
  const jwk = { kty: known.kty, n: known.n, e: known.e, crv: known.crv, x: known.x, y: known.y }
  return { ...made, jwk: Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== undefined)) }
}

const keys = {
  RS256: await makeKeys("RS256"),
  PS256: await makeKeys("PS256"),
  ES256: await makeKeys("ES256"),
  EdDSA: await makeKeys("EdDSA")
}
const strangers = await makeKeys("ES256")

const jwksOf = (name: Name) => ({ keys: [{ ...keys[name].jwk, kid: name }] })
const signing = Object.fromEntries(Object.keys(keys).map((name) => [`signer-${name}`, name]))
const isName = (name: unknown): name is Name => Predicate.isString(name) && name in keys

const redirect_uris = ["https://client.example/cb"]
const active = { isActive: true }

const hosts: typeof directory = {
  ...directory,
  client: (id) => {
    const name = signing[id]
    if (isName(name)) return { id, name: "Signer", redirect_uris, jwks: jwksOf(name) }
    if (id === "unmapped") return { id, name: "Unmapped", secret: "s", redirect_uris }
    if (id === "public") return { id, name: "Public", redirect_uris }
    return id === "backend" ? { id, name: "Back end", secret: "s", redirect_uris } : null
  },
  serviceUser: (client) => (client.id === "unmapped" ? null : "admin"),
  isActive: () => active.isActive
}

const scopes = { "doors:open": "Open your doors" }
const doors = "https://api.example/doors"
const settings = { directory: hosts, publicUrl: issuer, scopes, resources: { [doors]: {} } }

const post = async (url: string, path: string, fields: Record<string, string>): Promise<Record<string, unknown>> => {
  const response = await fetch(`${url}${path}`, { method: "POST", body: new URLSearchParams(fields) })
  return { ...Object(await response.json()), status: response.status }
}

const backend = { grant_type: "client_credentials", client_id: "backend", client_secret: "s" }

const text = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64url")

const claimsOf = (sub: string) => {
  const now = Math.floor(Date.now() / 1_000)
  return { iss: sub, sub, aud: issuer, jti: globalThis.crypto.randomUUID(), iat: now, nbf: now, exp: now + 60 }
}

/** Signs an assertion. */
const sign = async (name: Name, claims: object, header: object = {}, key = keys[name].privateKey): Promise<string> => {
  const signed = `${text(JSON.stringify({ alg: name, ...header }))}.${text(JSON.stringify(claims))}`
  return `${signed}.${text(new Uint8Array(await subtle.sign(signers[name], key, Buffer.from(signed))))}`
}

const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
const withAssertion = (assertion: string) => ({
  grant_type: "client_credentials",
  client_assertion_type: type,
  client_assertion: assertion
})

describe("client credentials", () => {
  for (const kind of ["memory", "SQLite"]) {
    live(`get a token with the rights of the service user and without a refresh token, over ${kind}`, function* () {
      const database = kind === "memory" ? kind : join(yield* temporaryFolder, "doors.db")
      const doorhook = yield* start({ ...settings, database })
      const { url } = yield* mount(doorhook)
      const { access_token, created_at, status, ...rest } = yield* Effect.promise(() =>
        post(url, "/oauth/token", backend)
      )
      assert.deepStrictEqual([status, rest], [200, { token_type: "Bearer", expires_in: 86_400, scope: "public" }])
      assert.isNumber(created_at)
      const get = (path: string) =>
        Effect.promise(async () => {
          const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${String(access_token)}` } })
          return answer.status
        })
      assert.strictEqual(yield* get("/v4/buildings/1/integrations"), 200)
      assert.strictEqual(yield* get("/v4/buildings/2/integrations"), 404)
      const about = yield* Effect.promise(() =>
        post(url, "/oauth/introspect", { ...backend, token: String(access_token) })
      )
      assert.deepInclude<object>(about, { active: true, sub: "admin", client_id: "backend" })
      // An operator's revocation ends the tokens. The host decides whether the client gets another one.
      yield* Effect.promise(() => doorhook.grants.revoke("admin", { client: "backend" }))
      assert.strictEqual(yield* get("/v4/buildings/1/integrations"), 401)
      const again = yield* Effect.promise(() => post(url, "/oauth/token", backend))
      assert.strictEqual(again["status"], 200)
      assert.strictEqual(yield* get("/v4/buildings/1/integrations"), 401)
    })
  }

  live("take scope and resource as in the authorize step", function* () {
    const { url } = yield* mount(yield* start(settings))
    const ask = (more: Record<string, string>) =>
      Effect.promise(() => post(url, "/oauth/token", { ...backend, ...more }))
    assert.deepInclude<object>(yield* ask({ scope: "doors:open", resource: doors }), {
      status: 200,
      scope: "doors:open"
    })
    assert.deepInclude<object>(yield* ask({ scope: "doors:close" }), { status: 400, error: "invalid_scope" })
    assert.deepInclude<object>(yield* ask({ resource: "https://other.example" }), {
      status: 400,
      error: "invalid_target"
    })
  })

  live("are given to a client that is registered with its keys, by host or command", function* () {
    const folder = yield* temporaryFolder
    const doorhook = yield* start({ ...settings, operatorKey: "dhop_an-operator-key-of-this-test" })
    const { url } = yield* mount(doorhook)
    const file = join(folder, "keys.json")
    yield* Effect.promise(() => writeFile(file, JSON.stringify(jwksOf("EdDSA"))))
    const connection = ["--url", url, "--operator-key", "dhop_an-operator-key-of-this-test"]
    const added = yield* runHere(["clients", "add", "--id", "by-command", "--name", "B", "--jwks", file, ...connection])
    assert.include(added.stdout, "the client signs with its keys")
    assert.include((yield* runHere(["clients", "list", ...connection])).stdout, "signs with its keys")
    const wrong = yield* runHere(["clients", "add", "--name", "B", "--jwks", join(folder, "none.json"), ...connection])
    assert.deepStrictEqual([wrong.code, wrong.stderr.includes("--jwks")], [3, true])
    yield* Effect.promise(async () => {
      const made = await doorhook.clients.add({ id: "by-host", name: "H", redirect_uris: [], jwks: jwksOf("ES256") })
      assert.isNull(made.client_secret)
      for (const [id, name] of [
        ["by-host", "ES256"],
        ["by-command", "EdDSA"]
      ] as const) {
        const answer = await post(url, "/oauth/token", withAssertion(await sign(name, claimsOf(id), { kid: name })))
        assert.strictEqual(answer["status"], 200, id)
        const bare = await post(url, "/oauth/token", { grant_type: "client_credentials", client_id: id })
        assert.strictEqual(bare["error"], "invalid_client", id)
      }
    })
  })

  live("are refused to other clients, and for a user who is gone", function* () {
    const { url } = yield* mount(yield* start(settings))
    const error = (fields: Record<string, string>) =>
      Effect.promise(async () => {
        const { error: code, status } = await post(url, "/oauth/token", { ...backend, ...fields })
        return [status, code]
      })
    assert.deepStrictEqual(yield* error({ client_id: "unmapped" }), [400, "unauthorized_client"])
    assert.deepStrictEqual(yield* error({ client_id: "public", client_secret: "" }), [400, "unauthorized_client"])
    assert.deepStrictEqual(yield* error({ client_secret: "wrong" }), [401, "invalid_client"])
    assert.deepStrictEqual(yield* error({ client_secret: "" }), [401, "invalid_client"])
    active.isActive = false
    assert.deepStrictEqual(yield* error({}), [400, "invalid_grant"])
    active.isActive = true
    const { serviceUser: _, ...without } = hosts
    const { url: bare } = yield* mount(yield* start({ ...settings, directory: without }))
    assert.deepInclude<object>(yield* Effect.promise(() => post(bare, "/oauth/token", backend)), {
      status: 400,
      error: "unauthorized_client"
    })
  })

  live("work with oauth4webapi, by secret and by each kind of key", function* () {
    // The issuer must be the address that the library calls.
    const server = yield* listening(createServer((request, response) => doorhook.node(request, response)))
    const doorhook = yield* start({ ...settings, publicUrl: server.url })
    const insecure = { [oauth.allowInsecureRequests]: true }
    yield* Effect.promise(async () => {
      const discovered = await oauth.discoveryRequest(new URL(server.url), { algorithm: "oauth2", ...insecure })
      const as = await oauth.processDiscoveryResponse(new URL(server.url), discovered)
      assert.include(as.grant_types_supported ?? [], "client_credentials")
      assert.include(as.token_endpoint_auth_methods_supported ?? [], "private_key_jwt")
      const ways: ReadonlyArray<readonly [string, oauth.ClientAuth]> = [
        ["backend", oauth.ClientSecretPost("s")],
        ...Object.entries(signing).flatMap(([id, name]) =>
          isName(name) ? [[id, oauth.PrivateKeyJwt({ key: keys[name].privateKey, kid: name })] as const] : []
        )
      ]
      for (const [client_id, authentication] of ways) {
        const client = { client_id }
        const answer = await oauth.clientCredentialsGrantRequest(
          as,
          client,
          authentication,
          { scope: "public" },
          insecure
        )
        const tokens = await oauth.processClientCredentialsResponse(as, client, answer)
        assert.deepStrictEqual([tokens.scope, tokens.refresh_token], ["public", undefined])
      }
    })
  })
})

describe("an assertion", () => {
  live("is accepted once, in any process on the database", function* () {
    const database = join(yield* temporaryFolder, "doors.db")
    const assertion = yield* Effect.promise(() => sign("ES256", claimsOf("signer-ES256")))
    const once = Effect.fnUntraced(function* () {
      const doorhook = yield* start({ ...settings, database })
      const { url } = yield* mount(doorhook)
      const answers = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 5 }, () => post(url, "/oauth/token", withAssertion(assertion))))
      )
      return answers.map(({ status }) => Number(status)).toSorted((a, b) => a - b)
    })
    assert.deepStrictEqual(yield* Effect.scoped(once()), [200, 401, 401, 401, 401])
    assert.deepStrictEqual(yield* Effect.scoped(once()), [401, 401, 401, 401, 401])
  })

  const wrong: ReadonlyArray<readonly [string, () => Promise<string>]> = [
    ["another audience", () => sign("ES256", { ...claimsOf("signer-ES256"), aud: `${issuer}/oauth/token` })],
    ["a second audience", () => sign("ES256", { ...claimsOf("signer-ES256"), aud: [issuer, "https://other.example"] })],
    ["no audience", () => sign("ES256", { ...claimsOf("signer-ES256"), aud: [] })],
    ["another issuer", () => sign("ES256", { ...claimsOf("signer-ES256"), iss: "signer-RS256" })],
    ["an expiry in the past", () => sign("ES256", { ...claimsOf("signer-ES256"), exp: Date.now() / 1_000 - 61 })],
    [
      "an expiry in the far future",
      () => sign("ES256", { ...claimsOf("signer-ES256"), exp: Date.now() / 1_000 + 3_600 })
    ],
    ["an age of an hour", () => sign("ES256", { ...claimsOf("signer-ES256"), iat: Date.now() / 1_000 - 3_600 })],
    ["a time in the future", () => sign("ES256", { ...claimsOf("signer-ES256"), iat: Date.now() / 1_000 + 300 })],
    ["a later beginning", () => sign("ES256", { ...claimsOf("signer-ES256"), nbf: Date.now() / 1_000 + 300 })],
    ["no id", () => sign("ES256", { ...claimsOf("signer-ES256"), jti: undefined })],
    ["an endless id", () => sign("ES256", { ...claimsOf("signer-ES256"), jti: "x".repeat(256) })],
    ["no expiry", () => sign("ES256", { ...claimsOf("signer-ES256"), exp: undefined })],
    ["the key of a stranger", () => sign("ES256", claimsOf("signer-ES256"), {}, strangers.privateKey)],
    ["the id of another key", () => sign("ES256", claimsOf("signer-ES256"), { kid: "RS256" })],
    ["the key of another client", () => sign("RS256", claimsOf("signer-ES256"))],
    ["an unknown client", () => sign("ES256", claimsOf("nobody"))],
    ["a client without keys", () => sign("ES256", claimsOf("backend"))],
    [
      "the algorithm none",
      async () => {
        const [, claims = ""] = (await sign("ES256", claimsOf("signer-ES256"))).split(".")
        return `${text(JSON.stringify({ alg: "none" }))}.${claims}.`
      }
    ],
    ["an algorithm with a shared secret", () => sign("ES256", claimsOf("signer-ES256"), { alg: "HS256" })],
    ["a critical extension", () => sign("ES256", claimsOf("signer-ES256"), { crit: ["b64"], b64: false })],
    ["the type of an access token", () => sign("ES256", claimsOf("signer-ES256"), { typ: "at+jwt" })],
    [
      "changed claims",
      async () => {
        const [head = "", , end = ""] = (await sign("ES256", claimsOf("signer-ES256"))).split(".")
        return `${head}.${text(JSON.stringify(claimsOf("signer-ES256")))}.${end}`
      }
    ],
    ["no signature", async () => (await sign("ES256", claimsOf("signer-ES256"))).replace(/[^.]*$/, "")],
    ["a fourth part", async () => `${await sign("ES256", claimsOf("signer-ES256"))}.x`],
    ["no JWT at all", async () => "x"]
  ]

  live("is refused with any flaw", function* () {
    for (const [what, make] of wrong) {
      // Each flaw gets a server of its own, because wrong signatures are throttled.
      const refused = Effect.gen(function* () {
        const { url } = yield* mount(yield* start(settings))
        const answer = yield* Effect.promise(async () => post(url, "/oauth/token", withAssertion(await make())))
        assert.deepStrictEqual([answer["status"], answer["error"]], [401, "invalid_client"], what)
      })
      yield* Effect.scoped(refused)
    }
  })

  live("replaces the secret at every endpoint, and is not sent beside another credential", function* () {
    const { url } = yield* mount(yield* start(settings))
    const ask = (path: string, fields: Record<string, string>) =>
      Effect.promise(async () => {
        const assertion = await sign("EdDSA", claimsOf("signer-EdDSA"))
        return post(url, path, { ...withAssertion(assertion), ...fields })
      })
    const { access_token } = yield* ask("/oauth/token", {})
    const token = String(access_token)
    assert.deepInclude<object>(yield* ask("/oauth/introspect", { token }), { active: true, client_id: "signer-EdDSA" })
    assert.deepInclude<object>(yield* ask("/oauth/token", { client_id: "signer-EdDSA" }), { status: 200 })
    assert.deepInclude<object>(yield* ask("/oauth/token", { client_id: "backend" }), { error: "invalid_client" })
    assert.deepInclude<object>(yield* ask("/oauth/token", { client_secret: "s" }), { error: "invalid_request" })
    assert.deepInclude<object>(yield* ask("/oauth/token", { client_assertion_type: "x" }), { error: "invalid_request" })
    assert.deepInclude<object>(yield* ask("/oauth/token", { client_assertion: "" }), { error: "invalid_request" })
    const bare = { grant_type: "client_credentials", client_id: "signer-EdDSA" }
    assert.deepInclude<object>(yield* Effect.promise(() => post(url, "/oauth/token", bare)), {
      error: "invalid_client"
    })
    assert.deepInclude<object>(yield* ask("/oauth/revoke", { token }), { status: 200 })
    assert.deepInclude<object>(yield* ask("/oauth/introspect", { token }), { active: false })
  })

  live("with wrong signatures is throttled like wrong secrets", function* () {
    const { url } = yield* mount(yield* start(settings))
    const statuses = yield* Effect.promise(async () => {
      const found: Array<unknown> = []
      for (let n = 0; n < 12; n++) {
        const assertion = await sign("ES256", claimsOf("signer-ES256"), {}, strangers.privateKey)
        found.push((await post(url, "/oauth/token", withAssertion(assertion)))["status"])
      }
      return found
    })
    assert.include(statuses.slice(10), 429)
  })
})

describe("a directory file", () => {
  it("refuses a private key", async () => {
    const { d } = await subtle.exportKey("jwk", strangers.privateKey)
    const client = { id: "x", name: "X", redirect_uris, jwks: { keys: [{ ...strangers.jwk, d }] } }
    const doorhook = await createDoorhook({ database: "memory", directory: { ...hosts, client: () => client } })
    const url = "http://localhost:4000/oauth/token"
    const body = new URLSearchParams({ ...backend, client_id: "x" })
    const answer = await doorhook.fetch(new Request(url, { method: "POST", body }))
    assert.strictEqual(answer.status, 503)
    await doorhook.close()
  })
})
