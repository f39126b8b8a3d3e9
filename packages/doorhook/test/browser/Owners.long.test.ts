/**
 * Owners' pages in Chromium, opened through a link, a login, or the host's login, with and without JavaScript.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { Page } from "playwright-core"
import { listening } from "@doorhook/testkit/ListeningServer"
import { authorizeUrl, codeIn, exchange, readTokens, requestTokens } from "../harness/CodeGrant.ts"
import { client, start } from "../harness/Embedded.ts"
import { logIn } from "../harness/LoginForm.ts"
import { shared } from "../harness/Shared.ts"
import { sample } from "@doorhook/testkit/Sample"
import { accessibilityProblems } from "./Accessibility.ts"
import { owner } from "./PageStage.ts"
import {
  button,
  confirm,
  cutNavigation,
  heading,
  link,
  openMenu,
  problemsOfAllParts,
  sharedPageStage
} from "./SharedPages.ts"
import { openSites } from "./Sites.ts"
import { hasBrowser, looks, openVisitors } from "./Visitors.ts"

const stage = sharedPageStage()

const tests = (path: string) =>
  stage()
    .bodiesAt(path)
    .filter((body) => body.includes('"test":true'))

const signIn = async (page: Page, login: string = owner.login) => {
  await page.goto(`${stage().url}/portal`)
  await page.getByLabel("Login").fill(login)
  await page.getByLabel("Password").fill(owner.password)
  await button(page, "Sign in").click()
  await heading(page, "Your webhooks")
  if (login !== owner.login) return
  await page.getByRole("heading", { level: 2, name: "North Tower" }).waitFor()
}

describe.skipIf(!hasBrowser)("the holder of a link", () => {
  it("sends a test and sees that it arrived, without JavaScript and without a trace of the link", async () => {
    const { doorhook, good, visitors } = stage()
    const { addresses, complaints, context, page } = await visitors.page({ javaScriptEnabled: false })
    const { expires_at, url } = await doorhook.portalLink(good)
    const minutes = (Date.parse(expires_at) - Date.now()) / 60_000
    assert.isTrue(minutes > 14 && minutes <= 15, expires_at)
    await page.goto(url)
    assert.strictEqual(page.url(), `${stage().url}/portal/${good}`)
    const rows = await page.getByRole("row").count()
    await confirm(page, "Send test event")
    await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
    assert.match(page.url(), /\/portal\/\d+\/deliveries\/dlv_\d+$/)
    assert.include(await page.locator("#body").innerText(), '"test": true')
    const [sent = "", ...more] = tests("/good")
    assert.strictEqual(more.length, 0)
    assert.strictEqual(tests("/broken").length, 0)
    const event: unknown = JSON.parse(sent)
    assert.nestedPropertyVal(event, "event.resource_type", "access_log")
    await link(page, "All deliveries").click()
    assert.strictEqual(await page.getByRole("row").count(), rows + 1)

    assert.deepStrictEqual(complaints, [])
    assert.deepStrictEqual([...new Set(addresses.map((address) => new URL(address).origin))], [stage().url])
    assert.deepStrictEqual(
      addresses.filter((address) => address.includes("dh_pl_")),
      [url]
    )
    const cookies = await context.cookies()
    assert.deepStrictEqual(
      cookies.map(({ httpOnly, name, sameSite }) => ({ httpOnly, name, sameSite })),
      [
        { httpOnly: true, name: `doorhook_portal_${good}`, sameSite: "Lax" },
        { httpOnly: true, name: "doorhook_login", sameSite: "Lax" }
      ]
    )
  })

  it("sees that the link has expired, on an open page and when opening the link", async () => {
    const { doorhook, good, visitors } = stage()
    const { page } = await visitors.page({ javaScriptEnabled: false })
    // Doubles the link's lifetime until the page can be opened in time on this machine.
    const title = page.getByRole("heading", { level: 1 })
    let url = ""
    for (let seconds = 1; !(await page.locator("h1").allInnerTexts())[0]?.startsWith("127.0.0.1"); seconds *= 2) {
      url = (await doorhook.portalLink(good, { expiresIn: `${seconds}s` })).url
      await page.goto(url)
    }
    while ((await page.reload())?.status() !== 403) await page.waitForLoadState()
    // Either the browser has deleted the expired cookie, or the service refuses it.
    assert.match(await title.innerText(), /^(?:This link has expired|Your webhooks)$/)
    await page.goto(url)
    assert.strictEqual(await title.innerText(), "This link has expired")
  })
})

describe.skipIf(!hasBrowser)("an owner who logs in", () => {
  it.each([true, false])(
    "adds, tests, edits and pauses an integration, rotates its secret and deletes it; with JavaScript: %s",
    async (javaScriptEnabled) => {
      const { doorhook, visitors } = stage()
      const { addresses, complaints, page } = await visitors.page({ javaScriptEnabled })
      await signIn(page)
      await page.getByRole("region", { name: "North Tower" }).getByRole("link", { name: "New integration" }).click()
      await heading(page, "New integration")
      const receiver = (await doorhook.integrations.show(stage().good)).url.split("?")[0] ?? ""
      await page.getByLabel("Receiver URL").fill("ftp://receiver.example/hook")
      await button(page, "Create").click()
      await page.getByText("The URL must begin with", { exact: false }).waitFor()
      await page.getByText("Choose at least one event.").waitFor()
      assert.strictEqual(await page.evaluate("document.activeElement.id"), "url")
      await page.getByRole("checkbox", { name: /^Access log/ }).check()
      await page.getByLabel("Name", { exact: true }).fill("Lobby display")
      await page.getByLabel("Receiver URL").fill(receiver)
      await button(page, "Create").click()
      await heading(page, "Integration created")
      const secret = await page.locator("#secret").innerText()
      assert.match(secret, /^whsec_/)
      await link(page, "I have copied it").click()
      await heading(page, "Lobby display")
      const id = /\d+$/.exec(new URL(page.url()).pathname)?.[0] ?? ""

      await confirm(page, "Send test event")
      await page.getByText("The receiver acknowledged with 200", { exact: false }).first().waitFor()
      await link(page, "All deliveries").click()
      await openMenu(page)
      await link(page, "Edit").click()
      await page.getByRole("checkbox", { name: /^Call/ }).check()
      await button(page, "Save").click()
      await page.getByText("Saved.").waitFor()
      assert.deepStrictEqual(
        (await doorhook.integrations.show(id)).bindings.map(({ resource_type }) => resource_type),
        ["call", "access_log"]
      )
      await confirm(page, "Pause")
      await page.getByText("This integration was disabled by hand.", { exact: false }).waitFor()
      await confirm(page, "Enable")
      await page.getByText("Integration enabled.").waitFor()
      await confirm(page, "New secret")
      await heading(page, "New secret created")
      const newSecret = await page.locator("#secret").innerText()
      assert.notStrictEqual(newSecret, secret)
      await page.reload()
      await heading(page, "The secret is shown only once")
      assert.notMatch(await page.locator("body").innerText(), /whsec_|version/i)
      await link(page, "Back to the integration").click()
      await openMenu(page)
      await link(page, "Verify signatures").click()
      await link(page, "Python").click()
      await page.getByText("def is_genuine", { exact: false }).waitFor()
      await link(page, "Back to the integration").click()
      await confirm(page, "Delete", "Delete Lobby display")
      await page.getByText("Integration deleted.").waitFor()
      await button(page, "Sign out").click()
      await page.getByLabel("Password").waitFor()

      // Chromium logs the answers to the refused form and to the reloaded one as errors, which is expected.
      assert.deepStrictEqual(
        complaints.filter((text) => !/422|412/.test(text)),
        []
      )
      for (const address of addresses) assert.notMatch(address, /whsec_|right/)
    }
  )

  it("needs no mouse", async () => {
    const { good, visitors } = stage()
    const { page } = await visitors.page()
    await signIn(page)
    await page.goto(`${stage().url}/portal/${good}`)
    await button(page, "Send test event").focus()
    assert.strictEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.waitForURL(/deliveries\/dlv_/)
  })
})

/**
 * Starts a host with its own login: `/login` logs in any visitor and redirects back. Visitors whose cookie `login` names
 * another page are sent to that page instead. `/form` is a login page of the host, and `away` is on another site.
 */
