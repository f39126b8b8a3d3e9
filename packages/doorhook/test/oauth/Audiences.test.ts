/**
 * Tokens that are bound to one API (RFC 8707): `/v4`, APIs of the host on its own origin, and APIs on other origins.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { listening } from "@doorhook/testkit/ListeningServer"
import { startSite } from "../harness/ClientSite.ts"
import { challenge, pkce } from "../harness/CodeGrant.ts"
import { client, directory, live, start } from "../harness/Embedded.ts"
import { logIn } from "../harness/LoginForm.ts"

const publicUrl = "https://doors.example"
const api = `${publicUrl}/v4`
const doors = "https://api.example/doors"
const bells = "https://api.example"
const scopes = { "doors:open": "Open your doors", "doors:list": "See your doors" }
const resources = {
  [doors]: { scopes: ["doors:open", "public"], accessTokenLifetime: "10m" },
  [bells]: { accessTokenLifetime: "1h" }
}

const settings = { scopes, resources, publicUrl }

type Pairs = ReadonlyArray<readonly [string, string]>

const queryOf = (pairs: Pairs): string =>
  pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")

const mounted = Effect.fnUntraced(function* (options: Parameters<typeof start>[0] = {}) {
  const database = options.database === "file" ? join(yield* temporaryFolder, "doors.db") : "memory"
  const doorhook = yield* start({ ...settings, ...options, database })
  const { url } = yield* listening(
    createServer((request, response) => {
      const guards: Record<string, Parameters<Doorhook["requireToken"]>[0]> = {
        "/doors": { resource: doors, scope: "doors:open" },
        "/bells": { resource: bells },
        "/plain": {}
      }
      const guard = guards[request.url ?? ""]
      if (guard === undefined) return doorhook.node(request, response)
      doorhook.requireToken(guard)(request, response, () => response.end(JSON.stringify(request.doorhook?.scopes)))
    })
  )
  return { doorhook, url }
})

const authorizeUrl = (url: string, asked: Pairs): URL => {
  const { client_id, redirect_uri } = client
  const known = Object.entries({ client_id, redirect_uri, response_type: "code" })
  return new URL(`/oauth/authorize?${queryOf([...known, ...asked])}`, url)
}

/** Logs in, and returns the parameters of the redirect to the client. */
const authorized = async (url: string, asked: Pairs): Promise<URLSearchParams> => {
  const page = await fetch(authorizeUrl(url, asked), { redirect: "manual" })
  const location =
    page.headers.get("location") ??
    (await logIn(authorizeUrl(url, asked), "admin", "right")).headers.get("location") ??
    assert.fail("not redirected")
  return new URL(location).searchParams
}

const post = async (url: string, path: string, fields: Pairs): Promise<Record<string, unknown>> => {
  const { client_id, client_secret, redirect_uri } = client
  const known = Object.entries({ client_id, client_secret, redirect_uri })
  const headers = { "content-type": "application/x-www-form-urlencoded" }
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body: queryOf([...known, ...fields]) })
  const json: Record<string, unknown> = Object(await response.json())
  return { ...json, status: response.status }
}

const exchange = (url: string, code: string | null, asked: Pairs = []) =>
  post(url, "/oauth/token", [["grant_type", "authorization_code"], ["code", code ?? ""], ...asked])

const tokensFor = async (url: string, asked: Pairs, narrowed: Pairs = []) =>
  exchange(url, (await authorized(url, asked)).get("code"), narrowed)

const refresh = (url: string, { refresh_token }: Record<string, unknown>, asked: Pairs = []) =>
  post(url, "/oauth/token", [["grant_type", "refresh_token"], ["refresh_token", String(refresh_token)], ...asked])

