/**
 * Tests the login at the host, which replaces doorhook's login form, and attacks on this login.
 */
import { DirectoryError, UserId } from "@doorhook/core"
import type { SessionAnswer, SessionRequest } from "@doorhook/core"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { createHash, createHmac } from "node:crypto"
import {
  admin,
  authorizeC1,
  Browser,
  exchangeOf,
  formOf,
  multipart,
  outOfBand,
  post,
  redirectUri,
  secretOfC1,
  withQuery,
  sharedServer
} from "./OAuthServer.ts"

/** The host's answer for each value of its session cookie. */
const sessions: Readonly<Record<string, SessionAnswer>> = {
  alice: { id: UserId.make(admin.login), name: "Alice <admin>" },
  bob: { id: UserId.make("tenant@example.com") },
  none: { login_url: "https://id.example/login?theme=dark" },
  path: { login_url: "/sign-in" },
  script: { login_url: "javascript:alert(1)" },
  nowhere: { login_url: "https://id.example:port/?key=hunter2" },
  form: null
}

const asked: Array<SessionRequest> = []
const lines: Array<string> = []

const server = sharedServer({
  around: Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]),
  session: (request) => {
    asked.push(request)
    const name = /host_session=(\w+)/.exec(request.headers["cookie"] ?? "")?.[1] ?? "none"
    return name === "broken"
      ? Effect.fail(new DirectoryError({ operation: "session", cause: new Error("the session store is away") }))
      : Effect.succeed(sessions[name] ?? null)
  }
})
beforeEach(() => [asked, lines].forEach((seen) => seen.splice(0)))

/** A browser with a logged-in session at the host. */
const browserOf = (session: string) => {
  const visitor = new Browser(server.url)
  visitor.cookies.set("host_session", session)
  return visitor
}

type Answer = Awaited<ReturnType<Browser["request"]>>

const queryOf = ({ headers, status, text }: Answer) => {
  assert.strictEqual(status, 303, text)
  const location = new URL(headers.get("location") ?? "")
  assert.strictEqual(location.href.split("?")[0], redirectUri)
  return Object.fromEntries(location.searchParams)
}

/** Exchanges a code and returns its user. */
const userOf = async (code: string) => {
  const { textAt } = await post(`${server.url}/oauth/token`, multipart(exchangeOf(code)))
  const body = multipart({ client_id: "c1", client_secret: secretOfC1, token: textAt("access_token") })
  return (await post(`${server.url}/oauth/introspect`, body)).textAt("sub")
}

const allow = { decision: "allow" }

describe("a user who is logged in at the host", () => {
  it("is asked only for consent, on a page that names client and user, and returns with a code", async () => {
    const visitor = browserOf("alice")
    const page = await visitor.authorize({ ...authorizeC1, state: "s" })
    assert.strictEqual(page.status, 200)
    assert.include(page.text, "Alice &lt;admin&gt;")
    assert.include(page.text, "&lt;b&gt;Acme&lt;/b&gt;")
    assert.notMatch(page.text, /type="password"|name="login"|<script/)
    const { code = "", ...rest } = queryOf(await visitor.submit(formOf(page.text), allow))
    assert.deepStrictEqual(rest, { state: "s", iss: server.url })
    assert.strictEqual(await userOf(code), admin.login)
  })

  it("may deny", async () => {
    const visitor = browserOf("alice")
    const answer = await visitor.submit(formOf((await visitor.authorize(authorizeC1)).text), { decision: "deny" })
    assert.include(queryOf(answer), { error: "access_denied" })
  })

  it("has allowed nothing before pressing a button", async () => {
    const visitor = browserOf("alice")
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    for (const decision of ["", "Allow", "yes"]) {
      const answer = await visitor.submit(form, { decision })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [400, null])
      assert.include(queryOf(await visitor.submit(formOf(answer.text), allow)), { iss: server.url })
    }
  })

  it("sees the code if there is no redirect", async () => {
    const visitor = browserOf("alice")
    const page = await visitor.authorize({ ...authorizeC1, redirect_uri: outOfBand })
    assert.match((await visitor.submit(formOf(page.text), allow)).text, /<code id="authorization_code">dh_ac_/)
  })

  it("is asked on a page that can't be framed or cached, and loads nothing", async () => {
    const { headers } = await browserOf("alice").authorize(authorizeC1)
    assert.strictEqual(headers.get("x-frame-options"), "DENY")
    assert.match(
      headers.get("content-security-policy") ?? "",
      /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'; base-uri 'none'$/
    )
    assert.strictEqual(headers.get("cache-control"), "no-store")
    assert.isNull(headers.get("access-control-allow-origin"))
  })

  it("is not asked about an invalid request, and neither is the host", async () => {
    const answer = await browserOf("alice").authorize({ ...authorizeC1, redirect_uri: "https://evil.example/" })
    assert.deepStrictEqual([answer.status, answer.headers.get("location"), asked], [400, null, []])
  })
})

