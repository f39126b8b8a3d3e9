/**
 * doorhook's access tokens on the host's own routes: a door that opens with the right scope, in each framework.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { listening } from "@doorhook/testkit/ListeningServer"
import { Effect } from "effect"
import { createServer } from "node:http"
import { connect } from "node:net"
import { client, codeOf, directory, live, start, tokensFrom } from "../harness/Embedded.ts"
import * as Hosts from "./Hosts.ts"

const scopes = { "doors:open": "Open your doors", "doors:list": "See your doors" }
const scope = "doors:open"

/** Hosts with a route that opens a door and requires the scope. */
const hosts = {
  Express: Hosts.expressHost,
  Fastify: Hosts.fastifyHost,
  Hono: Hosts.honoHost,
  "node:http": Hosts.plainHost
}

const open = (url: string, authorization?: string) =>
  Effect.promise(async () => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const reply = await fetch(`${url}/doors/7/open`, { method: "POST", headers })
    const body: unknown = await reply.json()
    return { status: reply.status, challenge: reply.headers.get("www-authenticate"), body }
  })

/**
 * Sends a request with two `Authorization` headers, which client libraries can't send, and returns the response's text.
 */
const openTwice = (url: string, token: string) =>
  Effect.callback<string>((resume) => {
    let text = ""
    const { port } = new URL(url)
    const header = `Authorization: Bearer ${token}\r\n`
    const socket = connect(Number(port), "127.0.0.1", () => {
      socket.write(
        `POST /doors/7/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${header}${header}Content-Length: 0\r\n\r\n`
      )
    })
    socket.on("data", (bytes) => {
      text += bytes.toString()
    })
    socket.on("close", () => resume(Effect.succeed(text)))
  })

describe("a route of the host", () => {
  for (const [name, startHost] of Object.entries(hosts)) {
    live(`opens in ${name} for a token with its scope, and for no other request`, function* () {
      const doorhook = yield* start({ scopes, publicUrl: "http://127.0.0.1" })
      const { url } = yield* startHost(doorhook, scope)
      const [granted, narrow] = [yield* tokensFrom(url, "public doors:open"), yield* tokensFrom(url, "doors:list")]
      const opened = yield* open(url, `Bearer ${granted.access_token}`)
      assert.deepStrictEqual(opened, {
        status: 200,
        challenge: null,
        body: { opened_by: "admin", for: ["public", "doors:open"] }
      })
      const none = yield* open(url)
      const metadata = 'resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource/v4"'
      assert.deepStrictEqual([none.status, none.challenge], [401, `Bearer realm="doorhook", ${metadata}`])
      for (const wrong of ["Bearer nonsense", `Bearer ${granted.access_token}x`, "Bearer dh_at_1.x"]) {
        const refused = yield* open(url, wrong)
        assert.strictEqual(refused.status, 401)
        assert.include(refused.challenge ?? "", 'error="invalid_token"')
        assert.include(refused.challenge ?? "", metadata)
      }
      assert.deepStrictEqual([(yield* open(url, "Basic eDp5")).status], [401])
      const lacking = yield* open(url, `Bearer ${narrow.access_token}`)
      assert.strictEqual(lacking.status, 403)
      assert.include(lacking.challenge ?? "", 'error="insufficient_scope"')
      assert.include(lacking.challenge ?? "", 'scope="doors:open"')
      assert.include(lacking.challenge ?? "", metadata)
      // doorhook refuses a request with two `Authorization` headers on every host. A web request joins the two
      // headers, and a `node:http` request shows only the first.
      assert.match(yield* openTwice(url, granted.access_token), /^HTTP\/1\.1 400 [^]*invalid_request/)
      // Without the scope `public`, a token is not valid for doorhook's own API.
      const own = yield* Effect.promise(() =>
        fetch(`${url}/v4/buildings`, { headers: { authorization: `Bearer ${narrow.access_token}` } })
      )
      assert.strictEqual(own.status, 403)
      const revoked = yield* Effect.promise(() =>
        fetch(`${url}/oauth/revoke`, {
          method: "POST",
          body: new URLSearchParams({
            token: granted.access_token,
            client_id: client.client_id,
            client_secret: client.client_secret
          })
        })
      )
      assert.strictEqual(revoked.status, 200)
      assert.strictEqual((yield* open(url, `Bearer ${granted.access_token}`)).status, 401)
    })
  }
})