/** Returns which routes a token opens. */
const opens = async (url: string, { access_token }: Record<string, unknown>) => {
  const headers = { authorization: `Bearer ${String(access_token)}` }
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`, { headers })
    return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "", response }
  }
  const [v4, plain, atDoors, atBells] = [
    await ask("/v4/buildings"),
    await ask("/plain"),
    await ask("/doors"),
    await ask("/bells")
  ]
  return {
    v4: v4.status,
    plain: plain.status,
    doors: atDoors.status,
    bells: atBells.status,
    challenges: { v4, atDoors }
  }
}

const closed = { v4: 401, plain: 401, doors: 401, bells: 401 }

const databases = [
  ["memory", "memory"],
  ["SQLite", "file"]
] as const

describe("a token for a resource", () => {
  for (const [name, database] of databases) {
    live(`opens only that resource, over ${name}`, function* () {
      const { url } = yield* mounted({ database })
      const open = (asked: Pairs) =>
        Effect.promise(async () => {
          const { challenges: _, ...statuses } = await opens(url, await tokensFor(url, asked))
          return statuses
        })
      assert.deepStrictEqual(
        yield* open([
          ["resource", doors],
          ["scope", "doors:open"]
        ]),
        { ...closed, doors: 200 }
      )
      // The scope is missing, not the audience.
      assert.deepStrictEqual(yield* open([["resource", doors]]), { ...closed, doors: 403 })
      assert.deepStrictEqual(yield* open([["resource", bells]]), { ...closed, bells: 200 })
      assert.deepStrictEqual(yield* open([["resource", "HTTPS://API.example/"]]), { ...closed, bells: 200 })
      assert.deepStrictEqual(yield* open([["resource", api]]), { ...closed, v4: 200 })
      assert.deepStrictEqual(yield* open([]), { ...closed, v4: 200, plain: 200 })
      // An empty parameter counts as absent (RFC 6749 section 3.1).
      assert.deepStrictEqual(yield* open([["resource", ""]]), { ...closed, v4: 200, plain: 200 })
      const both: Pairs = [
        ["resource", doors],
        ["resource", bells],
        ["scope", "doors:open doors:list"]
      ]
      assert.deepStrictEqual(yield* open(both), { ...closed, doors: 200, bells: 200 })
    })
  }

  live("opens only that resource, too, if a back end got it, or a client that is its own metadata", function* () {
    const site = yield* startSite
    const id = `${site.url}/client.json`
    const redirect_uri = "http://127.0.0.1:49152/done"
    const document = { client_id: id, client_name: "Assistant", redirect_uris: [redirect_uri] }
    site.answer = (_, response) => void response.end(JSON.stringify(document))
    const hosts: typeof directory = { ...directory, serviceUser: () => "admin" }
    const { url } = yield* mounted({ caFile: site.caFile, clientIdMetadata: "any", directory: hosts })
    yield* Effect.promise(async () => {
      const asked: Pairs = [
        ["resource", doors],
        ["scope", "doors:open"]
      ]
      const only = { ...closed, doors: 200 }
      const byBackEnd = await post(url, "/oauth/token", [["grant_type", "client_credentials"], ...asked])
      const { challenges: _, ...opened } = await opens(url, byBackEnd)
      assert.deepStrictEqual(opened, only)

      const known = Object.entries({ client_id: id, redirect_uri, response_type: "code", ...challenge })
      const answer = await logIn(new URL(`/oauth/authorize?${queryOf([...known, ...asked])}`, url), "admin", "right")
      const back = new URL(answer.headers.get("location") ?? assert.fail("not redirected")).searchParams
      // A client that talks to several servers compares the issuer (RFC 9207).
      assert.strictEqual(back.get("iss"), publicUrl)
      const fields = { grant_type: "authorization_code", code: back.get("code") ?? "", code_verifier: pkce.verifier }
      const body = new URLSearchParams({ client_id: id, redirect_uri, resource: doors, ...fields })
      const tokens = await (await fetch(`${url}/oauth/token`, { method: "POST", body })).json()
      const { challenges: __, ...byAssistant } = await opens(url, Object(tokens))
      assert.deepStrictEqual(byAssistant, only)
    })
  })

  live("has only those of its scopes there that the resource allows", function* () {
    const { doorhook, url } = yield* mounted()
    const both: Pairs = [
      ["resource", doors],
      ["resource", bells],
      ["scope", "doors:open doors:list"]
    ]
    const { access_token, scope } = yield* Effect.promise(() => tokensFor(url, both))
    assert.strictEqual(scope, "doors:open doors:list")
    const header = `Bearer ${String(access_token)}`
    const scopesAt = (resource: string) =>
      Effect.promise(async () => (await doorhook.authenticate(header, { resource }))?.scopes)
    assert.deepStrictEqual(yield* scopesAt(doors), ["doors:open"])
    assert.deepStrictEqual(yield* scopesAt(bells), ["doors:open", "doors:list"])
    assert.isNull(yield* Effect.promise(() => doorhook.authenticate(header)))
  })

  live("is refused elsewhere with a challenge that names the metadata of that API", function* () {
    const { url } = yield* mounted()
    const { challenges } = yield* Effect.promise(async () => opens(url, await tokensFor(url, [["resource", bells]])))
    const elsewhere = "https://doors.example/.well-known/oauth-protected-resource/v4"
    assert.include(challenges.v4.challenge, `error="invalid_token"`)
    assert.include(challenges.v4.challenge, `resource_metadata="${elsewhere}"`)
    assert.include(
      challenges.atDoors.challenge,
      'resource_metadata="https://api.example/.well-known/oauth-protected-resource/doors"'
    )
  })

  live("lives as long as its resource says, the shortest of several", function* () {
    const { doorhook, url } = yield* mounted()
    const { access_token, created_at } = yield* Effect.promise(() => tokensFor(url, [["resource", doors]]))
    const header = `Bearer ${String(access_token)}`
    const identity = yield* Effect.promise(() => doorhook.authenticate(header, { resource: doors }))
    assert.strictEqual(Date.parse(identity?.expires_at ?? ""), (Number(created_at) + 600) * 1_000)
    const lifetime = (asked: Pairs) => Effect.promise(async () => (await tokensFor(url, asked))["expires_in"])
    assert.strictEqual(yield* lifetime([["resource", doors]]), 600)
    assert.strictEqual(yield* lifetime([["resource", bells]]), 3_600)
    assert.strictEqual(
      yield* lifetime([
        ["resource", bells],
        ["resource", doors]
      ]),
      600
    )
    assert.strictEqual(yield* lifetime([["resource", api]]), 86_400)
    assert.strictEqual(yield* lifetime([]), 86_400)
  })

  live("names its audience to introspection, and to nobody a missing one", function* () {
    const { url } = yield* mounted()
    const audience = (asked: Pairs, which: "access_token" | "refresh_token") =>
      Effect.promise(async () => {
        const token = String((await tokensFor(url, asked))[which])
        return (await post(url, "/oauth/introspect", [["token", token]]))["aud"]
      })
    assert.strictEqual(yield* audience([["resource", doors]], "access_token"), doors)
    assert.strictEqual(yield* audience([["resource", api]], "refresh_token"), api)
    assert.deepStrictEqual(
      yield* audience(
        [
          ["resource", doors],
          ["resource", bells]
        ],
        "access_token"
      ),
      [doors, bells]
    )
    assert.isUndefined(yield* audience([], "access_token"))
  })
})

describe("the authorize step", () => {
  live("refuses unknown resources, and scopes that the resources don't allow, at the client", function* () {
    const { url } = yield* mounted()
    const error = (asked: Pairs) => Effect.promise(async () => (await authorized(url, asked)).get("error"))
    for (const unknown of ["https://api.example/other", `${doors}#x`, `${doors}/`, "doors", publicUrl, " ", "*"]) {
      assert.strictEqual(yield* error([["resource", unknown]]), "invalid_target", unknown)
      assert.strictEqual(
        yield* error([
          ["resource", doors],
          ["resource", unknown]
        ]),
        "invalid_target",
        unknown
      )
    }
    assert.strictEqual(
      yield* error([
        ["resource", doors],
        ["scope", "doors:list"]
      ]),
      "invalid_scope"
    )
    assert.strictEqual(
      yield* error([
        ["resource", api],
        ["scope", "doors:open"]
      ]),
      "invalid_scope"
    )
    assert.isNull(
      yield* error([
        ["resource", bells],
        ["resource", doors],
        ["scope", "doors:list"]
      ])
    )
  })
})

