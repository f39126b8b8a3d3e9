import { DeliveryStore, idleStatus, IntegrationId, SettingStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { nextTurn } from "@doorhook/testkit/Turn"
import { attempt, published } from "../operator/Attempts.ts"
import { call, Controls, document, operatorKey, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"
import { tokenIn } from "./Browser.ts"

const as = operatorKey

const link = (id: string, body?: unknown) =>
  call("POST", `/operator/integrations/${id}/portal_links`, { as, ...(body !== undefined && { body }) })

const pathOf = (reply: Reply): string => new URL(reply.textAt("/url")).pathname

/** Opens a link like a browser. Returns the cookie and the redirect. */
const open = Effect.fnUntraced(function* (reply: Reply) {
  const opened = yield* call("GET", pathOf(reply))
  assert.strictEqual(opened.status, 303)
  assert.strictEqual(opened.headers.get("referrer-policy"), "no-referrer")
  assert.strictEqual(opened.headers.get("cache-control"), "no-store")
  const [setCookie = ""] = opened.headers.getSetCookie()
  return { cookie: setCookie.split(";")[0] ?? "", home: opened.headers.get("location") ?? "", setCookie }
})

/** The cookie that forms are bound to, as a browser stores it. */
const formCookie = "doorhook_login=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const get = (path: string, cookie: string) => call("GET", path, { headers: { cookie: `${formCookie}; ${cookie}` } })

const submit = (home: string, cookie: string, token: string, more: Readonly<Record<string, string>> = {}) =>
  call("POST", `${home}/test`, {
    headers: { cookie: `${formCookie}; ${cookie}`, "content-type": "application/x-www-form-urlencoded", ...more },
    body: new URLSearchParams({ csrf_token: token }).toString()
  })

const formToken = tokenIn

describe("a portal link", () => {
  onServer("opens the integration's page with a cookie, and disappears from the address", function* () {
    const { integration } = yield* published(2)
    const made = yield* link(integration)
    assert.strictEqual(made.status, 201)
    assert.strictEqual(made.at("/expires_at"), "1970-01-01T00:31:40.000Z")
    const { cookie, home, setCookie } = yield* open(made)
    assert.strictEqual(home, `/portal/${integration}`)
    assert.match(setCookie, new RegExp(`; Path=/portal/${integration}; Max-Age=900; HttpOnly; SameSite=Lax$`))
    const token = pathOf(made).split("/").at(-1) ?? ""
    assert.notInclude(setCookie, token)
    const page = yield* get(home, cookie)
    assert.strictEqual(page.status, 200)
    assert.include(page.text, "https://receiver.example/hook")
    assert.strictEqual(page.text.match(/href="[^"]*deliveries\/dlv_\d+/g)?.length, 2)
    assert.notInclude(page.text, token)
    assert.strictEqual(page.headers.get("referrer-policy"), "no-referrer")
    assert.strictEqual(page.headers.get("cache-control"), "no-store")
    const policy = page.headers.get("content-security-policy") ?? ""
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
    assert.include(policy, "script-src 'self';")
  })

  onServer("expires together with its opened page", function* () {
    const { integration } = yield* published(1)
    const made = yield* link(integration, { expires_in: "2m" })
    const { cookie, home } = yield* open(made)
    yield* TestClock.adjust("119 seconds")
    assert.strictEqual((yield* get(home, cookie)).status, 200)
    yield* TestClock.adjust("1 second")
    for (const reply of [yield* get(home, cookie), yield* call("GET", pathOf(made))]) {
      assert.strictEqual(reply.status, 403)
      assert.include(reply.text, "This link has expired")
    }
  })

  onServer("is valid only for its integration, and not if a character differs", function* () {
    const { integration } = yield* published(1)
    const { integration: other } = yield* published(1)
    const made = yield* link(integration)
    const { cookie } = yield* open(made)
    const elsewhere = cookie.replace(`portal_${integration}=`, `portal_${other}=`)
    assert.strictEqual((yield* get(`/portal/${other}`, elsewhere)).status, 403)
    assert.strictEqual((yield* get(`/portal/${integration}`, "")).status, 403)
    // A link's token is not a valid cookie.
    const token = pathOf(made).split("/").at(-1) ?? ""
    assert.strictEqual((yield* get(`/portal/${integration}`, `doorhook_portal_${integration}=${token}`)).status, 403)
    const wrong = (text: string) => call("GET", `/portal/open/${text}`)
    for (const changed of [
      token.replace(`dh_pl_${integration}.`, `dh_pl_${other}.`),
      token.replace(/\.(\d+)\./, (_, expiry: string) => `.${Number(expiry) + 1}.`),
      token.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
      token.slice(0, -1),
      "x"
    ]) {
      const refused = yield* wrong(changed)
      assert.strictEqual(refused.status, 403, changed)
      assert.include(refused.text, "This link does not work")
    }
  })

  onServer("made with a leaked secret lasts no longer than any other", function* () {
    const { integration } = yield* published(1)
    const settings = yield* SettingStore
    const secret = Redacted.value(yield* settings.getOrCreateSecret("portal_secret", Redacted.make("none yet")))
    const signed = (purpose: string, expires_at: number) => {
      const text = `${integration}.${expires_at}.AAAAAAAAAAAAAAAA`
      const mac = createHmac("sha256", secret).update(`doorhook portal ${purpose} ${text}`).digest("base64url")
      return `dh_pl_${text}.${mac}`
    }
    const now = yield* Clock.currentTimeMillis
    const aDay = 24 * 3_600_000
    const linked = (expires_at: number) => call("GET", `/portal/open/${signed("link", expires_at)}`)
    const visited = (expires_at: number) =>
      get(`/portal/${integration}`, `doorhook_portal_${integration}=${signed("visit", expires_at)}`)
    // The longest lifetime is accepted.
    assert.deepStrictEqual([(yield* linked(now + aDay)).status, (yield* visited(now + aDay)).status], [303, 200])
    // These expiries exceed the maximum by more than a minute, which is the tolerance for clock skew.
    for (const end of [now + aDay + 60_001, now + 2 * aDay, Date.UTC(2286, 10, 20)]) {
      const refused = [yield* linked(end), yield* visited(end)]
      assert.deepStrictEqual(
        refused.map(({ headers, status }) => [status, headers.get("set-cookie")]),
        [
          [403, null],
          [403, null]
        ]
      )
    }
  })

  onServer("ends with its opened page and form when the secret is replaced", function* () {
    const { integration } = yield* published(0)
    const made = yield* link(integration)
    const { cookie, home } = yield* open(made)
    const token = formToken(yield* get(home, cookie))
    assert.strictEqual((yield* call("POST", "/operator/portal/rotate_secret", { as })).status, 204)
    for (const refused of [
      yield* call("GET", pathOf(made)),
      yield* get(home, cookie),
      yield* submit(home, cookie, token)
    ]) {
      assert.strictEqual(refused.status, 403)
    }
    const { cookie: another } = yield* open(yield* link(integration))
    assert.strictEqual((yield* get(home, another)).status, 200)
    assert.strictEqual((yield* submit(home, another, token)).status, 403)
  })

  onServer("ends when the secret is replaced, here or by another process, after the clock was set back", function* () {
    const settings = yield* SettingStore
    const { integration } = yield* published(0)
    const replaceElsewhere = settings.replaceSecret("portal_secret", Redacted.make("replaced by another process"))
    const replaceHere = Effect.map(call("POST", "/operator/portal/rotate_secret", { as }), ({ status }) =>
      assert.strictEqual(status, 204)
    )
    for (const replace of [replaceElsewhere, replaceHere]) {
      yield* TestClock.setTime(3_600_000)
      yield* open(yield* link(integration))
      yield* TestClock.setTime(1_000)
      const made = yield* link(integration)
      yield* replace
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* call("GET", pathOf(made))).status, 403)
      yield* open(yield* link(integration))
    }
  })

  onServer("ends when the secret is replaced while another request reads it", function* () {
    const controls = yield* Controls
    const { integration } = yield* published(0)
    const made = yield* link(integration)
    yield* TestClock.adjust("3 seconds")
    const [read, replaced] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    controls.secretRead = Effect.andThen(Deferred.succeed(read, undefined), Deferred.await(replaced))
    const reading = yield* Effect.forkChild(call("GET", pathOf(made)))
    yield* Deferred.await(read)
    assert.strictEqual((yield* call("POST", "/operator/portal/rotate_secret", { as })).status, 204)
    yield* Deferred.succeed(replaced, undefined)
    // The service checks a request against the new secret, even if the request has already read the old one.
    assert.strictEqual((yield* Fiber.join(reading)).status, 403)
    assert.strictEqual((yield* call("GET", pathOf(made))).status, 403)
  })

  onServer("sends one cookie per request, however many pages a browser has opened", function* () {
    const { integration } = yield* published(0)
    const { integration: other } = yield* published(0)
    const [one, two] = [yield* open(yield* link(integration)), yield* open(yield* link(other))]
    const pathIn = ({ setCookie }: { readonly setCookie: string }) => /; Path=([^;]+)/.exec(setCookie)?.[1]
    assert.deepStrictEqual([pathIn(one), pathIn(two)], [one.home, two.home])
    // Browsers send a cookie to its path and everything below (RFC 6265 section 5.1.4).
    const isSent = (path: string, target: string) => target === path || target.startsWith(`${path}/`)
    for (const target of [two.home, `${two.home}/deliveries/dlv_1`, "/", "/oauth/authorize"]) {
      assert.isFalse(isSent(pathIn(one) ?? "/", target), target)
    }
    assert.isTrue(isSent(pathIn(one) ?? "/", `${one.home}/deliveries/dlv_1`))
  })

  onServer("shows that waiting retries are sent early while the receiver catches up", function* () {
    const { integration } = yield* published(1)
    const { cookie, home } = yield* open(yield* link(integration))
    const early = "its waiting retries have been sent early"
    assert.notInclude((yield* get(home, cookie)).text, early)
    const controls = yield* Controls
    const integration_id = IntegrationId.make(Number(integration))
    controls.status = { ...idleStatus, catching_up: [{ integration_id, since: 999_000 }] }
    assert.include((yield* get(home, cookie)).text, early)
  })

  onServer("shows no delivery of another integration", function* () {
    const { integration } = yield* published(1)
    const { home, cookie } = yield* open(yield* link(integration))
    yield* call("POST", "/v4/tenants/101/integrations", { as: "tenant", body: document() })
    const event = { resource_type: "access_log", action: "create", building_id: 9, tenant_ids: [101], data: {} }
    yield* call("POST", "/operator/events", { as, body: event })
    const [first, second] = yield* (yield* DeliveryStore).list({ limit: 10 })
    assert.strictEqual((yield* get(`${home}/deliveries/dlv_${first?.id}`, cookie)).status, 200)
    const foreign = yield* get(`${home}/deliveries/dlv_${second?.id}`, cookie)
    assert.strictEqual(foreign.status, 404)
    assert.include(foreign.text, "There is no delivery dlv_2.")
  })

  onServer("explains a delivery to an owner with the end of its lifetime, without operators' commands", function* () {
    yield* TestClock.setTime(1_000_000)
    const created = yield* call("POST", "/v4/buildings/1/integrations", {
      as: "admin",
      body: document({ bindings: [{ resource_type: "call", actions: ["create"] }] })
    })
    const ring = { resource_type: "call", action: "create", building_id: 1, data: {} }
    yield* call("POST", "/operator/events", { as, body: ring })
    const [failed = 0] = yield* attempt("blocked_address", "expired")
    const { cookie, home } = yield* open(yield* link(created.textAt("/data/id")))
    const page = yield* get(`${home}/deliveries/dlv_${failed}`, cookie)
    assert.strictEqual(page.status, 200)
    assert.match(
      page.text,
      /No attempt is left before its lifetime ends at <time datetime="1970-01-01T00:1\d:\d\d\.000Z"/
    )
    assert.include(page.text, "ask the operator of this service to allow this one")
    // The schedule ended before the lifetime did.
    assert.include(page.text, ">no attempt left<")
    assert.notInclude(page.text, "not delivered in time</span>")
    assert.notInclude(page.text, "It would arrive too late")
    assert.notMatch(page.text.replaceAll(/<[^>]*>/g, " "), /resend|allow-target|[Pp]robe/)
    yield* TestClock.adjust("45 seconds")
    const late = yield* get(`${home}/deliveries/dlv_${failed}`, cookie)
    assert.include(late.text, ">not delivered in time</span>")
    assert.include(late.text, "To see whether the receiver accepts it now, send it again.")
  })

  onServer("shows a link back on each refusal, and the request id if the service is at fault", function* () {
    const { integration } = yield* published(1)
    const { cookie, home } = yield* open(yield* link(integration))
    const back = `<a href="${home}">`
    const missing = yield* get(`${home}/deliveries/dlv_99`, cookie)
    const forged = yield* submit(home, cookie, "")
    assert.deepStrictEqual([missing.status, forged.status], [404, 403])
    for (const reply of [missing, forged]) assert.include(reply.text, back)
    // Without the cookie, the answer is the sign-in page, which explains what to do about a link.
    assert.include((yield* get(home, "")).text, "go back to where you found it")
    const controls = yield* Controls
    controls.fault = "store"
    const failed = yield* get(`${home}/deliveries/dlv_1`, cookie)
    assert.strictEqual(failed.status, 503)
    assert.include(failed.text, `with the id of this request: ${failed.headers.get("x-request-id")}<`)
    controls.fault = "none"
    const wrong = yield* call("POST", home, { headers: { cookie } })
    assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"])
    assert.strictEqual(wrong.headers.get("content-type"), "text/html; charset=utf-8")
    yield* call("DELETE", `/v4/buildings/1/integrations/${integration}`, { as: "admin" })
    const gone = yield* get(home, cookie)
    assert.strictEqual(gone.status, 404)
    assert.include(gone.text, "This integration was deleted")
  })

  onServer("lets its holder change and delete the integration, as long as its creator has the right", function* () {
    const { integration } = yield* published(0)
    const { cookie, home } = yield* open(yield* link(integration))
    const token = formToken(yield* get(home, cookie))
    const send = (path: string, fields: Readonly<Record<string, string>>) =>
      call("POST", `${home}/${path}`, {
        headers: { cookie: `${formCookie}; ${cookie}`, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ csrf_token: token, ...fields }).toString()
      })
    const edited = yield* send("edit", { url: "https://other.example/hook", binding: "call create" })
    assert.deepStrictEqual([edited.status, edited.headers.get("location")], [303, `${home}?done=saved`])
    const stored = yield* call("GET", `/operator/integrations/${integration}`, { as })
    assert.strictEqual(stored.at("/url"), "https://other.example/hook")
    assert.deepStrictEqual(stored.at("/bindings"), [{ resource_type: "call", actions: ["create"] }])
    // A link gives access to one integration, not to the list of integrations or to the form for a new one.
    assert.strictEqual((yield* get("/portal", cookie)).status, 200)
    assert.notInclude((yield* get("/portal", cookie)).text, "New integration")
    const controls = yield* Controls
    controls.fault = "directory"
    assert.strictEqual((yield* send("status", { status: "disabled" })).status, 503)
    controls.fault = "none"
    const gone = yield* send("delete", {})
    assert.include(gone.text, "Integration deleted")
    assert.strictEqual((yield* call("GET", `/operator/integrations/${integration}`, { as })).status, 404)
  })

  onServer("is refused for unknown integrations, and for invalid lifetimes", function* () {
    const { integration } = yield* published(0)
    assert.strictEqual((yield* link("99")).status, 404)
    assert.strictEqual((yield* call("POST", `/operator/integrations/${integration}/portal_links`)).status, 401)
    for (const expires_in of ["soon", "25h", "0s", 15]) {
      const refused = yield* link(integration, { expires_in })
      assert.strictEqual(refused.status, 422, String(expires_in))
      assert.strictEqual(refused.at("/errors/0/source/pointer"), "/expires_in")
    }
    assert.strictEqual((yield* link(integration, { expires_in: "24h" })).status, 201)
  })
})