describe("a token whose scope was narrowed by a refresh", () => {
  live("opens only its own scope, here and in /v4, and the next refresh gets all granted scopes", function* () {
    const doorhook = yield* start({ scopes, publicUrl: "http://127.0.0.1" })
    const { url } = yield* Hosts.expressHost(doorhook, scope)
    const granted = yield* tokensFrom(url, "public doors:open doors:list")
    const refresh = (asked: Readonly<Record<string, string>>) =>
      Effect.promise(async () => {
        const { client_id } = client
        const fields = { grant_type: "refresh_token", refresh_token: granted.refresh_token, client_id, ...asked }
        const reply = await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(fields) })
        const body: unknown = await reply.json()
        const at = (name: string) => String(Reflect.get(Object(body), name))
        return { status: reply.status, error: at("error"), scope: at("scope"), token: at("access_token") }
      })
    const buildings = (token: string) =>
      Effect.promise(async () => {
        const reply = await fetch(`${url}/v4/buildings`, { headers: { authorization: `Bearer ${token}` } })
        return [reply.status, reply.headers.get("www-authenticate")]
      })
    const narrow = yield* refresh({ scope: "doors:open" })
    assert.deepStrictEqual([narrow.status, narrow.scope], [200, "doors:open"])
    assert.strictEqual((yield* open(url, `Bearer ${narrow.token}`)).status, 200)
    const [status, challenge] = yield* buildings(narrow.token)
    assert.strictEqual(status, 403)
    assert.include(String(challenge), 'error="insufficient_scope"')
    assert.include(String(challenge), 'scope="public"')
    const apart = yield* refresh({ scope: "public doors:list" })
    assert.strictEqual((yield* open(url, `Bearer ${apart.token}`)).status, 403)
    assert.deepStrictEqual(yield* buildings(apart.token), [200, null])
    const wider = yield* refresh({ scope: "doors:open doors:close" })
    assert.deepStrictEqual([wider.status, wider.error], [400, "invalid_scope"])
    const all = yield* refresh({})
    assert.deepStrictEqual([all.status, all.scope], [200, "public doors:open doors:list"])
  })
})

describe("middleware", () => {
  for (const [name, startHost] of Object.entries(hosts)) {
    live(`responds with 503 in ${name} while the directory fails, and lets nobody through`, function* () {
      let isDown = false
      const isActive = async () => {
        if (isDown) throw new Error("the users' database is away")
        return true
      }
      const doorhook = yield* start({ scopes, directory: { ...directory, isActive }, logger: false })
      const { url } = yield* startHost(doorhook, scope)
      const { access_token } = yield* tokensFrom(url, scope)
      isDown = true
      const { code } = yield* codeOf(doorhook.authenticate(`Bearer ${access_token}`))
      assert.strictEqual(code, "directory_error")
      const reply = yield* Effect.promise(() =>
        fetch(`${url}/doors/7/open`, { method: "POST", headers: { authorization: `Bearer ${access_token}` } })
      )
      assert.strictEqual(reply.status, 503)
      assert.notInclude(yield* Effect.promise(() => reply.text()), "opened_by")
    })
  }

  live("does not respond if the host has already answered", function* () {
    const doorhook = yield* start()
    const failures: Array<unknown> = []
    const fail = (error: unknown) => void failures.push(error)
    process.on("unhandledRejection", fail)
    const { url } = yield* listening(
      createServer((request, response) => {
        doorhook.requireToken()(request, response, fail)
        response.writeHead(503).end("busy")
      })
    )
    const reply = yield* Effect.promise(() => fetch(url))
    assert.deepStrictEqual([reply.status, yield* Effect.promise(() => reply.text())], [503, "busy"])
    process.off("unhandledRejection", fail)
    assert.deepStrictEqual(failures, [])
  })
})

describe("authenticate", () => {
  live("returns the identity of a token for every kind of request and for a header", function* () {
    const doorhook = yield* start({ scopes, publicUrl: "http://127.0.0.1" })
    const { url } = yield* Hosts.plainHost(doorhook, scope)
    const { access_token } = yield* tokensFrom(url, "public doors:open")
    const authorization = `Bearer ${access_token}`
    const sources = [
      authorization,
      new Request("http://a/", { headers: { authorization } }),
      { headers: { authorization } },
      { headers: new Headers({ authorization }) }
    ]
    for (const source of sources) {
      const identity = yield* Effect.promise(() => doorhook.authenticate(source, { scope }))
      assert.deepInclude(identity, {
        user_id: "admin",
        client_id: client.client_id,
        scopes: ["public", "doors:open"]
      })
      const left = Date.parse(identity?.expires_at ?? "") - Date.now()
      assert.isTrue(left > 86_000_000 && left <= 86_400_000)
      assert.isNull(yield* Effect.promise(() => doorhook.authenticate(source, { scope: "doors:list" })))
    }
    for (const nobody of [null, undefined, "", "Bearer", access_token, { headers: {} }, `${authorization}, Bearer x`]) {
      assert.isNull(yield* Effect.promise(() => doorhook.authenticate(nobody)))
    }
    const fails = (run: () => Promise<unknown>) => Effect.promise(() => run().then(() => "", String))
    assert.include(
      yield* fails(() => doorhook.authenticate(authorization, { scope: "doors:close" })),
      'scope: "doors:close" is not declared'
    )
    assert.throws(() => doorhook.requireToken({ scope: "doors:close" }), /is not declared/)
    assert.throws(
      () => Reflect.apply(doorhook.requireToken, undefined, [{ scope: undefined }]),
      /undefined is not declared/
    )
  })
})

describe("scopes", () => {
  it.each([
    [{ public: "x" }, "scopes: `public` always exists"],
    [{ "two words": "x" }, 'scopes: "two words" can\'t be a scope'],
    [{ "doors:open": " " }, "scopes.doors:open: must say what the scope allows"],
    [
      { "doors/open": "", "a\\b": "x" },
      'scopes.doors/open: must say what the scope allows, for the consent page, like "Open your doors"; scopes: "a\\\\b" can\'t'
    ]
  ])("that are invalid are refused: %o", async (wrong, message) => {
    const made = await createDoorhook({ database: "memory", directory, scopes: wrong }).then(() => "", String)
    assert.include(made, message)
  })
})
