/**
 * The consent page in Chromium, for a host with its own login and doorhook on the same server.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { listening } from "@doorhook/testkit/ListeningServer"
import { authorizeUrl, challenge } from "../harness/CodeGrant.ts"
import { start } from "../harness/Embedded.ts"
import { shared } from "../harness/Shared.ts"
import { welcome } from "./Sites.ts"
import { hasBrowser, openVisitors } from "./Visitors.ts"

const cookie = "host_session=u1"

/**
 * Starts the host: `/login` logs in any visitor and redirects back, `/cb` belongs to the app, and doorhook serves all
 * other paths.
 */
const openHost = Effect.gen(function* () {
  const server = createServer()
  const { url } = yield* listening(server)
  const doorhook = yield* start({
    publicUrl: url,
    directory: {
      client: (id) => (id === "p1" ? { id, name: "Pocket app", redirect_uris: ["http://127.0.0.1/cb"] } : null),
      authenticate: () => null,
      session: ({ headers }) =>
        (headers["cookie"] ?? "").includes(cookie) ? { id: "u1", name: "Ada <Admin>" } : { login_url: "/login" },
      administers: () => true,
      isTenant: () => false
    }
  })
  server.on("request", (request, response) => {
    const target = new URL(request.url ?? "/", url)
    switch (target.pathname) {
      case "/login":
        response.writeHead(303, {
          "set-cookie": `${cookie}; Path=/; HttpOnly; SameSite=Lax`,
          location: target.searchParams.get("return_to") ?? "/"
        })
        return response.end()
      case "/cb":
        response.setHeader("content-type", "text/html")
        return response.end(welcome)
      default:
        return doorhook.node(request, response)
    }
  })
  const callback = `${url}/cb`
  const toApp = authorizeUrl(url, { client_id: "p1", redirect_uri: callback }, { state: "s t", ...challenge })
  return { ...(yield* openVisitors), callback, toApp }
})

const host = shared(openHost, hasBrowser)
afterEach(() => (hasBrowser ? host().closePages() : undefined))

describe.skipIf(!hasBrowser)("a user of a host with its own login", () => {
  it.each([
    ["allows", "Allow", "code", /^dh_ac_/],
    ["denies", "Deny", "error", /^access_denied$/]
  ] as const)("logs in there, returns, is named, %s, and continues to the app", async (_, button, name, value) => {
    const { callback, toApp } = host()
    const { complaints, page } = await host().page()
    await page.goto(toApp)
    assert.match(await page.locator("body").ariaSnapshot(), /- button "Allow"\n\s+- button "Deny"/)
    assert.include(await page.locator("main").innerText(), "Ada <Admin>")
    assert.strictEqual(await page.locator("input[type=password]").count(), 0)
    await page.getByRole("button", { name: button, exact: true }).click()
    await page.waitForURL(`${callback}?**`)
    const answer = new URL(page.url()).searchParams
    assert.match(answer.get(name) ?? "", value)
    assert.strictEqual(answer.get("state"), "s t")
    assert.deepStrictEqual(complaints, [])
  })

  it("whose session ends while the page is open must log in again, and grants nothing", async () => {
    const { callback, toApp } = host()
    const { context, page } = await host().page()
    await page.goto(toApp)
    await context.clearCookies({ name: "host_session" })
    await page.getByRole("button", { name: "Allow", exact: true }).click()
    await page.getByRole("link").click()
    // The host logs the user in again and redirects back.
    await page.getByRole("button", { name: "Allow", exact: true }).click()
    await page.waitForURL(`${callback}?**`)
    assert.match(new URL(page.url()).searchParams.get("code") ?? "", /^dh_ac_/)
  })
})