describe("a test from the portal", () => {
  onServer("goes to that integration only, and leads to its result", function* () {
    const { integration } = yield* published(0)
    yield* published(0)
    const { cookie, home } = yield* open(yield* link(integration))
    const token = formToken(yield* get(home, cookie))
    const sending = yield* Effect.forkChild(submit(home, cookie, token))
    const store = yield* DeliveryStore
    // The server receives the form in real time. If the test clock advanced now, it would reach the deadline before
    // the form arrives.
    yield* Effect.repeat(Effect.andThen(nextTurn, store.list({ limit: 1 })), { until: ({ length }) => length === 1 })
    // Nothing is sent in these tests, so the page waits until its time limit.
    yield* Effect.repeat(TestClock.adjust("1 second"), {
      until: () => Effect.sync(() => sending.pollUnsafe() !== undefined)
    })
    const sent = yield* Fiber.join(sending)
    const deliveries = yield* store.list({ limit: 10 })
    assert.deepStrictEqual(
      deliveries.map(({ integration_id, state }) => [String(integration_id), state]),
      [[integration, "pending"]]
    )
    assert.deepStrictEqual(
      [sent.status, sent.headers.get("location")],
      [303, `${home}/deliveries/dlv_${deliveries[0]?.id}`]
    )
    const page = yield* get(sent.headers.get("location") ?? "", cookie)
    assert.include(page.text, "&quot;test&quot;:true")
    const logs = yield* call("GET", "/v4/buildings/1/access_logs", { as: "admin" })
    assert.strictEqual(logs.at("/meta/page_info/total_item_count"), 0)
  })

  onServer("leads to its delivery if the store fails after sending", function* () {
    const { integration } = yield* published(0)
    const { cookie, home } = yield* open(yield* link(integration))
    const sending = yield* Effect.forkChild(submit(home, cookie, formToken(yield* get(home, cookie))))
    const store = yield* DeliveryStore
    yield* Effect.repeat(Effect.andThen(nextTurn, store.list({ limit: 1 })), { until: ({ length }) => length === 1 })
    const controls = yield* Controls
    controls.fault = "store"
    yield* Effect.repeat(TestClock.adjust("1 second"), {
      until: () => Effect.sync(() => sending.pollUnsafe() !== undefined)
    })
    const sent = yield* Fiber.join(sending)
    assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, `${home}/deliveries/dlv_1`])
  })

  onServer("is not sent by a form of another site, of another visit, or without its token", function* () {
    const { integration } = yield* published(0)
    const made = yield* link(integration)
    const { cookie, home } = yield* open(made)
    const { cookie: another } = yield* open(made)
    const token = formToken(yield* get(home, cookie))
    for (const refused of [
      yield* submit(home, cookie, ""),
      yield* submit(home, another, token),
      yield* submit(home, "", token),
      yield* submit(home, cookie, token, { "sec-fetch-site": "cross-site" }),
      yield* submit(home, cookie, token, { "sec-fetch-site": "same-site" })
    ]) {
      assert.strictEqual(refused.status, 403)
    }
    assert.strictEqual((yield* (yield* DeliveryStore).list({ limit: 10 })).length, 0)
  })

  onServer("is rate-limited, and says for how long", function* () {
    const { integration } = yield* published(0)
    yield* call("PATCH", `/operator/integrations/${integration}`, { as, body: { status: "disabled" } })
    const { cookie, home } = yield* open(yield* link(integration))
    const page = yield* get(home, cookie)
    // The page offers no probe for an integration that was disabled by hand.
    assert.notInclude(page.text, "Try it again")
    const token = formToken(page)
    for (let n = 0; n < 5; n++) {
      const told = yield* submit(home, cookie, token)
      assert.strictEqual(told.status, 409)
      assert.include(told.text, "Only an integration that doorhook disabled")
    }
    const refused = yield* submit(home, cookie, token)
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(refused.headers.get("retry-after"), "60")
    assert.include(refused.text, "Please wait 60 s")
    yield* TestClock.adjust("60 seconds")
    assert.strictEqual((yield* submit(home, cookie, token)).status, 409)
  })
})

