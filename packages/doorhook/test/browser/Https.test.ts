/**
 * The login page as most people have it: over https, behind a proxy that ends TLS. The certificate is one of our own.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { request } from "node:http"
import { createServer } from "node:https"
import type { Browser } from "playwright-core"
import { makeSelfSigned } from "@doorhook/testkit/hostile/Certificates"
import { directory } from "../harness/Delivering.ts"
import { startService } from "@doorhook/testkit/Doorhook"
import { admin, allow, fill, hasBrowser, launch } from "./Visit.ts"

/** A proxy that hands everything on to a port, and says for whom, as real ones do. */
const openProxy = async (portBehind: () => number) => {
  const server = createServer({ ...makeSelfSigned("127.0.0.1") }, (incoming, outgoing) => {
    const { headers, method, socket, url } = incoming
    const behind = request({
      host: "127.0.0.1",
      port: portBehind(),
      headers: { ...headers, "x-forwarded-for": socket.remoteAddress, "x-forwarded-proto": "https" },
      ...(method !== undefined && { method }),
      ...(url !== undefined && { path: url })
    })
    behind.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(behind)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  return { url: `https://127.0.0.1:${port}`, server }
}

describe.skipIf(!hasBrowser)("logging in with a browser over https", () => {
  const scope = Scope.makeUnsafe()
  let proxy: Awaited<ReturnType<typeof openProxy>>
  let browser: Browser
  let port = 0

  beforeAll(async () => {
    proxy = await openProxy(() => port)
    const args = ["--database", "memory", "--directory", directory, "--public-url", proxy.url]
    const { url } = await Effect.runPromise(
      startService([...args, "--trusted-proxy", "127.0.0.0/8"]).pipe(Scope.provide(scope))
    )
    port = Number(new URL(url).port)
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    proxy.server.closeAllConnections()
    proxy.server.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("binds the form to a cookie that no other host can set, and ends in a code", async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const complaints: Array<string> = []
    page.on("console", (message) => void complaints.push(message.text()))
    await page.goto(`${proxy.url}/oauth/authorize?client_id=c1&response_type=code&client_secret=s1`)
    assert.strictEqual(page.url(), `${proxy.url}/oauth/authorize?client_id=c1&response_type=code`)
    const cookies = await context.cookies()
    assert.deepStrictEqual(
      cookies.map(({ domain, httpOnly, name, path, sameSite, secure }) => [
        name,
        domain,
        path,
        secure,
        httpOnly,
        sameSite
      ]),
      [["__Host-doorhook_login", "127.0.0.1", "/", true, true, "Lax"]]
    )

    // A plain cookie of the name that http has is no proof here.
    await context.clearCookies()
    await context.addCookies(cookies.map(({ value }) => ({ name: "doorhook_login", value, url: proxy.url })))
    await fill(page, admin)
    await allow(page).click()
    assert.match(await page.getByRole("alert").innerText(), /refuses cookies/)

    await fill(page, admin)
    await allow(page).click()
    assert.match(await page.locator("#authorization_code").innerText(), /^dh_ac_[A-Za-z0-9_-]{43}$/)
    assert.strictEqual(page.url(), `${proxy.url}/oauth/authorize`)
    assert.deepStrictEqual(
      complaints.filter((text) => !text.includes("403")),
      []
    )
    await context.close()
  })
})