describe("a token request", () => {
  live("may name some of the resources that the code binds, and no others", function* () {
    const { url } = yield* mounted()
    const both: Pairs = [
      ["resource", doors],
      ["resource", bells],
      ["scope", "doors:open doors:list"]
    ]
    const narrow = yield* Effect.promise(() => tokensFor(url, both, [["resource", doors]]))
    assert.deepInclude<object>(narrow, { scope: "doors:open", expires_in: 600 })
    const { challenges: _, ...statuses } = yield* Effect.promise(() => opens(url, narrow))
    assert.deepStrictEqual(statuses, { ...closed, doors: 200 })
    const error = (asked: Pairs, narrowed: Pairs) =>
      Effect.promise(async () => (await tokensFor(url, asked, narrowed))["error"])
    assert.strictEqual(yield* error([["resource", bells]], [["resource", doors]]), "invalid_target")
    assert.strictEqual(yield* error([], [["resource", doors]]), "invalid_target")
    assert.strictEqual(
      yield* error([["resource", bells]], [["resource", "https://api.example/other"]]),
      "invalid_target"
    )
    const onlyList: Pairs = [
      ["resource", doors],
      ["resource", bells],
      ["scope", "doors:list"]
    ]
    assert.strictEqual(yield* error(onlyList, [["resource", doors]]), "invalid_scope")
    // A refused request does not use up the code.
    const code = (yield* Effect.promise(() => authorized(url, [["resource", bells]]))).get("code")
    assert.strictEqual(
      (yield* Effect.promise(() => exchange(url, code, [["resource", doors]])))["error"],
      "invalid_target"
    )
    assert.strictEqual((yield* Effect.promise(() => exchange(url, code)))["status"], 200)
  })

  for (const [name, database] of databases) {
    live(
      `by refresh token narrows one access token, and the next one has everything granted, over ${name}`,
      function* () {
        const { url } = yield* mounted({ database })
        const both: Pairs = [
          ["resource", doors],
          ["resource", bells],
          ["scope", "doors:open doors:list"]
        ]
        const tokens = yield* Effect.promise(() => tokensFor(url, both))
        const statuses = (asked: Pairs) =>
          Effect.promise(async () => {
            const { challenges: _, ...found } = await opens(url, await refresh(url, tokens, asked))
            return found
          })
        assert.deepStrictEqual(yield* statuses([["resource", bells]]), { ...closed, bells: 200 })
        assert.deepStrictEqual(yield* statuses([]), { ...closed, doors: 200, bells: 200 })
        const error = (asked: Pairs) => Effect.promise(async () => (await refresh(url, tokens, asked))["error"])
        assert.strictEqual(yield* error([["resource", api]]), "invalid_target")
        assert.strictEqual(
          yield* error([
            ["resource", doors],
            ["scope", "doors:list"]
          ]),
          "invalid_scope"
        )
      }
    )
  }
})

