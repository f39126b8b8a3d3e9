import { DeliveryStore } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { attempt, published } from "../operator/Attempts.ts"
import { call, Controls, document, operatorKey, onServer } from "../TestServer.ts"
import { alertIn, Browser, ownerSignedIn, valueIn } from "./Browser.ts"

const as = operatorKey

const secretIn = (text: string): string => /<code id="secret">([^<]+)</.exec(text)?.[1] ?? ""

/** The text about the problem with a field; empty if there is none. */
const problemIn = ({ text }: { readonly text: string }, field: string): string =>
  new RegExp(`<p class="problem" id="${field}-problem">([^<]*)<`).exec(text)?.[1] ?? ""

const inGerman = { "accept-language": "de" }

const shown = (id: string) => call("GET", `/operator/integrations/${id}`, { as })

describe("signing in as an owner", () => {
  onServer("accepts login and password, and shares the throttle of the applications' login page", function* () {
    const browser = new Browser()
    assert.include((yield* browser.get("/portal/7")).text, "came here by a link")
    const form = yield* browser.get("/portal")
    assert.strictEqual(form.status, 200)
    for (let n = 0; n < 10; n++) {
      const refused = yield* browser.post(form, "/portal/sign-in", { login: "admin", password: "wrong" })
      assert.strictEqual(refused.status, 403)
      assert.match(alertIn(refused), /wrong/)
      assert.strictEqual(valueIn(refused, "login"), "")
      assert.notInclude(refused.text, "password of")
      assert.notInclude(refused.text, "came here by a link")
    }
    const throttled = yield* browser.post(form, "/portal/sign-in", { login: "admin", password: "password of admin" })
    assert.strictEqual(throttled.status, 429)
    const other = yield* browser.post(form, "/portal/sign-in", { login: "tenant", password: "password of tenant" })
    assert.deepStrictEqual([other.status, other.headers.get("location")], [303, "/portal"])
    const [cookie = ""] = other.headers.getSetCookie()
    assert.match(cookie, /^doorhook_owner=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/)
  })

  onServer("ends when the directory no longer has the user, which is checked at each request", function* () {
    const { integration } = yield* published(0)
    const { browser } = yield* ownerSignedIn("admin")
    assert.strictEqual((yield* browser.get(`/portal/${integration}`)).status, 200)
    const controls = yield* Controls
    controls.fault = "directory"
    assert.strictEqual((yield* browser.get(`/portal/${integration}`)).status, 503)
    controls.fault = "none"
    // A session of a user who does not exist, with a valid signature.
    const ghost = yield* ownerSignedIn("admin")
    const [, expires = ""] = /^(\d+)\./.exec(ghost.browser.cookies.get("doorhook_owner") ?? "") ?? []
    assert.isAbove(Number(expires), 0)
    yield* TestClock.adjust("12 hours")
    assert.strictEqual((yield* browser.get("/portal/new")).status, 403)
  })

  onServer("refuses a form of another site", function* () {
    const browser = new Browser()
    const form = yield* browser.get("/portal")
    const fields = { login: "admin", password: "password of admin" }
    for (const refused of [
      yield* browser.post(form, "/portal/sign-in", fields, { "sec-fetch-site": "cross-site" }),
      yield* browser.post(form, "/portal/sign-in", { ...fields, csrf_token: "" }),
      yield* new Browser().post(form, "/portal/sign-in", fields)
    ]) {
      assert.strictEqual(refused.status, 403)
      assert.notMatch(refused.headers.get("set-cookie") ?? "", /doorhook_owner/)
    }
  })
})

