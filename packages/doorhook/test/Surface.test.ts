/**
 * HTTP options of `createDoorhook` for reverse proxies, existing clients, the host's login, and client management.
 */
import { assert, describe } from "@effect/vitest"
import type { HostDirectory, HostSession, HostSessionRequest } from "doorhook"
import { Effect, Predicate } from "effect"
import { authorizeUrl, codeIn, exchange } from "./harness/CodeGrant.ts"
import { client, directory, live, mount, start, tokenFrom, tokensFrom } from "./harness/Embedded.ts"
import { formOf, logIn } from "./harness/LoginForm.ts"
import { callApi, integrationDocument } from "./harness/ThirdParty.ts"

const { redirect_uri } = client
const path = "/v4/buildings/1/integrations"
const receiver = "http://127.0.0.1:9/hook"

/** Returns the nested value at a path of member names. */
const at = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>(
    (parent, name) => (Predicate.isObjectOrArray(parent) ? Reflect.get(parent, name) : undefined),
    value
  )

const read = async (response: Response) => {
  const json: unknown = await response.json()
  return {
    status: response.status,
    headers: response.headers,
    at: (...names: ReadonlyArray<string>) => at(json, ...names)
  }
}

/** Mounts a doorhook, and returns a function that calls its API as the administrator. */
const startApi = Effect.fnUntraced(function* (options: Parameters<typeof start>[0] = {}) {
  const doorhook = yield* start(options)
  const { url } = yield* mount(doorhook)
  const token = yield* tokenFrom(url)
  const api = (method: string, target: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
    Effect.promise(async () => read(await callApi(url, token, method, target, body, headers)))
  return { doorhook, url, api, token }
})

describe("clients that differ from the standards", () => {
  live("get their expected responses if configured", function* () {
    const { api } = yield* startApi({
      createdStatus: 200,
      plainJson: true,
      topLevelPageInfo: true,
      configAlias: true,
      doorReleaseAlias: true,
      requestsPerMinute: "unlimited"
    })
    const created = yield* api("POST", path, integrationDocument(receiver, ["door_release"]), { accept: "text/html" })
    assert.strictEqual(created.status, 200)
    assert.strictEqual(created.headers.get("content-type"), "application/json")
    assert.isNull(created.headers.get("ratelimit"))
    assert.deepStrictEqual(created.at("data", "attributes", "config"), { url: receiver, method: "post" })
    assert.strictEqual(created.at("data", "attributes", "bindings", "0", "resource_type"), "access_log")
    for (const listed of [path, "/v4/buildings/1/access_logs"]) {
      const list = yield* api("GET", listed)
      assert.deepStrictEqual(list.at("page_info"), list.at("meta", "page_info"))
      assert.isDefined(list.at("page_info"))
    }
  })

  live("get the standards' responses otherwise", function* () {
    const { api } = yield* startApi({ requestsPerMinute: 3 })
    const refused = yield* api("POST", path, integrationDocument(receiver, ["door_release"]))
    assert.strictEqual(refused.status, 422)
    const created = yield* api("POST", path, integrationDocument(receiver))
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.headers.get("content-type"), "application/vnd.api+json")
    assert.isUndefined(created.at("data", "attributes", "config"))
    assert.isUndefined((yield* api("GET", path)).at("page_info"))
    assert.strictEqual((yield* api("GET", path)).status, 429)
  })

  live("are limited in tokens per minute and in valid tokens", function* () {
    const { url } = yield* mount(yield* start({ tokenRequestsPerMinute: 4, accessTokensPerGrant: 2 }))
    const code = codeIn(yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right")))
    const first = yield* Effect.promise(async () => read(await exchange(url, client, code)))
    const { client_id } = client
    const body = { grant_type: "refresh_token", client_id, refresh_token: String(first.at("refresh_token")) }
    const refresh = Effect.promise(async () =>
      read(await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(body) }))
    )
    const issued = [first, yield* refresh, yield* refresh, yield* refresh]
    const uses = yield* Effect.forEach(issued, (each) =>
      Effect.promise(() => callApi(url, String(each.at("access_token")), "GET", path))
    )
    assert.deepStrictEqual(
      uses.map(({ status }) => status),
      [401, 401, 200, 200]
    )
    const refused = yield* refresh
    assert.strictEqual(refused.status, 429)
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d?$/)
    assert.strictEqual(refused.at("error"), "temporarily_unavailable")
    assert.match(
      String(refused.at("error_description")),
      /^At most 4 token requests per minute are accepted from one client \(setting tokenRequestsPerMinute\)/
    )
  })

  live("are limited per building or tenant by a setting", function* () {
    const { api, token, url } = yield* startApi({ integrationsPerScope: 2 })
    const create = (key: string) => api("POST", path, integrationDocument(receiver), { "idempotency-key": key })
    const first = yield* create("a")
    const [second, third] = yield* Effect.all([create("b"), create("c")], { concurrency: "unbounded" })
    assert.sameMembers([second.status, third.status], [201, 409])
    const refused = second.status === 409 ? second : third
    assert.strictEqual(refused.at("errors", "0", "code"), "limit_reached")
    assert.match(
      String(refused.at("errors", "0", "detail")),
      /has reached the limit of 2 integrations \(setting integrationsPerScope\)/
    )
    // Repeating a request with its idempotency key still returns the first response.
    assert.strictEqual((yield* create("a")).at("data", "id"), first.at("data", "id"))
    const target = `${path}/${String(first.at("data", "id"))}`
    assert.strictEqual((yield* Effect.promise(() => callApi(url, token, "DELETE", target))).status, 204)
    assert.strictEqual((yield* create("d")).status, 201)
    assert.strictEqual((yield* create("e")).status, 409)

    const unlimited = yield* startApi({ integrationsPerScope: "unlimited" })
    for (let n = 0; n < 3; n++) {
      assert.strictEqual((yield* unlimited.api("POST", path, integrationDocument(receiver))).status, 201)
    }
  })

  live("may be called from pages of configured origins", function* () {
    const { url } = yield* mount(yield* start({ browserOrigins: ["https://app.example"] }))
    const headers = { origin: "https://app.example", "access-control-request-method": "POST" }
    const preflight = (target: string) =>
      Effect.promise(async () => {
        const reply = await fetch(`${url}${target}`, { method: "OPTIONS", headers })
        return [reply.status, reply.headers.get("access-control-allow-origin")]
      })
    assert.deepStrictEqual(yield* preflight(path), [204, headers.origin])
    assert.deepStrictEqual(yield* preflight("/oauth/token"), [204, headers.origin])
    assert.deepStrictEqual(yield* preflight("/operator/events"), [405, null])
  })

  live("are hidden from other clients of the same user if configured", function* () {
    const rival = { client_id: "rival", client_secret: "s2", redirect_uri }
    const known: HostDirectory["client"] = (id) =>
      id === rival.client_id
        ? { id, name: "Rival", secret: rival.client_secret, redirect_uris: [redirect_uri] }
        : directory.client(id)
    for (const [clientIsolation, found] of [
      [true, 404],
      [undefined, 200]
    ] as const) {
      const { api, url } = yield* startApi({ directory: { ...directory, client: known }, clientIsolation })
      const target = `${path}/${String((yield* api("POST", path, integrationDocument(receiver))).at("data", "id"))}`
      const { access_token } = yield* tokensFrom(url, undefined, rival)
      const get = yield* Effect.promise(() => callApi(url, access_token, "GET", target))
      const rotate = yield* Effect.promise(() => callApi(url, access_token, "POST", `${target}/rotate_secret`))
      assert.deepStrictEqual([get.status, rotate.status], [found, clientIsolation === true ? 404 : 403])
    }
  })

  live(
    "refresh as configured: with a secret, or with a new refresh token each time, and with unknown scopes ignored",
    function* () {
      const behaviour = (options: Parameters<typeof start>[0]) =>
        Effect.gen(function* () {
          const { url } = yield* mount(yield* start(options))
          const send = (fields: Readonly<Record<string, string>>) =>
            Effect.promise(async () =>
              read(await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(fields) }))
            )
          const { client_id, client_secret } = client
          const scoped = yield* Effect.promise(() =>
            fetch(authorizeUrl(url, client, { scope: "openid" }), { redirect: "manual" })
          )
          const { searchParams } = new URL(scoped.headers.get("location") ?? client.redirect_uri)
          const tokens = yield* Effect.promise(async () => {
            const code = codeIn(await logIn(authorizeUrl(url, client), "admin", "right"))
            return read(await exchange(url, client, code))
          })
          const first = String(tokens.at("refresh_token"))
          const refresh = { grant_type: "refresh_token", refresh_token: first }
          return {
            scope: searchParams.get("error") ?? scoped.status,
            bare: (yield* send({ ...refresh, client_id })).status,
            stays: (yield* send({ ...refresh, client_id, client_secret })).at("refresh_token") === first
          }
        })
      assert.deepStrictEqual(yield* behaviour({}), { scope: "invalid_scope", bare: 200, stays: true })
      assert.deepStrictEqual(
        yield* behaviour({ refreshRequiresSecret: true, refreshRotation: "always", unknownScope: "ignore" }),
        { scope: 200, bare: 401, stays: false }
      )
    }
  )
})

