/**
 * The consent page in Chromium: a host with a login of its own, on whose server doorhook is mounted, and a user who is
 * sent there and back.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"
import { once } from "node:events"
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { Browser } from "playwright-core"
import { hasBrowser, launch, pkce } from "./Visit.ts"

const cookie = "host_session=u1"

/** The host: `/login` logs in whoever comes and sends them back, `/cb` is the app's, all else is doorhook's. */
const startHost = async () => {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`
  const doorhook = await createDoorhook({
    database: "memory",
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
        return response.end('<!doctype html><link rel="icon" href="data:,"><h1>Welcome')
      default:
        return doorhook.node(request, response)
    }
  })
  return { server, doorhook, url }
}

let host: { readonly server: Server; readonly doorhook: Doorhook; readonly url: string }
let browser: Browser
beforeAll(async () => {
  if (!hasBrowser) return
  host = await startHost()
  browser = await launch()
})
afterAll(async () => {
  if (!hasBrowser) return
  await browser.close()
  host.server.closeAllConnections()
  host.server.close()
  await host.doorhook.close()
})

const authorizeUrl = () => {
  const query = new URLSearchParams({
    client_id: "p1",
    response_type: "code",
    redirect_uri: `${host.url}/cb`,
    state: "s t",
    code_challenge: pkce.challenge,
    code_challenge_method: "S256"
  })
  return `${host.url}/oauth/authorize?${query.toString()}`
}

describe.skipIf(!hasBrowser)("a user of a host with its own login", () => {
  it.each([
    ["allows", "Allow", "code", /^dh_ac_/],
    ["denies", "Deny", "error", /^access_denied$/]
  ] as const)("logs in there, comes back, is named, %s, and goes on to the app", async (_, button, name, value) => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const complaints: Array<string> = []
    page.on("console", (message) => complaints.push(message.text()))
    await page.goto(authorizeUrl())
    assert.match(await page.locator("body").ariaSnapshot(), /- button "Allow"\n\s+- button "Deny"/)
    assert.include(await page.locator("main").innerText(), "Ada <Admin>")
    assert.strictEqual(await page.locator("input[type=password]").count(), 0)
    await page.getByRole("button", { name: button, exact: true }).click()
    await page.waitForURL(`${host.url}/cb?**`)
    const answer = new URL(page.url()).searchParams
    assert.match(answer.get(name) ?? "", value)
    assert.strictEqual(answer.get("state"), "s t")
    assert.deepStrictEqual(complaints, [])
    await context.close()
  })

  it("whose session ends while the page is open is asked to log in again, and nothing is allowed", async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(authorizeUrl())
    await context.clearCookies({ name: "host_session" })
    await page.getByRole("button", { name: "Allow", exact: true }).click()
    await page.getByRole("link").click()
    // The host logs the user in anew, and the way leads back.
    await page.getByRole("button", { name: "Allow", exact: true }).click()
    await page.waitForURL(`${host.url}/cb?**`)
    assert.match(new URL(page.url()).searchParams.get("code") ?? "", /^dh_ac_/)
    await context.close()
  })
})