const openHost = Effect.gen(function* () {
  const server = createServer()
  const { url } = yield* listening(server)
  const site = yield* openSites
  const loginForm = '<!doctype html><html lang="en"><title>Log in</title><main><h1>Log in to the host</h1></main>'
  const away = yield* Effect.promise(() => site(loginForm))
  const doorhook = yield* start({
    publicUrl: url,
    signing: "ed25519",
    directory: {
      client: () => null,
      authenticate: () => null,
      session: ({ headers: { cookie = "" } }) => {
        if (cookie.includes("host_session=u1")) return { id: "u1", name: "Ada" }
        return { login_url: cookie.includes("login=away") ? away : cookie.includes("login=form") ? "/form" : "/login" }
      },
      administers: (user, building) => user === "u1" && building === 1,
      isTenant: () => false,
      buildings: () => [{ id: 1, name: "South <Tower>", time_zone: "Europe/Berlin", access_points: [] }],
      tenants: () => []
    }
  })
  server.on("request", (request, response) => {
    const target = new URL(request.url ?? "/", url)
    switch (target.pathname) {
      case "/login": {
        const location = target.searchParams.get("return_to") ?? "/"
        response.writeHead(303, { "set-cookie": "host_session=u1; Path=/; HttpOnly; SameSite=Lax", location })
        return response.end()
      }
      case "/form":
        return response.setHeader("content-type", "text/html").end(loginForm)
      default:
        // Browsers omit the header on a site without https, except on this machine.
        if (request.headers.cookie?.includes("insecure=yes") === true) delete request.headers["sec-fetch-dest"]
        return doorhook.node(request, response)
    }
  })
  return { ...(yield* openVisitors), url }
})