/** Opens doorhook's login form. Returns a function that submits a password and returns the response's status. */
const openForm = (send: (request: Request) => Promise<Response>) =>
  Effect.promise(async () => {
    const target = authorizeUrl("http://localhost", client)
    const form = await formOf(await send(new Request(target)), target)
    return (password: string, headers: Readonly<Record<string, string>> = {}) =>
      Effect.promise(async () => {
        const request = form({ login: "admin", password })
        for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
        return (await send(request)).status
      })
  })

const failTenTimes = (logIn: (password: string) => Effect.Effect<number>) =>
  Effect.gen(function* () {
    for (let n = 1; n <= 10; n++) assert.strictEqual(yield* logIn(`wrong ${n}`), 403, `time ${n}`)
  })

describe("metrics", () => {
  live("are only for programs on the same machine, unless configured for anyone", function* () {
    for (const [options, expected] of [
      [{}, 403],
      [{ metricsFor: "loopback" }, 403],
      [{ metricsFor: "anyone" }, 200]
    ] as const) {
      const doorhook = yield* start(options)
      const read = (remoteAddress: string) =>
        Effect.promise(() => doorhook.fetch(new Request("http://localhost/metrics"), { remoteAddress }))
      assert.strictEqual((yield* read("127.0.0.1")).status, 200)
      assert.strictEqual((yield* read("203.0.113.1")).status, expected, JSON.stringify(options))
    }
  })

  live("need the key if there is one", function* () {
    const metricsKey = "0123456789abcdefghijklmnopqrstuv"
    const doorhook = yield* start({ metricsKey })
    const read = (remoteAddress: string, key?: string) =>
      Effect.promise(async () => {
        const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }) }
        return doorhook.fetch(new Request("https://doors.example/metrics", { headers }), { remoteAddress })
      })
    for (const address of ["127.0.0.1", "203.0.113.1"]) {
      assert.strictEqual((yield* read(address)).status, 401)
      assert.strictEqual((yield* read(address, doorhook.operatorKey)).status, 401)
      assert.strictEqual((yield* read(address, metricsKey)).status, 200)
    }
  })
})