describe("an owner", () => {
  onServer("sees only the integrations of their own buildings and tenants, at any address", function* () {
    const { integration } = yield* published(1)
    const elsewhere = yield* call("POST", "/v4/buildings/2/integrations", { as: "other", body: document() })
    const other = elsewhere.textAt("/data/id")
    const { browser, page } = yield* ownerSignedIn("admin")
    assert.include(page.text, "Building 1")
    assert.include(page.text, `href="/portal/${integration}"`)
    assert.notInclude(page.text, `href="/portal/${other}"`)
    const gone = yield* browser.get("/portal/99")
    for (const path of ["", "/edit", "/verify", "/deliveries/dlv_1"]) {
      const refused = yield* browser.get(`/portal/${other}${path}`)
      assert.strictEqual(refused.status, 404, path)
      // No answer reveals that the integration exists.
      assert.include(refused.text, `There is no integration ${other}.`)
    }
    assert.include(gone.text, "There is no integration 99.")
    for (const [action, fields] of [
      ["status", { status: "disabled" }],
      ["delete", {}],
      ["rotate", {}],
      ["edit", { url: "https://evil.example/", binding: "access_log create" }],
      ["test", {}],
      ["recover", { since: "1970-01-01T00:00" }],
      ["deliveries/resend", { delivery: "dlv_1" }]
    ] as const) {
      assert.strictEqual((yield* browser.post(page, `/portal/${other}/${action}`, fields)).status, 404, action)
    }
    const stored = yield* shown(other)
    assert.deepStrictEqual([stored.at("/status"), stored.at("/url")], ["enabled", "https://receiver.example/hook"])
    // A delivery of another integration is not found.
    yield* call("POST", "/operator/events", {
      as,
      body: { resource_type: "access_log", action: "create", building_id: 2, data: {} }
    })
    const own = `/portal/${integration}/deliveries`
    assert.strictEqual((yield* browser.get(`${own}/dlv_1`)).status, 200)
    assert.strictEqual((yield* browser.get(`${own}/dlv_2`)).status, 404)
    assert.strictEqual((yield* browser.post(page, `${own}/resend`, { delivery: "dlv_2" })).status, 404)
  })

  onServer("sees on the page of an event their own integrations, and no event of others", function* () {
    const { event, integration } = yield* published(1)
    yield* attempt("blocked_address", "exhausted", false, null, "10.0.0.7 is private")
    const body = document({ name: "Neighbour" })
    const created = yield* call("POST", "/v4/tenants/102/integrations", { as: "other", body })
    const foreign = created.textAt("/data/id")
    const { browser } = yield* ownerSignedIn("admin")
    const found = yield* browser.get(`/portal?find=${event}`)
    assert.strictEqual(found.headers.get("location"), `/portal/events/${event}`)
    const page = yield* browser.follow(found)
    assert.match(page.text, new RegExp(`href="/portal/${integration}".*/portal/${integration}/deliveries/dlv_1`, "s"))
    assert.notInclude(page.text, "10.0.0.7")
    assert.include(page.text, "ask the operator of this service to allow this one")
    const delivery = yield* browser.get(`/portal/${integration}/deliveries/dlv_1`)
    assert.include(delivery.text, `href="/portal/events/${event}"`)
    // An event of a building and of one of its tenants: each owner sees their own integration.
    const both = { resource_type: "access_log", action: "create", building_id: 1, tenant_ids: [102], data: {} }
    const shared = (yield* call("POST", "/operator/events", { as, body: both })).textAt("/events/0/id")
    const neighbour = yield* ownerSignedIn("other")
    const theirs = yield* neighbour.browser.get(`/portal/events/${shared}`)
    assert.include(theirs.text, `href="/portal/${foreign}">Neighbour<`)
    assert.notInclude(theirs.text, `href="/portal/${integration}"`)
    const ours = yield* browser.get(`/portal/events/${shared}`)
    assert.notInclude(ours.text, "Neighbour")
    assert.include(ours.text, `href="/portal/${integration}"`)
    // An event of others looks like one that does not exist.
    const [hidden, unknown] = [event, `evt_${"0".repeat(29)}`].map((id) => `/portal/events/${id}`)
    const answers = [yield* neighbour.browser.get(hidden ?? ""), yield* neighbour.browser.get(unknown ?? "")]
    assert.deepStrictEqual(
      answers.map((answer) => [answer.status, alertIn(answer).slice(0, 48)]),
      Array.from(answers, () => [404, "Your buildings and units have no event with this"])
    )
  })

  onServer(
    "adds an integration once, is shown its secret once, and is shown the problems of an invalid one",
    function* () {
      const { browser } = yield* ownerSignedIn("admin")
      const form = yield* browser.get("/portal/new?place=building-1")
      const key = valueIn(form, "key")
      // Nothing is selected at first, because events contain personal data.
      assert.notInclude(form.text, " checked")
      const fields = {
        place: "building-1",
        key,
        url: "https://own.example/hook",
        binding: ["call create", "access_log create"]
      }
      const wrong = yield* browser.post(form, "/portal/new", {
        ...fields,
        url: "http://10.0.0.1/<script>",
        binding: []
      })
      assert.strictEqual(wrong.status, 422)
      const german = yield* browser.post(
        form,
        "/portal/new",
        { ...fields, url: "ftp://x.example", binding: [] },
        inGerman
      )
      assert.strictEqual(problemIn(german, "url"), "Die URL muss mit http:// oder https:// beginnen.")
      assert.strictEqual(problemIn(german, "binding"), "Wählen Sie mindestens ein Ereignis.")
      assert.include(german.text, "<title>Fehler: Neue Integration")
      const missing = yield* browser.get("/portal/99", inGerman)
      assert.strictEqual(alertIn(missing), "Es gibt keine Integration 99.")
      assert.match(problemIn(wrong, "url"), /^This address \(10\.0\.0\.1\) is private or reserved/)
      assert.strictEqual(problemIn(wrong, "binding"), "Choose at least one event.")
      assert.match(wrong.text, /id="url" name="url" aria-describedby="url-problem url-hint" aria-invalid="true"/)
      const long = yield* browser.post(form, "/portal/new", { ...fields, name: "x".repeat(81) })
      assert.match(problemIn(long, "name"), /80 characters/)
      assert.include(long.text, 'value="https://own.example/hook"')
      assert.strictEqual(valueIn(wrong, "url"), "")
      assert.include(wrong.text, 'value="http://10.0.0.1/&lt;script&gt;"')
      const created = yield* browser.post(form, "/portal/new", fields)
      assert.strictEqual(created.status, 200)
      assert.match(secretIn(created.text), /^whsec_/)
      assert.strictEqual(created.headers.get("cache-control"), "no-store")
      const again = yield* browser.post(form, "/portal/new", fields)
      assert.strictEqual(again.status, 303)
      const page = yield* browser.follow(again)
      assert.include(page.text, "https://own.example/hook")
      assert.notMatch(page.text, /whsec_/)
      const list = yield* call("GET", "/v4/buildings/1/integrations", { as: "admin" })
      assert.strictEqual(list.at("/meta/page_info/total_item_count"), 1)
      for (const place of ["building-2", "tenant-101", "building-x", ""]) {
        const refused = yield* browser.post(form, "/portal/new", { ...fields, place, key: `${key}${place}` })
        assert.strictEqual(refused.status, 404, place)
      }
    }
  )

  onServer("chooses how much of the data is sent, and sees it", function* () {
    const { integration } = yield* published(0)
    const { browser } = yield* ownerSignedIn("admin")
    const path = `/portal/${integration}`
    assert.match((yield* browser.get(path)).text, /Data<[^]*Everything</)
    const form = yield* browser.get(`${path}/edit`)
    const fields = { url: "https://new.example/hook", binding: "call create", version: valueIn(form, "version") }
    const wrong = yield* browser.post(form, `${path}/edit`, { ...fields, detail: "some" })
    assert.strictEqual(wrong.status, 422)
    assert.include(wrong.text, 'id="detail-problem"')
    yield* browser.post(form, `${path}/edit`, { ...fields, detail: "redacted" })
    assert.strictEqual((yield* shown(integration)).at("/detail"), "redacted")
    assert.match((yield* browser.get(path)).text, /Data<[^]*Without personal data</)
    assert.include((yield* browser.get(`${path}/edit`)).text, '<option value="redacted" selected>')
  })

  onServer(
    "edits, pauses and enables, rotates the secret and deletes, whichever client created it",
    function* () {
      const { integration } = yield* published(0)
      const { browser } = yield* ownerSignedIn("colleague")
      const path = `/portal/${integration}`
      const page = yield* browser.get(path)
      const form = yield* browser.get(`${path}/edit`)
      const fields = { url: "https://new.example/hook", binding: "call create", version: valueIn(form, "version") }
      const edited = yield* browser.post(form, `${path}/edit`, fields)
      assert.strictEqual(edited.headers.get("location"), `${path}?done=saved`)
      assert.strictEqual((yield* shown(integration)).at("/url"), "https://new.example/hook")
      // The form contains an outdated version.
      assert.strictEqual((yield* browser.post(form, `${path}/edit`, fields)).status, 412)
      const empty = yield* browser.post(form, `${path}/edit`, { url: "ftp://x", binding: [], version: "2" })
      assert.strictEqual(empty.status, 422)

      yield* browser.post(page, `${path}/status`, { status: "disabled" })
      assert.strictEqual((yield* shown(integration)).at("/disabled_reason"), "manual")
      yield* browser.post(page, `${path}/status`, { status: "enabled" })
      assert.strictEqual((yield* shown(integration)).at("/status"), "enabled")

      const now = yield* browser.get(path)
      const version = valueIn(now, "version")
      const rotated = yield* browser.post(now, `${path}/rotate`, { version })
      const secret = secretIn(rotated.text)
      assert.match(secret, /^whsec_/)
      assert.include(rotated.text, "For 24 hours, requests are signed with the old secret, too.")
      // Reloading the page submits the form again, which must not replace the new secret.
      const again = yield* browser.post(now, `${path}/rotate`, { version })
      assert.strictEqual(again.status, 412)
      assert.include(again.text, "The secret is shown only once")
      assert.include(again.text, `href="${path}"`)
      for (const after of [yield* browser.get(path), yield* browser.get(`${path}/verify`)]) {
        assert.notInclude(after.text, secret)
      }
      const gone = yield* browser.post(page, `${path}/delete`)
      assert.strictEqual(gone.headers.get("location"), "/portal?done=deleted")
      assert.strictEqual((yield* shown(integration)).status, 404)
    },
    { delivery: { clientIsolation: true } }
  )

  onServer("sees names of integrations, clients, places and doors, and lines about events", function* () {
    yield* TestClock.setTime(Date.UTC(2026, 2, 2, 16))
    const { browser } = yield* ownerSignedIn("admin")
    const form = yield* browser.get("/portal/new?place=building-1")
    yield* browser.post(form, "/portal/new", {
      place: "building-1",
      key: valueIn(form, "key"),
      url: "https://own.example/a",
      name: "Lobby <display>",
      description: "Call Ann.",
      binding: "access_log create"
    })
    const url = (path: string) => ({ configuration: { url: `https://same.example/${path}`, method: "post" } })
    for (const path of ["in", "out"])
      yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document(url(path)) })
    const data = {
      id: 7,
      logged_at: "2026-03-02T15:32:04Z",
      access_point: 11,
      entry_method: "app",
      release_status: "Unlocked",
      name: "Ann"
    }
    yield* call("POST", "/operator/events", {
      as,
      body: { resource_type: "access_log", action: "create", building_id: 1, data }
    })
    const home = yield* browser.get("/portal")
    for (const text of [
      "<b>Lobby &lt;display&gt;</b>",
      "own.example, added on these pages",
      "<b>same.example/in</b>",
      "<b>same.example/out</b>"
    ])
      assert.include(home.text, text)
    const one = yield* browser.get("/portal/1")
    for (const text of ["<h1>Lobby &lt;display&gt;</h1>", "added on these pages, Building 1", "Call Ann."])
      assert.include(one.text, text)
    // The building's time zone, because this browser has no script.
    assert.include(one.text, "opened by app, Ann, 16:32</a>")
    assert.include(one.text, "Times are in Europe/Berlin.")
    assert.include((yield* browser.get("/portal/2")).text, "<h1>same.example</h1>")
    const delivery = yield* browser.get("/portal/1/deliveries/dlv_1")
    assert.match(delivery.text, /<h1>[^<]* opened by app, Ann, 16:32<\/h1>/)
    assert.include(one.text, "Delete Lobby &lt;display&gt;?")
  })

  onServer("without integrations sees what a webhook is and the first step, and later finds one by name", function* () {
    const { browser, page } = yield* ownerSignedIn("admin")
    assert.include(page.text, "Send events to another program")
    assert.include(page.text, "<span>admin</span>")
    for (let n = 1; n <= 6; n++) {
      const form = yield* browser.get("/portal/new?place=building-1")
      yield* browser.post(form, "/portal/new", {
        place: "building-1",
        key: valueIn(form, "key"),
        url: `https://r${n}.example/`,
        name: `Display ${n}`,
        binding: "access_log create"
      })
    }
    const all = yield* browser.get("/portal")
    assert.notInclude(all.text, "Send events to another program")
    const names = (text: string) => [...text.matchAll(/<b>(Display \d)<\/b>/g)].map((match) => match[1])
    assert.strictEqual(names(all.text).length, 6)
    assert.deepStrictEqual(names((yield* browser.get("/portal?find=display+4")).text), ["Display 4"])
    assert.deepStrictEqual(names((yield* browser.get("/portal?find=R5.example")).text), ["Display 5"])
    assert.include((yield* browser.get("/portal/1")).text, "Send a test event to see one here.")
  })

  onServer("sees volume, success rate and latency of an integration over a day and a week", function* () {
    const { integration } = yield* published(3)
    yield* attempt("acknowledged", "delivered")
    yield* TestClock.adjust("2 days")
    yield* call("POST", "/operator/events", {
      as,
      body: { resource_type: "access_log", action: "create", building_id: 1, data: {} }
    })
    yield* attempt("bad_status", "exhausted")
    // A delivery that was not attempted yet does not count in the rate.
    yield* call("POST", "/operator/events", {
      as,
      body: { resource_type: "access_log", action: "create", building_id: 1, data: {} }
    })
    const { browser } = yield* ownerSignedIn("admin")
    const figures = (text: string) =>
      [...text.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd><\/div>/g)].map(([, , value]) => value)
    const day = yield* browser.get(`/portal/${integration}`)
    assert.deepStrictEqual(figures(day.text), ["0%", "2", "-", "-"])
    const week = yield* browser.get(`/portal/${integration}?span=week`)
    const [rate, total, median] = figures(week.text)
    assert.deepStrictEqual([rate, total], ["75%", "5"])
    assert.match(median ?? "", /^1\d ms$/)
  })

  onServer("sees reasons without internal details, sends again and recovers", function* () {
    const { integration } = yield* published(2)
    yield* attempt("connection_refused", "exhausted", false, null, "connect ECONNREFUSED 10.1.2.3:443")
    const { browser } = yield* ownerSignedIn("admin")
    const path = `/portal/${integration}`
    const detail = yield* browser.get(`${path}/deliveries/dlv_1`)
    assert.include(detail.text, "The receiver could not be reached. Check that it runs")
    assert.notInclude(detail.text, "10.1.2.3")
    const german = yield* browser.get(`${path}/deliveries/dlv_1`, inGerman)
    assert.include(german.text, "Der Empfänger war nicht erreichbar. Prüfen Sie, ob er läuft")
    assert.notInclude(german.text, `lang="en"`)
    const sent = yield* browser.post(detail, `${path}/deliveries/resend`, { delivery: "dlv_1" })
    assert.strictEqual(sent.headers.get("location"), `${path}/deliveries/dlv_1?done=sent`)
    const recovered = yield* browser.post(detail, `${path}/recover`, { since: "1970-01-01T00:00" })
    assert.strictEqual(recovered.headers.get("location"), `${path}?done=recovered&n=1`)
    const states = (yield* (yield* DeliveryStore).list({ limit: 10 })).map(({ state }) => state)
    assert.deepStrictEqual(states, ["pending", "pending"])
  })

  onServer("recovers what is still useful, and late rings only on request", function* () {
    yield* TestClock.setTime(1_000_000)
    const created = yield* call("POST", "/v4/buildings/1/integrations", {
      as: "admin",
      body: document({ bindings: ["call", "access_log"].map((type) => ({ resource_type: type, actions: ["create"] })) })
    })
    const path = `/portal/${created.textAt("/data/id")}`
    const { browser } = yield* ownerSignedIn("admin")
    const publish = (resource_type: string) =>
      call("POST", "/operator/events", { as, body: { resource_type, action: "create", building_id: 1, data: {} } })
    const recover = (fields: Readonly<Record<string, string>> = {}) =>
      Effect.gen(function* () {
        const form = yield* browser.get(`${path}/recover?since=1970-01-01T00:00`)
        const sent = yield* browser.post(form, `${path}/recover`, { since: "1970-01-01T00:00", ...fields })
        return sent.headers.get("location")
      })
    yield* publish("call")
    yield* attempt("timeout", "expired")
    const early = yield* browser.get(`${path}/recover?since=1970-01-01T00:00`)
    assert.include(early.text, "Send 1 delivery again")
    assert.notInclude(early.text, `name="late"`)
    yield* TestClock.adjust("45 seconds")
    const late = yield* browser.get(`${path}/recover?since=1970-01-01T00:00`)
    assert.include(late.text, "<b>0</b> deliveries")
    assert.match(late.text, /name="late" value="yes" required> <span>Also send .* like rings: 1</)
    assert.strictEqual(yield* recover(), `${path}?done=recovered&n=0`)
    yield* publish("access_log")
    yield* attempt("timeout", "exhausted")
    assert.strictEqual(yield* recover(), `${path}?done=recovered&n=1`)
    assert.strictEqual(yield* recover({ late: "yes" }), `${path}?done=recovered&n=1`)
  })

  onServer("may send sixty forms a minute", function* () {
    const { integration } = yield* published(0)
    const { browser, page } = yield* ownerSignedIn("admin")
    const pause = browser.post(page, `/portal/${integration}/status`, { status: "enabled" })
    for (let n = 0; n < 60; n++) assert.strictEqual((yield* pause).status, 303)
    assert.strictEqual((yield* pause).status, 429)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* pause).status, 303)
  })
})