describe.skipIf(!hasBrowser)("an owner whom the host has logged in", () => {
  const host = shared(openHost, hasBrowser)
  afterEach(() => (hasBrowser ? host().closePages() : undefined))

  it("is redirected to the host's login and back, sees the public key, and is signed out with the host's session", async () => {
    const { url } = host()
    const { context, page } = await host().page()
    await page.goto(`${url}/portal`)
    await page.getByRole("heading", { level: 2, name: "South <Tower>" }).waitFor()
    assert.strictEqual(await button(page, "Sign out").count(), 0)
    assert.deepStrictEqual((await context.cookies()).map(({ name }) => name).toSorted(), [
      "doorhook_login",
      "doorhook_zone",
      "host_session"
    ])
    await link(page, "New integration").first().click()
    await page.getByLabel("Receiver URL").fill("https://receiver.example/hook")
    await page.getByRole("checkbox", { name: /^Access log/ }).check()
    await button(page, "Create").click()
    await page.getByText("Integration created.").waitFor()
    assert.strictEqual(await page.getByText("New secret").count(), 0)
    await openMenu(page)
    await link(page, "Verify signatures").click()
    await page
      .getByRole("region", { name: "Public key" })
      .getByText(/^whpk_/)
      .waitFor()
    assert.deepStrictEqual(await accessibilityProblems(page), [])
    await context.clearCookies({ name: "host_session" })
    await page.goto(`${url}/portal/new`)
    assert.strictEqual(page.url(), `${url}/portal/new`)
    assert.include(
      (await context.cookies()).map(({ name }) => name),
      "host_session"
    )
  })

  it("whose session ends while a form is open sees that nothing was changed, and returns to the form", async () => {
    const { url } = host()
    const { context, page } = await host().page()
    await page.goto(`${url}/portal/new?place=building-1`)
    await page.getByLabel("Receiver URL").fill("https://late.example/hook")
    await context.clearCookies({ name: "host_session" })
    await button(page, "Create").click()
    await page.getByRole("alert").getByText("Nothing was changed.", { exact: false }).waitFor()
    assert.deepStrictEqual(await accessibilityProblems(page), [])
    await link(page, "Log in and continue").click()
    await heading(page, "New integration")
    await page.goto(`${url}/portal`)
    assert.strictEqual(await page.getByText("late.example").count(), 0)
  })

  it.each([
    ["of the same site", { login: "form" }],
    ["of the same site, without https", { login: "form", insecure: "yes" }],
    ["of another site", { login: "away" }]
  ])("whose session ends sees the login page %s instead of an outdated page", async (_, cookies) => {
    const { url } = host()
    const { context, page } = await host().page()
    await page.clock.install()
    await page.goto(`${url}/portal`)
    await heading(page, "Your webhooks")
    await context.clearCookies({ name: "host_session" })
    await context.addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, url })))
    await page.clock.fastForward("00:11")
    await heading(page, "Log in to the host")
    assert.strictEqual(await page.getByRole("navigation").count(), 0)
  })
})