describe("guessing passwords", () => {
  live("is slow for the address that the host gives for a web request", function* () {
    const doorhook = yield* start()
    const from = (remoteAddress: string) => openForm((request) => doorhook.fetch(request, { remoteAddress }))
    const attacker = yield* from("203.0.113.1")
    yield* failTenTimes(attacker)
    assert.strictEqual(yield* attacker("right"), 429)
    assert.strictEqual(yield* (yield* from("203.0.113.2"))("right"), 303)
  })

  live("is slow for the peer of the host's server, or for the client that a trusted proxy reports", function* () {
    for (const [options, expected] of [
      [{}, 429],
      [{ trustedProxies: ["127.0.0.1"] }, 303]
    ] as const) {
      const { url } = yield* mount(yield* start(options))
      const logIn = yield* openForm((request) =>
        fetch(new Request(request.url.replace("http://localhost", url), request), { redirect: "manual" })
      )
      yield* failTenTimes((password) => logIn(password, { "x-forwarded-for": "203.0.113.1" }))
      assert.strictEqual(yield* logIn("right", { "x-forwarded-for": "203.0.113.1" }), 429)
      assert.strictEqual(yield* logIn("right", { "x-forwarded-for": "203.0.113.2" }), expected)
    }
  })
})

describe("the host's own login", () => {
  live("replaces the form, with the host's look", function* () {
    const asked: Array<HostSessionRequest> = []
    const doorhook = yield* start({
      appearance: { name: "North Tower", css: "h1 { color: green }", accent: "#0a4f3a" },
      homeUrl: "https://app.example/home",
      directory: {
        ...directory,
        session: async (request) => {
          asked.push(request)
          return request.headers["cookie"]?.includes("sid=7")
            ? { id: "admin", name: "Ada" }
            : { login_url: "https://id.example/login" }
        }
      }
    })
    const target = authorizeUrl("http://localhost", client)
    const visit = (headers: Readonly<Record<string, string>>) =>
      Effect.promise(() => doorhook.fetch(new Request(target, { headers })))
    const away = yield* visit({})
    assert.strictEqual(away.status, 303)
    const login = new URL(away.headers.get("location") ?? "")
    assert.strictEqual(login.origin, "https://id.example")
    assert.strictEqual(login.searchParams.get("return_to"), asked[0]?.url)
    const page = yield* visit({ cookie: "sid=7" })
    const html = yield* Effect.promise(() => page.text())
    for (const text of ["Ada", "North Tower", "h1 { color: green }", ">Allow<"]) assert.include(html, text)
    assert.notInclude(html, 'type="password"')
    assert.include(html, "--accent: #0a4f3a")
    const portal = yield* Effect.promise(() =>
      doorhook.fetch(new Request("http://localhost/portal", { headers: { cookie: "sid=7" } }))
    )
    const own = yield* Effect.promise(() => portal.text())
    assert.match(own, /<a class="home" href="https:\/\/app\.example\/home">[^]*North Tower/)
    assert.include(own, "<span>Ada</span>")
  })

  live("that returns an invalid value lets nobody in", function* () {
    for (const nonsense of ['{"id":7.5}', '"alice"', '{"login_url":""}', "{}"]) {
      // `Reflect.apply` bypasses type checking, because a host in plain JavaScript can return any value.
      const session = (): HostSession => Reflect.apply(JSON.parse, undefined, [nonsense])
      const doorhook = yield* start({ directory: { ...directory, session } })
      const target = authorizeUrl("http://localhost", client)
      assert.strictEqual((yield* Effect.promise(() => doorhook.fetch(new Request(target)))).status, 503)
    }
  })
})