describe("POST /operator/integrations/{id}/test_event", () => {
  onServer("sends an event that the integration is bound to, as in the interface document", function* () {
    const { integration } = yield* published(0)
    const calls = yield* call("POST", "/v4/buildings/1/integrations", {
      as: "admin",
      body: document({ bindings: [{ resource_type: "call", actions: ["create"] }] })
    })
    const store = yield* DeliveryStore
    for (const [id, type] of [
      [integration, "access_log"],
      [calls.textAt("/data/id"), "call"]
    ] as const) {
      const { cookie, home } = yield* open(yield* link(id))
      const { text } = yield* get(home, cookie)
      assert.include(text, `Sends one made-up event (${type === "call" ? "Call" : "Access log"}) to this integration`)
      assert.strictEqual(text.includes("may ring"), type === "call")
      const sent = yield* call("POST", `/operator/integrations/${id}/test_event`, { as })
      assert.strictEqual(sent.status, 202)
      assert.strictEqual(sent.at("/resource_type"), type)
      const list = yield* call("GET", `/operator/deliveries?integration_id=${id}`, { as })
      assert.strictEqual(list.at("/deliveries/0/id"), sent.at("/delivery_id"))
      assert.strictEqual(list.at("/deliveries/0/event_id"), sent.at("/event_id"))
    }
    assert.strictEqual((yield* store.list({ limit: 10 })).length, 2)
    assert.strictEqual((yield* call("POST", "/operator/integrations/99/test_event", { as })).status, 404)
    yield* call("PATCH", `/operator/integrations/${integration}`, { as, body: { status: "disabled" } })
    const refused = yield* call("POST", `/operator/integrations/${integration}/test_event`, { as })
    assert.deepStrictEqual([refused.status, refused.at("/errors/0/code")], [409, "integration_disabled"])
  })
})