describe("consent can't be forged", () => {
  it("by a form of another site, which has no token", async () => {
    const victim = browserOf("alice")
    await victim.authorize(authorizeC1)
    const forged = { action: "/oauth/authorize", fields: authorizeC1 }
    const answer = await victim.submit(forged, allow)
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
  })

  it("with the token of the attacker's own browser", async () => {
    const attacker = browserOf("bob")
    const form = formOf((await attacker.authorize(authorizeC1)).text)
    const victim = browserOf("alice")
    await victim.authorize(authorizeC1)
    assert.strictEqual((await victim.submit(form, allow)).status, 403)
  })

  it("with a cookie that the attacker has planted: the token is bound to the user too", async () => {
    const attacker = browserOf("bob")
    const form = formOf((await attacker.authorize(authorizeC1)).text)
    const victim = browserOf("alice")
    victim.cookies.set("doorhook_login", attacker.cookies.get("doorhook_login") ?? "")
    const answer = await victim.submit(form, allow)
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
  })

  it("with a planted cookie and a token that was computed from it and from the user", async () => {
    const planted = "A".repeat(43)
    const digest = (text: string) => createHash("sha256").update(text).digest("base64url")
    const mac = (key: string, text: string) => createHmac("sha256", key).update(text).digest("base64url")
    const computed = [
      digest(`csrf_token ${planted} ${admin.login}`),
      digest(`authorize form ${planted} ${admin.login}`),
      mac("", `doorhook authorize form ${planted} ${admin.login}`),
      mac(planted, `doorhook authorize form ${planted} ${admin.login}`)
    ]
    for (const csrf_token of computed) {
      const victim = browserOf("alice")
      victim.cookies.set("doorhook_login", planted)
      const forged = { action: "/oauth/authorize", fields: { ...authorizeC1, csrf_token } }
      const answer = await victim.submit(forged, allow)
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
    }
  })

  it("by a page that the browser marks as cross-site", async () => {
    const victim = browserOf("alice")
    const { action, fields } = formOf((await victim.authorize(authorizeC1)).text)
    const submit = (site: string) =>
      victim.request(action, {
        method: "POST",
        headers: { "sec-fetch-site": site },
        body: new URLSearchParams({ ...fields, ...allow })
      })
    for (const site of ["cross-site", "same-site", "none"]) assert.strictEqual((await submit(site)).status, 403, site)
    assert.property(queryOf(await submit("same-origin")), "code")
  })

  it("by a link: GET gives no code", async () => {
    const victim = browserOf("alice")
    const { fields } = formOf((await victim.authorize(authorizeC1)).text)
    const answer = await victim.authorize({ ...fields, ...allow })
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [200, null])
  })
})

describe("a session that changes while the page is open", () => {
  it("requires new consent: one user's page is not another user's consent", async () => {
    const visitor = browserOf("alice")
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    visitor.cookies.set("host_session", "bob")
    const answer = await visitor.submit(form, allow)
    assert.strictEqual(answer.status, 403)
    assert.include(answer.text, "tenant@example.com")
    const { code = "" } = queryOf(await visitor.submit(formOf(answer.text), allow))
    assert.strictEqual(await userOf(code), "tenant@example.com")
  })

  it("grants nothing if it has ended, and a link leads to the login", async () => {
    const visitor = browserOf("alice")
    const form = formOf((await visitor.authorize({ ...authorizeC1, state: "s" })).text)
    visitor.cookies.set("host_session", "none")
    const answer = await visitor.submit(form, allow)
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
    const href = /<a href="([^"]+)">/.exec(answer.text)?.[1]?.replaceAll("&amp;", "&") ?? ""
    assert.strictEqual(href, withQuery(`${server.url}/oauth/authorize`, { ...sorted(authorizeC1), state: "s" }))
  })

  it("mixes no accounts: a password form is not valid for a session, nor a session's form for a password", async () => {
    const visitor = browserOf("form")
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    visitor.cookies.set("host_session", "bob")
    const answer = await visitor.submit(form, { ...admin, ...allow })
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
    const consent = formOf(answer.text)
    visitor.cookies.set("host_session", "form")
    assert.strictEqual((await visitor.submit(consent, allow)).status, 403)
  })
})

/** Returns the parameters in the order that the return URL has. */
const sorted = ({ client_id, redirect_uri, response_type }: Readonly<Record<string, string>>) => ({
  client_id: client_id ?? "",
  redirect_uri: redirect_uri ?? "",
  response_type: response_type ?? ""
})

