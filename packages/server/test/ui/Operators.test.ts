import { DeliveryStore, IntegrationId, IntegrationStore, ServiceKey, Signature } from "@doorhook/core"
import { unescapeHtml } from "@doorhook/testkit/HtmlForm"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { accessLog, attempt, published } from "../operator/Attempts.ts"
import { call, document, operatorKey, onServer } from "../TestServer.ts"
import { alertIn, Browser, operatorSignedIn, tokenIn, valueIn } from "./Browser.ts"

const as = operatorKey

describe("signing in as an operator", () => {
  onServer("accepts the key in a form, and leads to the requested page", function* () {
    const browser = new Browser()
    const form = yield* browser.get("/console/notifications?after=7")
    assert.strictEqual(form.status, 403)
    assert.include(form.text, "Operator key")
    const signedIn = yield* browser.post(form, "/console/sign-in", {
      key: operatorKey,
      next: valueIn(form, "next")
    })
    assert.deepStrictEqual([signedIn.status, signedIn.headers.get("location")], [303, "/console/notifications?after=7"])
    const [cookie = ""] = signedIn.headers.getSetCookie()
    assert.match(cookie, /^doorhook_console=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    assert.notInclude(cookie, operatorKey)
    assert.strictEqual((yield* browser.get("/console/notifications")).status, 200)
  })

  onServer("leads only to the console's own pages", function* () {
    const browser = new Browser()
    for (const next of [
      "https://evil.example/",
      "//evil.example",
      "/console//evil.example",
      "/console/../v4",
      "/consoles",
      "/console\\evil",
      "/console/\r\nset-cookie: x=1",
      "/portal"
    ]) {
      const form = yield* browser.get("/console/deliveries")
      const signedIn = yield* browser.post(form, "/console/sign-in", { key: operatorKey, next })
      assert.strictEqual(signedIn.headers.get("location"), "/console", next)
      browser.cookies.delete("doorhook_console")
    }
  })

  onServer("refuses a wrong key, counts it together with those of the API, and makes the address wait", function* () {
    const browser = new Browser()
    const form = yield* browser.get("/console")
    for (let n = 0; n < 5; n++) {
      assert.strictEqual((yield* call("GET", "/operator/summary", { as: "wrong" })).status, 401)
      const refused = yield* browser.post(form, "/console/sign-in", { key: "wrong" })
      assert.strictEqual(refused.status, 403)
      assert.match(alertIn(refused), /not the operator key/)
      assert.isFalse(browser.cookies.has("doorhook_console"))
    }
    const throttled = yield* browser.post(form, "/console/sign-in", { key: operatorKey })
    assert.strictEqual(throttled.status, 429)
    assert.isNotNull(throttled.headers.get("retry-after"))
    assert.isFalse(browser.cookies.has("doorhook_console"))
  })

  onServer("ends after twelve hours, by signing out, and when the secret is replaced", function* () {
    const { browser } = yield* operatorSignedIn
    yield* TestClock.adjust("11 hours")
    assert.strictEqual((yield* browser.get("/console/notifications")).status, 200)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual((yield* browser.get("/console/notifications")).status, 403)

    const second = yield* operatorSignedIn
    const out = yield* second.browser.post(second.page, "/console/sign-out")
    assert.deepStrictEqual([out.status, out.headers.get("location")], [303, "/console"])
    assert.strictEqual((yield* second.browser.get("/console/notifications")).status, 403)

    const third = yield* operatorSignedIn
    yield* call("POST", "/operator/portal/rotate_secret", { as })
    assert.strictEqual((yield* third.browser.get("/console/notifications")).status, 403)
  })

  onServer("refuses cookies that are made up, changed, or for another role", function* () {
    const { browser } = yield* operatorSignedIn
    const genuine = browser.cookies.get("doorhook_console") ?? ""
    const [expires = "", nonce = "", subject = "", signature = ""] = genuine.split(".")
    for (const planted of [
      "",
      "x",
      `${Number(expires) + 1}.${nonce}.${subject}.${signature}`,
      `${expires}.${nonce.replace(/./, (first) => (first === "A" ? "B" : "A"))}.${subject}.${signature}`,
      `${expires}.${nonce}.YWRtaW4.${signature}`,
      genuine.slice(0, -1)
    ]) {
      browser.cookies.set("doorhook_console", planted)
      assert.strictEqual((yield* browser.get("/console/notifications")).status, 403, planted)
    }
    browser.cookies.set("doorhook_owner", genuine)
    assert.strictEqual((yield* browser.get("/portal/new")).status, 403)
    // The operator API ignores cookies, even valid ones.
    browser.cookies.set("doorhook_console", genuine)
    assert.strictEqual((yield* browser.get("/operator/summary")).status, 401)
  })
})

/** Every page of operators. */
const pages = [
  "/console",
  "/console/deliveries",
  "/console/deliveries/dlv_1",
  "/console/integrations",
  "/console/integrations/1",
  "/console/clients?user_id=admin",
  "/console/notifications",
  "/console/publish"
]

describe("an operator's pages", () => {
  onServer("run only the service's own script, can't be framed or cached, and leak nothing", function* () {
    const { event } = yield* published(1)
    const { browser } = yield* operatorSignedIn
    for (const path of [...pages, `/console/events/${event}`]) {
      const page = yield* browser.get(path)
      assert.strictEqual(page.status, 200, path)
      const policy = (page.headers.get("content-security-policy") ?? "").split("; ")
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'"
      ]) {
        assert.include(policy, directive, path)
      }
      assert.strictEqual(page.headers.get("x-frame-options"), "DENY")
      assert.strictEqual(page.headers.get("cache-control"), "no-store")
      assert.strictEqual(page.headers.get("referrer-policy"), "no-referrer")
      assert.deepStrictEqual(page.text.match(/<script[^>]*>/g), ['<script src="/console/live.js" defer>'])
      assert.notMatch(page.text, / on\w+=| style=/)
      assert.notInclude(page.text, operatorKey)
      assert.notMatch(page.text, /whsec_/)
    }
  })

  onServer("escape texts of receivers, clients and owners", function* () {
    const html = `"><script>window.hacked=1</script>`
    yield* call("POST", "/v4/buildings/1/integrations", {
      as: "admin",
      body: document({
        configuration: { url: "https://receiver.example/?<script>window.hacked=1</script>", method: "post" }
      })
    })
    yield* call("POST", "/operator/clients", {
      as,
      body: { id: "<script>", name: html, redirect_uris: ["https://client.example/?<script>"] }
    })
    const event = { resource_type: "access_log", action: "create", building_id: 1, data: { name: html } }
    yield* call("POST", "/operator/events", { as, body: event })
    yield* attempt("bad_status", "retrying", false, html, html)
    const { browser } = yield* operatorSignedIn
    for (const path of [
      ...pages,
      `/console/deliveries?find=${encodeURIComponent(html)}`,
      `/console/clients?user_id=${encodeURIComponent(html)}`
    ]) {
      const page = yield* browser.get(path)
      assert.strictEqual(page.text.match(/<script/g)?.length, 1, path)
      assert.notInclude(page.text, `"><script`, path)
    }
  })

  onServer("refuse forms of another site, of another session, or without a token", function* () {
    const { integration } = yield* published(1)
    const { browser, page } = yield* operatorSignedIn
    const other = yield* operatorSignedIn
    const path = `/console/integrations/${integration}/status`
    const fields = { status: "disabled" }
    for (const refused of [
      yield* browser.post(page, path, { ...fields, csrf_token: "" }),
      yield* browser.post(other.page, path, fields),
      yield* browser.post(page, path, fields, { "sec-fetch-site": "cross-site" }),
      yield* browser.post(page, path, fields, { "sec-fetch-site": "same-site" }),
      yield* new Browser().post(page, path, fields)
    ]) {
      assert.strictEqual(refused.status, 403)
    }
    // A planted cookie is not enough, because the token is also bound to the session.
    browser.cookies.set("doorhook_login", "A".repeat(43))
    assert.strictEqual((yield* browser.post(page, path, fields)).status, 403)
    assert.strictEqual((yield* call("GET", `/operator/integrations/${integration}`, { as })).at("/status"), "enabled")
  })

  onServer("find deliveries by host, integration, event, state, type and time, and send several again", function* () {
    yield* TestClock.setTime(Date.UTC(2026, 2, 2, 7))
    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    yield* call("POST", "/v4/buildings/1/integrations", {
      as: "admin",
      body: document({
        configuration: { url: "https://crm.example/in", method: "post" },
        bindings: [{ resource_type: "call", actions: ["create"] }]
      })
    })
    const data = { id: 4711, name: 'J\u00fcrgen "X"', access_point: 11 }
    const publish = (resource_type: string) =>
      call("POST", "/operator/events", { as, body: { resource_type, action: "create", building_id: 1, data } })
    yield* publish("access_log")
    yield* TestClock.adjust("1 hour")
    yield* publish("call")
    yield* publish("access_log")
    const { browser } = yield* operatorSignedIn
    const found = (query: Readonly<Record<string, string>>) =>
      Effect.map(browser.get(`/console/deliveries?${new URLSearchParams(query).toString()}`), ({ text }) =>
        [...text.matchAll(/name="delivery" value="(dlv_\d+)"/g)].map((match) => match[1])
      )
    assert.deepStrictEqual(yield* found({}), ["dlv_3", "dlv_2", "dlv_1"])
    assert.deepStrictEqual(yield* found({ find: "CRM.example" }), ["dlv_2"])
    assert.deepStrictEqual(yield* found({ find: "nobody.example" }), [])
    assert.deepStrictEqual(yield* found({ find: "1" }), ["dlv_3", "dlv_1"])
    assert.deepStrictEqual(yield* found({ type: "access_log" }), ["dlv_3", "dlv_1"])
    assert.deepStrictEqual(yield* found({ state: "delivered" }), [])
    assert.deepStrictEqual(yield* found({ state: "pending", until: "2026-03-02T07:30" }), ["dlv_1"])
    assert.deepStrictEqual(yield* found({ since: "2026-03-02T07:30", type: "call" }), ["dlv_2"])
    assert.deepStrictEqual(yield* found({ after: "dlv_3" }), ["dlv_2", "dlv_1"])
    assert.deepStrictEqual(yield* found({ text: "4711", type: "call" }), ["dlv_2"])
    assert.deepStrictEqual(yield* found({ text: 'j\u00dcrgen "x' }), ["dlv_3", "dlv_2", "dlv_1"])
    for (const text of ["471", "11.0", "Ann"]) assert.deepStrictEqual(yield* found({ text }), [], text)
    assert.deepStrictEqual(yield* found({ find: "admin's lobby" }), [])
    yield* call("PATCH", "/v4/buildings/1/integrations/2", {
      as: "admin",
      body: { data: { type: "integrations", id: "2", attributes: { name: "Admin's lobby" } } }
    })
    assert.deepStrictEqual(yield* found({ find: "admin's lobby" }), ["dlv_2"])
    // The browser's zone applies to filters and texts alike.
    browser.cookies.set("doorhook_zone", "America%2FNew_York")
    assert.deepStrictEqual(yield* found({ state: "pending", until: "2026-03-02T02:30" }), ["dlv_1"])
    const local = yield* browser.get("/console/deliveries/dlv_1")
    assert.match(local.text, /Mar 2, 2026, 2:00:00.AM EST/)
    browser.cookies.set("doorhook_zone", "Moon%2FTranquility")
    assert.include((yield* browser.get("/console/deliveries")).text, "Times are in UTC.")
    browser.cookies.delete("doorhook_zone")
    const single = yield* browser.get("/console/deliveries?find=dlv_2")
    assert.strictEqual(single.headers.get("location"), "/console/deliveries/dlv_2")

    yield* attempt("bad_status", "exhausted")
    const list = yield* browser.get("/console/deliveries")
    assert.strictEqual((yield* browser.post(list, "/console/deliveries/resend")).status, 422)
    const sent = yield* browser.post(list, "/console/deliveries/resend", { delivery: ["dlv_1", "dlv_3"] })
    assert.strictEqual(sent.headers.get("location"), "/console/deliveries?done=resent&n=2")
    assert.include((yield* browser.follow(sent)).text, "Deliveries being sent: 2")
    const states = (yield* (yield* DeliveryStore).list({ limit: 10 })).map(({ state }) => state)
    assert.deepStrictEqual(states, ["pending", "exhausted", "pending"])
  })

  onServer("send the selected deliveries that still exist, and say so if none does", function* () {
    yield* published(2)
    yield* attempt("bad_status", "exhausted")
    const { browser, page } = yield* operatorSignedIn
    const resend = (...delivery: ReadonlyArray<string>) =>
      browser.post(page, "/console/deliveries/resend", { delivery })
    for (const ids of [
      ["dlv_1", "dlv_98"],
      ["dlv_98", "dlv_1"]
    ]) {
      const sent = yield* resend(...ids)
      assert.strictEqual(sent.headers.get("location"), "/console/deliveries?done=resent&n=1", ids.join())
    }
    const refused = yield* resend("dlv_98", "dlv_99")
    assert.strictEqual(refused.status, 404)
    assert.include(alertIn(refused), "dlv_99")
    const states = (yield* (yield* DeliveryStore).list({ limit: 10 })).map(({ state }) => state)
    assert.deepStrictEqual(states, ["pending", "exhausted"])
  })

  onServer("continue a search of the data that has read its limit of deliveries", function* () {
    yield* published(1)
    const body = Array.from({ length: 1_000 }, () => ({ ...accessLog, data: { id: 2 } }))
    for (let n = 0; n < 5; n++) yield* call("POST", "/operator/events", { as, body })
    const { browser } = yield* operatorSignedIn
    const first = yield* browser.get("/console/deliveries?find=1&text=1")
    assert.match(first.text, /The search went back to/)
    assert.notInclude(first.text, `value="dlv_1"`)
    const older = /href="([^"]*after=dlv_[^"]*)"/.exec(first.text)?.[1] ?? ""
    const second = yield* browser.get(unescapeHtml(older))
    assert.include(second.text, `value="dlv_1"`)
    assert.notMatch(second.text, /The search went back to/)
  })

  onServer("say if a search by host has not compared all integrations", function* () {
    const { integration } = yield* published(1)
    const store = yield* IntegrationStore
    const first = yield* store.find(IntegrationId.make(Number(integration)))
    if (first === null) return assert.fail("no integration")
    const { id: _, ...same } = first
    const more = (url: string) => store.create({ ...same, configuration: { ...same.configuration, url } })
    const { browser } = yield* operatorSignedIn
    const page = (find: string, lang = "en") =>
      Effect.map(browser.get(`/console/deliveries?find=${find}`, { "accept-language": lang }), ({ text }) => text)
    const cut = /Only the first 10,000 integrations were compared/
    for (let n = 1; n < 10_000; n++) yield* more("https://many.example/hook")
    assert.notMatch(yield* page("late.example"), cut)
    yield* more("https://late.example/hook")
    assert.match(yield* page("late.example"), cut)
    const found = yield* page("receiver.example")
    assert.match(found, cut)
    assert.include(found, `value="dlv_1"`)
    assert.match(yield* page("late.example", "de"), /ersten 10\.000 Integrationen/)
    for (const find of ["", "10001"]) assert.notMatch(yield* page(find), cut)
  })

  onServer("show a delivery with its payload, headers, answers and next step, and send it again", function* () {
    yield* published(1)
    yield* attempt("bad_status", "exhausted", false, "no such door")
    const { browser } = yield* operatorSignedIn
    const page = yield* browser.get("/console/deliveries/dlv_1")
    for (const text of [
      "POST https://receiver.example/hook",
      "{&quot;event&quot;:{&quot;resource_type&quot;:&quot;access_log&quot;",
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "no such door",
      "Recover missed events"
    ]) {
      assert.include(page.text, text)
    }
    const sent = yield* browser.post(page, "/console/deliveries/resend", { delivery: "dlv_1" })
    assert.strictEqual(sent.headers.get("location"), "/console/deliveries/dlv_1?done=sent")
    assert.include((yield* browser.follow(sent)).text, "The delivery is being sent.")
  })

  onServer("show a payload's characters that hide or reverse text escaped", function* () {
    yield* published(1)
    const data = { ...accessLog.data, note: "a\u202eb\u009bc" }
    const body = [{ ...accessLog, data }]
    assert.strictEqual((yield* call("POST", "/operator/events", { as: operatorKey, body })).status, 202)
    const { browser } = yield* operatorSignedIn
    const { text } = yield* browser.get("/console/deliveries/dlv_2")
    assert.include(text, String.raw`a\u202eb\u009bc`)
    assert.notMatch(text, /[\u202e\u009b]/)
  })

  for (const [signing, schemes] of [
    ["hmac", ["v1"]],
    ["ed25519", ["v1a"]],
    ["both", ["v1", "v1a"]],
    ["off", []]
  ] as const) {
    onServer(
      `show the signatures of an attempt as a receiver computes them, with signing: ${signing}`,
      function* () {
        const { event, integration } = yield* published(1)
        yield* attempt("bad_status", "retrying")
        const { browser } = yield* operatorSignedIn
        const { text } = yield* browser.get("/console/deliveries/dlv_1")
        const signatures = [...text.matchAll(/<code id="signature-\d">([^<]*)</g)].map((match) => match[1] ?? "")
        assert.deepStrictEqual(
          signatures.map((signature) => signature.split(",")[0]),
          [...schemes]
        )
        assert.strictEqual(text.includes("webhook-signature"), signing !== "off")
        const stored = yield* (yield* IntegrationStore).find(IntegrationId.make(Number(integration)))
        const key = yield* ServiceKey
        const content = {
          id: event,
          timestamp: 1_000,
          body: '{"event":{"resource_type":"access_log","action":"create","data":{"id":1}}}'
        }
        const secrets = { v1: stored?.signing_secret ?? null, v1a: key }
        for (const [at, scheme] of schemes.entries()) {
          const secret = secrets[scheme]
          if (secret === null) return assert.fail("no secret")
          assert.strictEqual(signatures[at], yield* Signature.sign([secret], content))
        }
        // The command to copy has the same headers and body.
        for (const part of [
          ...signatures,
          "webhook-timestamp: 1000",
          `--data-binary &#39;${content.body.replaceAll('"', "&quot;")}`
        ])
          assert.include(text, part)
      },
      { delivery: { signing } }
    )
  }

  onServer("show the body formatted, with numbers of any length", function* () {
    yield* published(0)
    const body = { ...accessLog, data: { id: 1 } }
    yield* call("POST", "/operator/events", {
      as,
      body: JSON.stringify(body).replace('"id":1', '"id":12345678901234567890,"list":[],"of":{"a":1.50}')
    })
    const { browser } = yield* operatorSignedIn
    const { text } = yield* browser.get("/console/deliveries/dlv_1")
    assert.include(
      text.replaceAll("&quot;", '"'),
      '      "id": 12345678901234567890,\n      "list": [],\n      "of": {\n        "a": 1.50\n      }\n'
    )
  })

  onServer("say on the page of an unhealthy integration why its last attempt failed", function* () {
    const { integration } = yield* published(1)
    yield* attempt("bad_status", "exhausted", true)
    const { browser } = yield* operatorSignedIn
    const page = yield* browser.get(`/console/integrations/${integration}`)
    assert.match(
      page.text,
      /<p class="alert">This integration is disabled because [^<]*<\/p><p>The receiver answered \d+: [^<]*\.<\/p>/
    )
  })

  onServer("set, disable, enable, recover and link an integration", function* () {
    const { integration } = yield* published(2)
    const { browser } = yield* operatorSignedIn
    const path = `/console/integrations/${integration}`
    const page = yield* browser.get(path)
    const shown = (at: string) =>
      Effect.map(call("GET", `/operator/integrations/${integration}`, { as }), (reply) => reply.at(at))

    yield* browser.post(page, `${path}/status`, { status: "disabled" })
    assert.strictEqual(yield* shown("/status"), "disabled")
    const refused = yield* browser.post(page, `${path}/recover`, { since: "1970-01-01T00:00" })
    assert.strictEqual(refused.status, 409)
    assert.include(alertIn(refused), "Enable it first")
    yield* browser.post(page, `${path}/status`, { status: "enabled" })
    assert.strictEqual(yield* shown("/status"), "enabled")
    const count = yield* browser.get(`${path}/recover?since=1970-01-01T00:00`)
    assert.match(count.text, /<b>2<\/b> deliveries since .* were not acknowledged/)
    assert.include(count.text, "Send 2 deliveries again")
    const recovered = yield* browser.post(page, `${path}/recover`, { since: "1970-01-01T00:00" })
    assert.strictEqual(recovered.headers.get("location"), `${path}?done=recovered&n=2`)
    assert.strictEqual((yield* browser.post(page, `${path}/recover`, { since: "soon" })).status, 422)

    const saved = yield* browser.post(page, `${path}/overrides`, {
      acknowledge: "2xx",
      "retry-access_log": "5s, 30s",
      "retry-call": "none",
      allow: "10.0.0.0/8"
    })
    assert.strictEqual(saved.status, 303)
    assert.deepStrictEqual(yield* shown("/overrides"), {
      acknowledge: "2xx",
      retry: { access_log: ["5s", "30s"], call: [] },
      allow_targets: ["10.0.0.0/8"]
    })
    const wrong = yield* browser.post(page, `${path}/overrides`, { "retry-access_log": "soon" })
    assert.strictEqual(wrong.status, 422)

    assert.include(page.text, "data-refresh=")
    const linked = yield* browser.post(page, `${path}/link`, { lifetime: "1h" })
    // The answer to a form must not refresh itself, because the form's address does not accept GET.
    assert.notInclude(linked.text, "data-refresh=")
    assert.strictEqual(linked.status, 200)
    const url = /value="([^"]*\/portal\/open\/[^"]*)"/.exec(linked.text)?.[1] ?? ""
    assert.strictEqual((yield* call("GET", new URL(url).pathname)).status, 303)
    assert.strictEqual((yield* browser.post(page, `${path}/rotate`, {})).status, 404)
  })

  onServer("say on the page of an event which integrations got it, and why others did not", function* () {
    const { event, integration } = yield* published(1)
    yield* attempt("bad_status", "exhausted")
    const bindings = [{ resource_type: "call", actions: ["create"] }]
    const body = document({ bindings, name: "Rings only" })
    const unbound = (yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body })).textAt("/data/id")
    const { browser } = yield* operatorSignedIn
    const found = yield* browser.get(`/console/deliveries?find=${event}`)
    assert.strictEqual(found.headers.get("location"), `/console/events/${event}`)
    const page = yield* browser.follow(found)
    assert.strictEqual(page.status, 200)
    assert.match(
      page.text,
      new RegExp(`href="/console/integrations/${integration}".*exhausted.*The receiver answered 500`, "s")
    )
    assert.match(
      page.text,
      new RegExp(`href="/console/integrations/${unbound}">Rings only<.*event not chosen.*only to call`, "s")
    )
    const delivery = yield* browser.get("/console/deliveries/dlv_1")
    assert.include(delivery.text, `href="/console/events/${event}"`)
    const unknown = yield* browser.get(`/console/events/evt_${"0".repeat(29)}`)
    assert.strictEqual(unknown.status, 404)
    assert.match(alertIn(unknown), /No event evt_0+ was published here/)
    assert.strictEqual((yield* browser.get("/console/events/evt_1")).status, 404)
  })

  onServer("register, rotate and remove clients, and revoke grants; only that answer has the secret", function* () {
    const { browser } = yield* operatorSignedIn
    const page = yield* browser.get("/console/clients")
    const fields = { id: "acme", name: "Acme", redirect_uris: "https://client.example/cb", confidential: "yes" }
    const added = yield* browser.post(page, "/console/clients", fields)
    const secret = /<code id="secret">([^<]+)</.exec(added.text)?.[1] ?? ""
    assert.isNotEmpty(secret)
    assert.strictEqual(added.headers.get("cache-control"), "no-store")
    const listed = yield* browser.get("/console/clients")
    assert.notInclude(listed.text, secret)
    assert.match(listed.text, /Client secret.*1 secret</s)
    const again = yield* browser.post(page, "/console/clients", fields)
    assert.strictEqual(again.status, 409)
    const rotated = yield* browser.post(page, "/console/clients/rotate", { id: "acme" })
    assert.notStrictEqual(/<code id="secret">([^<]+)</.exec(rotated.text)?.[1], secret)
    const removed = yield* browser.post(page, "/console/clients/remove", { id: "acme" })
    assert.strictEqual(removed.headers.get("location"), "/console/clients?done=removed")
    const revoked = yield* browser.post(page, "/console/clients/revoke", { user_id: "admin" })
    assert.strictEqual(revoked.headers.get("location"), "/console/clients?user_id=admin&done=revoked&n=0")
  })

  onServer("publish an event, and show an invalid one again with its problems", function* () {
    yield* published(0)
    const { browser } = yield* operatorSignedIn
    const page = yield* browser.get("/console/publish")
    const fields = {
      kind: "access_log create",
      building_id: "1",
      tenant_ids: "",
      data: `{"id":12345678901234567890}`
    }
    const done = yield* browser.post(page, "/console/publish", fields)
    assert.match(done.headers.get("location") ?? "", /^\/console\/events\/evt_\w+\?done=published&n=1$/)
    assert.include((yield* browser.follow(done)).text, "Published. Deliveries: 1")
    const [delivery] = yield* (yield* DeliveryStore).list({ limit: 1 })
    const shown = yield* browser.get(`/console/deliveries/dlv_${delivery?.id}`)
    assert.include(shown.text, "12345678901234567890")
    for (const [wrong, what] of [
      [{ data: "{" }, "not JSON"],
      [{ data: "[]" }, "data"],
      [{ building_id: "x" }, "building_id"],
      [{ kind: "nothing create" }, "resource_type"]
    ] as const) {
      const refused = yield* browser.post(page, "/console/publish", { ...fields, ...wrong })
      assert.include([400, 422], refused.status)
      assert.include(alertIn(refused), what)
    }
    const hint = yield* browser.post(page, "/console/publish", { ...fields, building_id: "77" })
    assert.include(hint.text, "building_id 77 is not in the directory")
  })

  onServer("have one script, which browsers revalidate, and no other file", function* () {
    for (const path of ["/console/live.js", "/portal/live.js"]) {
      const script = yield* call("GET", path)
      assert.deepStrictEqual(
        [script.status, script.headers.get("content-type"), script.headers.get("cache-control")],
        [200, "text/javascript; charset=utf-8", "no-cache"]
      )
      const again = yield* call("GET", path, { headers: { "if-none-match": script.headers.get("etag") ?? "" } })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
    }
    for (const name of ["tsconfig.json", "..%2fUi.ts", "main.js"]) {
      assert.strictEqual((yield* call("GET", `/console/${name}`)).status, 404, name)
    }
  })

  onServer("have forms whose tokens differ from session to session", function* () {
    const [one, two] = [yield* operatorSignedIn, yield* operatorSignedIn]
    assert.notStrictEqual(tokenIn(one.page), tokenIn(two.page))
  })
})
