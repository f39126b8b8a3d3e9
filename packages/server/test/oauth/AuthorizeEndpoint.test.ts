import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import {
  admin,
  authorizeC1,
  Browser,
  formOf,
  outOfBand,
  pkce,
  redirectUri,
  secretOfC1,
  startServer,
  withQuery,
  sharedServer
} from "./OAuthServer.ts"

const server = sharedServer()

const browser = () => new Browser(server.url)
const authorizeP1 = {
  client_id: "p1",
  redirect_uri: "http://127.0.0.1:8123/cb",
  response_type: "code",
  code_challenge: pkce.challenge,
  code_challenge_method: "S256"
}

type Answer = Awaited<ReturnType<Browser["request"]>>

/** Asserts the properties that every answer of the authorize step must have. */
const assertGuarded = ({ headers }: Answer) => {
  assert.strictEqual(headers.get("cache-control"), "no-store")
  assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
  assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  assert.isNull(headers.get("access-control-allow-origin"))
}

/** The status of an answer, which must be a page. */
const pageStatus = (answer: Answer): number => {
  assert.isNull(answer.headers.get("location"))
  assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
  assert.strictEqual(answer.headers.get("x-frame-options"), "DENY")
  assert.match(answer.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/)
  assertGuarded(answer)
  return answer.status
}

/** The query of a redirect. */
const redirectedWith = (answer: Answer, target = redirectUri) => {
  assert.strictEqual(answer.status, 303, answer.text)
  assertGuarded(answer)
  const location = new URL(answer.headers.get("location") ?? "")
  assert.strictEqual(location.href.split("?")[0], target)
  return Object.fromEntries(location.searchParams)
}