describe("a user who is not logged in at the host", () => {
  it("is redirected to the host with a return URL, and returns to the consent page", async () => {
    const visitor = browserOf("none")
    const answer = await visitor.authorize({ ...authorizeC1, state: "a b&c" })
    assert.strictEqual(answer.status, 303)
    const login = new URL(answer.headers.get("location") ?? "")
    assert.deepStrictEqual(
      [login.origin + login.pathname, login.searchParams.get("theme")],
      ["https://id.example/login", "dark"]
    )
    const back = login.searchParams.get("return_to") ?? ""
    const expected = withQuery(`${server.url}/oauth/authorize`, { ...sorted(authorizeC1), state: "a b&c" })
    assert.strictEqual(back, expected.replaceAll("+", "%20"))
    assert.strictEqual(answer.headers.get("referrer-policy"), "no-referrer")
    visitor.cookies.set("host_session", "alice")
    const page = await visitor.request(back)
    assert.include(queryOf(await visitor.submit(formOf(page.text), allow)), { state: "a b&c" })
  })

  it("returns only to the service, whatever the request says, and never with a secret", async () => {
    const visitor = browserOf("none")
    const fields = { ...authorizeC1, return_to: "https://evil.example/", login_url: "https://evil.example/" }
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https", forwarded: "host=evil.example" }
    const answer = await visitor.request(withQuery("/oauth/authorize", fields), { headers })
    const login = new URL(answer.headers.get("location") ?? "")
    assert.strictEqual(login.host, "id.example")
    assert.deepStrictEqual(login.searchParams.getAll("return_to"), [
      withQuery(`${server.url}/oauth/authorize`, sorted(authorizeC1))
    ])
    const withSecret = await visitor.authorize({ ...authorizeC1, client_secret: secretOfC1 })
    assert.match(withSecret.headers.get("location") ?? "", /^\/oauth\/authorize\?/)
    for (const { headers: seen, url } of asked) {
      assert.notInclude(url, secretOfC1)
      assert.include(seen["cookie"], "host_session=none")
    }
  })

  it("may be sent to a path of the same site", async () => {
    const answer = await browserOf("path").authorize(authorizeC1)
    assert.match(answer.headers.get("location") ?? "", new RegExp(`^${server.url}/sign-in\\?return_to=`))
  })

  it("is not redirected to an invalid address, and gets 503 while the host does not answer", async () => {
    const flaw = "The directory's `session` must return a `login_url` that is an http or https URL or a path, not"
    for (const [session, said] of [
      ["script", `${flaw} one that begins with \`javascript:\`.`],
      ["nowhere", `${flaw} another text.`],
      ["broken", "It said: the session store is away"]
    ] as const) {
      const answer = await browserOf(session).authorize(authorizeC1)
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [503, null])
      assert.notMatch(answer.text, /javascript|session store/)
      assert.isTrue(lines.at(-1)?.endsWith(said), lines.at(-1))
    }
    assert.notMatch(lines.join(), /alert|hunter2/)
  })

  it("logs in with login and password if the host says so", async () => {
    const visitor = browserOf("form")
    const page = await visitor.authorize(authorizeC1)
    assert.include(page.text, 'type="password"')
    assert.property(queryOf(await visitor.submit(formOf(page.text), admin)), "code")
  })
})

describe("an owner who is not logged in at the host", () => {
  const loginOf = ({ headers }: Answer) => new URL(headers.get("location") ?? "")

  it("is redirected to the host from any page, and returns to that page with its query", async () => {
    for (const path of ["/portal", "/portal/new?place=building-1", "/portal/5/verify?in=go", "/portal/5?state=a%26b"]) {
      const login = loginOf(await browserOf("none").request(path))
      assert.strictEqual(login.host, "id.example")
      assert.strictEqual(login.searchParams.get("return_to"), `${server.url}${path}`)
    }
  })

  it("is not redirected by a refresh of the script, which can't follow a redirect to another site", async () => {
    const answer = await browserOf("none").request("/portal/5?in=go", { headers: { "sec-fetch-dest": "empty" } })
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null])
    assert.include(answer.text, `href="/portal/5?in=go"`)
  })

  it("gets a page that says that a submitted form had no effect, with a link to the nearest page", async () => {
    for (const [path, page] of [
      ["/portal/5/status", "/portal/5"],
      ["/portal/5/deliveries/resend", "/portal/5"],
      ["/portal/5/edit", "/portal/5/edit"],
      ["/portal/new", "/portal/new"],
      ["/portal/sign-out", "/portal"]
    ] as const) {
      const answer = await browserOf("none").submit({ action: path, fields: {} }, {})
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [403, null], path)
      assert.include(answer.text, "Nothing was changed.")
      const [, href = ""] = /<a href="([^"]+)">/.exec(answer.text) ?? []
      assert.strictEqual(href, page)
      const login = loginOf(await browserOf("none").request(href))
      assert.strictEqual(login.searchParams.get("return_to"), `${server.url}${page}`)
    }
  })
})