describe.skipIf(!hasBrowser)("a user who granted access to an application", () => {
  it.each([true, false])(
    "sees its name, id, scopes and last use, and ends it; the tokens are refused afterwards; with JavaScript: %s",
    async (javaScriptEnabled) => {
      const { url, visitors } = stage()
      const user = javaScriptEnabled ? "resident" : "neighbour"
      const answer = await logIn(authorizeUrl(url, client), user, owner.password)
      const tokens = await readTokens(await exchange(url, client, codeIn(answer)))
      const refresh = () =>
        requestTokens(url, { ...client, grant_type: "refresh_token", refresh_token: tokens.refresh_token })
      const read = async (token: string) =>
        (await fetch(`${url}/v4/buildings/1/integrations`, { headers: { authorization: `Bearer ${token}` } })).status
      const refreshed = await refresh()
      // The user has no building, so a valid token finds nothing.
      assert.deepStrictEqual([await read(tokens.access_token), await read(refreshed.access_token)], [404, 404])

      const { complaints, page } = await visitors.page({ javaScriptEnabled })
      await signIn(page, user)
      await link(page, "Applications with access").click()
      await heading(page, "Applications with access")
      const rows = page.getByRole("row").filter({ hasText: client.client_id })
      assert.strictEqual(await rows.count(), 1)
      const cells = await rows.getByRole("cell").allInnerTexts()
      assert.deepStrictEqual(cells.slice(0, 3), ["Acme", client.client_id, "public"])
      assert.match(cells[4] ?? "", /ago|now/)
      if (javaScriptEnabled) assert.deepStrictEqual(await problemsOfAllParts(page), [])

      await confirm(page, "Revoke", "Revoke: Acme")
      await page.getByText("Grants revoked: 1").waitFor()
      assert.strictEqual(await rows.count(), 0)
      assert.deepStrictEqual([await read(tokens.access_token), await read(refreshed.access_token)], [401, 401])
      assert.include(await refresh(), { status: 400, error: "invalid_grant" })
      assert.deepStrictEqual(complaints, [])
    }
  )
})

describe.skipIf(!hasBrowser)("an owner's page", () => {
  it.each(sample(looks, 1))("has names, headings, contrast and large enough controls: %s", async (_, options) => {
    const { broken, brokenDelivery, doorhook, visitors } = stage()
    const { complaints, page } = await visitors.page(options)
    const look = async (address: string) => {
      await page.goto(address)
      assert.deepStrictEqual(await problemsOfAllParts(page), [], address)
      assert.deepStrictEqual(await cutNavigation(page), [], address)
      const words = await page.locator("main").innerText()
      assert.notMatch(words, /\b(?:median|latency|percentile|bad status|connection re|timeout|p95)/i, address)
    }
    await look(`${stage().url}/portal`)
    await look((await doorhook.portalLink(broken)).url)
    await look(`${stage().url}/portal/${broken}/edit`)
    await page.context().clearCookies()
    await signIn(page)
    const places = [
      "",
      "/new",
      `/${broken}`,
      `/${broken}/edit`,
      `/${broken}/recover`,
      `/${broken}/verify?in=go`,
      `/${broken}/deliveries/${brokenDelivery}`
    ]
    for (const place of places) await look(`${stage().url}/portal${place}`)
    assert.deepStrictEqual(complaints, [])
  })

  it("is in German for a browser that asks for it, on every page", async () => {
    const { broken, brokenDelivery, visitors } = stage()
    const { page } = await visitors.page({ locale: "de-DE" })
    await page.goto(`${stage().url}/portal`)
    await page.getByLabel("Anmeldename").fill(owner.login)
    await page.getByLabel("Passwort").fill(owner.password)
    await button(page, "Anmelden").click()
    await heading(page, "Ihre Webhooks")
    for (const place of ["", "/new", `/${broken}`, `/${broken}/deliveries/${brokenDelivery}`]) {
      await page.goto(`${stage().url}/portal${place}`)
      assert.strictEqual(await page.locator("html").getAttribute("lang"), "de")
      assert.deepStrictEqual(await accessibilityProblems(page), [], place)
      // Technical details of failures stay in English, and the page marks them as English.
      const text = await page.evaluate(`[...document.querySelectorAll("main *")].filter((one) =>
        one.closest("[lang=en], pre, .mono, code") === null && one.children.length === 0).map((one) => one.textContent).join(" ")`)
      assert.notMatch(String(text), /\b(?:the|is|Send|Deliveries|Attempt)\b/, place)
    }
  })
})