describe("an owner's pages about signatures", () => {
  /** Submits the form for a new integration. */
  const createdBy = Effect.fnUntraced(function* (browser: Browser) {
    const form = yield* browser.get("/portal/new?place=building-1")
    const fields = { place: "building-1", key: valueIn(form, "key"), url: "https://own.example/hook" }
    return yield* browser.post(form, "/portal/new", { ...fields, binding: "access_log create" })
  })

  for (const signing of ["hmac", "both"] as const) {
    onServer(
      `show the secret and the code that uses it with signing: ${signing}`,
      function* () {
        const { browser } = yield* ownerSignedIn("admin")
        assert.match(secretIn((yield* createdBy(browser)).text), /^whsec_/)
        assert.include((yield* browser.get("/portal/1")).text, "New secret")
        const { text } = yield* browser.get("/portal/1/verify?in=python")
        assert.include(text, "with the integration&#39;s signing secret")
        assert.include(text, "v1,")
      },
      { delivery: { signing } }
    )
  }

  onServer(
    "show the service's public key and no secret with signing: ed25519",
    function* () {
      const { browser } = yield* ownerSignedIn("admin")
      const created = yield* createdBy(browser)
      assert.strictEqual(created.headers.get("location"), "/portal/1?done=created")
      const page = yield* browser.follow(created)
      assert.include(page.text, "Integration created.")
      const keys = yield* call("GET", "/v4/webhook_keys")
      const { text } = yield* browser.get("/portal/1/verify?in=python")
      const key = keys.textAt("/data/0/attributes/public_key")
      assert.match(key, /^whpk_/)
      assert.include(text, key)
      assert.match(text, /href="http:[^"]*\/v4\/webhook_keys"/)
      assert.include(text, "node:crypto")
      for (const shown of [page.text, text]) assert.notMatch(shown, /secret/i)
      const german = yield* browser.get("/portal/1/verify", inGerman)
      assert.include(german.text, "mit dem öffentlichen Schlüssel des Dienstes")
    },
    { delivery: { signing: "ed25519" } }
  )

  onServer(
    "say that requests are not signed with signing: off",
    function* () {
      const { browser } = yield* ownerSignedIn("admin")
      const page = yield* browser.follow(yield* createdBy(browser))
      const { text } = yield* browser.get("/portal/1/verify")
      assert.include(text, "This service does not sign its requests")
      assert.notInclude(text, "<pre")
      for (const shown of [page.text, text]) assert.notMatch(shown, /secret/i)
    },
    { delivery: { signing: "off" } }
  )
})