describe("the metadata of a declared resource", () => {
  const metadata = ".well-known/oauth-protected-resource"

  live("is served at the path that its URL gives, for the origin that it names, and nowhere else", function* () {
    const base = `${publicUrl}/hooks`
    const here = `${base}/doors`
    const { doorhook } = yield* mounted({ publicUrl: base, resources: { ...resources, [here]: {} } })
    const get = (url: string) =>
      Effect.promise(async () => {
        const response = await doorhook.fetch(new Request(url))
        const body: unknown = await response.json()
        return [response.status, response.status === 200 ? body : null]
      })
    const document = (resource: string, scopes_supported: ReadonlyArray<string>) => ({
      resource,
      authorization_servers: [base],
      scopes_supported,
      bearer_methods_supported: ["header"]
    })
    const all = ["public", ...Object.keys(scopes)]
    const atDoors = document(doors, ["doors:open", "public"])
    assert.deepStrictEqual(yield* get(`https://api.example/${metadata}/doors`), [200, atDoors])
    assert.deepStrictEqual(yield* get(`https://api.example/${metadata}`), [200, document(bells, all)])
    assert.deepStrictEqual(yield* get(`https://doors.example/${metadata}/hooks/doors`), [200, document(here, all)])
    assert.deepStrictEqual(yield* get(`https://doors.example/${metadata}/hooks/v4`), [
      200,
      document(`${base}/v4`, ["public"])
    ])
    for (const wrong of [
      `https://doors.example/${metadata}`,
      `https://doors.example/${metadata}/doors`,
      `https://api.example/${metadata}/other`,
      `https://api.example/${metadata}/doors/x`
    ]) {
      assert.deepStrictEqual(yield* get(wrong), [404, null], wrong)
    }
    assert.isTrue(doorhook.handles({ url: `https://api.example/${metadata}/doors` }))
    assert.isFalse(doorhook.handles({ url: `https://api.example/${metadata}/other` }))
  })
})

describe("resources", () => {
  it.each([
    [{ doors: {} }, 'resources: "doors" can\'t be a resource'],
    [{ "https://api.example/doors#x": {} }, "can't be a resource"],
    [{ "https://api.example/doors?x=1": {} }, "can't be a resource"],
    [{ [doors]: { scopes: ["doors:close"] } }, '"doors:close" is not declared in `scopes`'],
    [{ [doors]: { scopes: [] } }, "must name at least one scope"],
    [{ [doors]: { accessTokenLifetime: "0s" } }, "must be at least 1s"],
    [{ [doors]: { accessTokenLifetime: "10" } }, "must be a duration like"],
    [{ "https://api.example": {}, "https://API.example/": {} }, "are the same URL"]
  ])("that are invalid are refused: %o", async (wrong, message) => {
    const made = await createDoorhook({ database: "memory", directory, scopes, resources: wrong }).then(
      () => "",
      String
    )
    assert.include(made, message)
  })

  live("that are not declared can't be required", function* () {
    const doorhook = yield* start(settings)
    assert.throws(() => doorhook.requireToken({ resource: "https://api.example/other" }), /is not declared/)
    const rejected = yield* Effect.promise(() =>
      doorhook.authenticate("Bearer x", { resource: "x" }).then(() => "", String)
    )
    assert.include(rejected, `Declared resources: ${doors}, ${bells}`)
  })
})