describe("the login page", () => {
  it("can't be framed, cached or named as a referrer", async () => {
    const headers = { origin: "https://evil.example" }
    const answer = await browser().request(withQuery("/oauth/authorize", authorizeC1), { headers })
    assert.strictEqual(pageStatus(answer), 200)
    assert.notMatch(answer.text, /<script|\bon\w+=|style="|https?:\/\/(?!client)/)
  })

  it("loads only its own style, and lets its form redirect anywhere, because clients may redirect further", async () => {
    const { text, headers } = await browser().authorize(authorizeC1)
    const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? ""
    const digest = createHash("sha256").update(style).digest("base64")
    assert.strictEqual(
      headers.get("content-security-policy"),
      `default-src 'none'; style-src 'sha256-${digest}'; frame-ancestors 'none'; base-uri 'none'`
    )
  })

  it("restricts its form less than an error page, which may only submit to this origin", async () => {
    const { headers } = await browser().authorize({ ...authorizeC1, client_id: "nobody" })
    assert.include(headers.get("content-security-policy"), "; form-action 'self';")
  })

  it("names the client, its request and the user's destination, all escaped", async () => {
    const { text } = await browser().authorize(authorizeC1)
    assert.include(text, "&lt;b&gt;Acme&lt;/b&gt; &amp; &quot;Sons&quot;")
    assert.notInclude(text, "<b>")
    assert.include(text, "client.example")
  })

  it("can be used with a password manager, a phone and a screen reader", async () => {
    const { text } = await browser().authorize(authorizeC1)
    assert.include(text, '<html lang="en">')
    assert.include(text, '<meta name="viewport" content="width=device-width, initial-scale=1">')
    assert.match(
      text,
      /<label for="login">[^]*<input id="login" name="login"[^>]* autocomplete="username"[^>]* required>/
    )
    assert.match(text, /<label for="password">[^]*<input id="password"[^>]* autocomplete="current-password" required>/)
    assert.lengthOf(text.match(/<form/g) ?? [], 1)
    assert.lengthOf(text.match(/<h1/g) ?? [], 1)
  })

  it("binds its form to a cookie that scripts can't read, and reuses the cookie for the next form", async () => {
    const visitor = browser()
    const first = await visitor.authorize(authorizeC1)
    assert.match(
      first.headers.get("set-cookie") ?? "",
      /^doorhook_login=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/
    )
    const second = await visitor.authorize(authorizeC1)
    assert.isNull(second.headers.get("set-cookie"))
    assert.strictEqual(formOf(second.text).fields["csrf_token"], formOf(first.text).fields["csrf_token"])
    assert.notInclude(second.text, [...visitor.cookies.values()].join())
  })

  it("answers HEAD without a body, and other methods with 405", async () => {
    assert.strictEqual((await browser().request("/oauth/authorize", { method: "HEAD" })).status, 400)
    const answer = await browser().request("/oauth/authorize", { method: "DELETE" })
    assert.strictEqual(answer.status, 405)
    assert.strictEqual(answer.headers.get("allow"), "GET, HEAD, POST")
    assert.include(JSON.parse(answer.text), { error: "invalid_request" })
  })
})

describe("requests that are refused before the user sees a form", () => {
  it.each([
    ["an unknown client", { ...authorizeC1, client_id: "nobody" }, 400],
    ["another redirect_uri", { ...authorizeC1, redirect_uri: `${redirectUri}/` }, 400],
    ["no redirect_uri of a client that is not out of band", { client_id: "c2", response_type: "code" }, 400],
    ["a wrong client_secret", { ...authorizeC1, client_secret: "wrong" }, 401],
    ["a bad scope out of band", { ...authorizeC1, redirect_uri: outOfBand, scope: "admin" }, 400]
  ])("get a page: %s", async (_, fields, status) => {
    const answer = await browser().authorize(fields)
    assert.strictEqual(pageStatus(answer), status)
    assert.notInclude(answer.text, "<form")
  })

  it("get an error page if the client is not identified", async () => {
    for (const again of ["client_id=c1", `redirect_uri=${encodeURIComponent(redirectUri)}`]) {
      assert.strictEqual(
        pageStatus(await browser().request(`${withQuery("/oauth/authorize", authorizeC1)}&${again}`)),
        400
      )
    }
  })

  it.each([
    ["another response_type", { response_type: "token" }, "unsupported_response_type"],
    ["an unknown scope", { scope: "admin" }, "invalid_scope"],
    ["a malformed challenge", { code_challenge: "short", code_challenge_method: "S256" }, "invalid_request"]
  ])("go back to the client: %s", async (_, fields, error) => {
    const answer = redirectedWith(await browser().authorize({ ...authorizeC1, ...fields, state: "s" }))
    assert.include(answer, { error, state: "s", iss: server.url })
  })
})

describe("a client_secret in the query", () => {
  it("is checked, and removed before a page is shown", async () => {
    const visitor = browser()
    const fields = { ...authorizeC1, client_secret: secretOfC1, state: "s s", foo: "1" }
    const answer = await visitor.authorize(fields)
    assert.strictEqual(answer.status, 303)
    assertGuarded(answer)
    const clean = answer.headers.get("location") ?? ""
    assert.strictEqual(
      clean,
      "/oauth/authorize?client_id=c1&redirect_uri=https%3A%2F%2Fclient.example%2Fcb&response_type=code&state=s%20s"
    )
    const page = await visitor.request(clean)
    const done = await visitor.submit(formOf(page.text), admin)
    assert.include(redirectedWith(done), { state: "s s", iss: server.url })
    for (const { text, headers } of [answer, page, done]) {
      assert.notInclude(text + JSON.stringify([...headers]), secretOfC1)
    }
  })

  it("is in no answer, even if the secret or another parameter is wrong", async () => {
    for (const fields of [
      { ...authorizeC1, client_secret: "wrong-secret" },
      { ...authorizeC1, client_secret: secretOfC1, scope: "admin" },
      { ...authorizeC1, client_secret: secretOfC1, redirect_uri: "https://evil.example/" }
    ]) {
      const { text, headers } = await browser().authorize(fields)
      assert.notInclude(text + JSON.stringify([...headers]), fields.client_secret)
    }
  })
})

describe("logging in", () => {
  it("redirects the browser with a code, the unchanged state, and the issuer", async () => {
    const state = "a b+c&d=%25é\"'<>"
    const visitor = browser()
    const page = await visitor.authorize({ ...authorizeC1, state, foo: "1", prompt: "login" })
    const answer = redirectedWith(await visitor.submit(formOf(page.text), admin))
    assert.match(answer["code"] ?? "", /^dh_ac_[A-Za-z0-9_-]{43}$/)
    assert.deepStrictEqual({ ...answer, code: "" }, { code: "", state, iss: server.url })
  })

  it.each(["a%00b", "a%0Ab", "a%0D%0Ab", "%09", "%7F", "%FF", "%ED%A0%80", "a%C3"])(
    "refuses a state that can't be returned unchanged: %s",
    async (state) => {
      const answer = await browser().request(`${withQuery("/oauth/authorize", authorizeC1)}&state=${state}`)
      const { error_description, ...rest } = redirectedWith(answer)
      assert.deepStrictEqual(rest, { error: "invalid_request", iss: server.url })
      assert.match(error_description ?? "", /^The state has control characters/)
    }
  )

  it("sends no state if there was none", async () => {
    const location = await browser().logIn({ ...authorizeC1, state: "" })
    assert.deepStrictEqual([...location.searchParams.keys()], ["code", "iss"])
  })

  it("keeps the query of a loopback redirect URI", async () => {
    const location = await browser().logIn(authorizeP1)
    assert.strictEqual(location.host, "127.0.0.1:8123")
  })

  it("shows an out-of-band code on a page, and not in a URL", async () => {
    const visitor = browser()
    const page = await visitor.authorize({ client_id: "c1", response_type: "code" })
    const answer = await visitor.submit(formOf(page.text), admin)
    assert.strictEqual(pageStatus(answer), 200)
    assert.match(answer.text, /<code id="authorization_code">dh_ac_[A-Za-z0-9_-]{43}<\/code>/)
  })

  it("gives the same answer to an unknown login and a wrong password, and repeats the login but not the password", async () => {
    const visitor = browser()
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    const wrong = await visitor.submit(form, { login: admin.login, password: "hunter2" })
    const unknown = await visitor.submit(form, { login: "nobody@example.com", password: "hunter2" })
    assert.strictEqual(pageStatus(wrong), 403)
    assert.strictEqual(pageStatus(unknown), 403)
    assert.strictEqual(wrong.text.replace(admin.login, "LOGIN"), unknown.text.replace("nobody@example.com", "LOGIN"))
    assert.include(wrong.text, 'role="alert"')
    assert.include(wrong.text, 'aria-describedby="problem"')
    assert.include(wrong.text, "<title>Error: ")
    assert.notInclude(wrong.text, "hunter2")
    // The form on the error page can be submitted again.
    assert.property(redirectedWith(await visitor.submit(formOf(wrong.text), admin)), "code")
  })

  it("escapes what was entered", async () => {
    const visitor = browser()
    const form = formOf((await visitor.authorize({ ...authorizeC1, state: '"><script>1</script>' })).text)
    const answer = await visitor.submit(form, { login: '"><script>2</script>', password: "x" })
    assert.notInclude(answer.text, "<script")
    assert.include(formOf(answer.text).fields, { state: '"><script>1</script>', login: '"><script>2</script>' })
  })

  it("can be denied: the client gets the error, or a page shows it if there is no redirect", async () => {
    const visitor = browser()
    const form = formOf((await visitor.authorize({ ...authorizeC1, state: "s" })).text)
    const answer = redirectedWith(await visitor.submit(form, { decision: "deny" }))
    assert.include(answer, { error: "access_denied", state: "s", iss: server.url })
    const shown = formOf((await visitor.authorize({ client_id: "c1", response_type: "code" })).text)
    assert.strictEqual(pageStatus(await visitor.submit(shown, { decision: "deny" })), 400)
  })

  it("checks the form's parameters again", async () => {
    const visitor = browser()
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    assert.strictEqual(pageStatus(await visitor.submit(form, { ...admin, redirect_uri: "https://evil.example/" })), 400)
    assert.strictEqual(pageStatus(await visitor.submit(form, { ...admin, client_id: "nobody" })), 400)
  })

  it("reads nothing from the query of the form's address", async () => {
    const visitor = browser()
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    const answer = await visitor.submit({ ...form, action: `${form.action}?state=evil&client_id=c2` }, admin)
    assert.notProperty(redirectedWith(answer), "state")
  })
})

describe("the form's token", () => {
  it.each([
    ["missing", { csrf_token: "" }],
    ["wrong", { csrf_token: "x".repeat(43) }]
  ])("is required: %s", async (_, fields) => {
    const visitor = browser()
    const answer = await visitor.submit(formOf((await visitor.authorize(authorizeC1)).text), { ...admin, ...fields })
    assert.strictEqual(pageStatus(answer), 403)
    // A user whose cookie was lost can continue from this page.
    assert.property(redirectedWith(await visitor.submit(formOf(answer.text), admin)), "code")
  })

  it("is valid only in the browser that it was made for", async () => {
    const form = formOf((await browser().authorize(authorizeC1)).text)
    assert.strictEqual(pageStatus(await browser().submit(form, admin)), 403)
    const attacked = browser()
    await attacked.authorize(authorizeC1)
    assert.strictEqual(pageStatus(await attacked.submit(form, admin)), 403)
  })

  it("prevents denials and password checks if it is wrong", async () => {
    const visitor = browser()
    await visitor.authorize(authorizeC1)
    assert.strictEqual(
      pageStatus(await visitor.submit({ action: "/oauth/authorize", fields: authorizeC1 }, { decision: "deny" })),
      403
    )
    assert.strictEqual(pageStatus(await visitor.submit({ action: "/oauth/authorize", fields: {} }, admin)), 403)
  })
})

describe("guessing passwords", () => {
  it("is slowed down after ten failures, only for that account", async () => {
    const own = await startServer()
    const visitor = new Browser(own.url)
    const form = formOf((await visitor.authorize(authorizeC1)).text)
    for (let failure = 1; failure <= 10; failure++) {
      assert.strictEqual(pageStatus(await visitor.submit(form, { ...admin, password: `wrong ${failure}` })), 403)
    }
    const answer = await visitor.submit(form, admin)
    assert.strictEqual(pageStatus(answer), 429)
    assert.match(answer.headers.get("retry-after") ?? "", /^(?:900|89\d)$/)
    assert.property(
      redirectedWith(await visitor.submit(form, { login: "tenant@example.com", password: "battery staple" })),
      "code"
    )
  })
})

describe("behind a public https address with a path", () => {
  it("sends its form there, with a cookie that no other host can set", async () => {
    const own = await startServer({ publicUrl: "https://doors.example/access/" })
    const visitor = new Browser(own.url)
    const page = await visitor.authorize(authorizeC1)
    assert.match(
      page.headers.get("set-cookie") ?? "",
      /^__Host-doorhook_login=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/
    )
    const form = formOf(page.text)
    assert.strictEqual(form.action, "/access/oauth/authorize")
    const answer = await visitor.submit({ ...form, action: "/oauth/authorize" }, admin)
    assert.include(redirectedWith(answer), { iss: "https://doors.example/access" })
  })
})
